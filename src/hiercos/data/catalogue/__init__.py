"""Data sets known by name, and downloads of those that need files."""
