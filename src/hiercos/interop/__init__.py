"""Bridges to other libraries. They may use everything here, and nothing here uses them."""
