"""Data sets known by name, two of them from installed packages."""
