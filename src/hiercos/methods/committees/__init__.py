"""Committees of several methods on the same features."""
