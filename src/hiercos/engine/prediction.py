"""Posteriors of a stored model for inputs without labels, streamed."""
