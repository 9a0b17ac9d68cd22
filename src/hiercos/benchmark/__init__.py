"""Comparisons of methods over seeds."""

from hiercos.benchmark.compare import Entry, compare

__all__ = ["Entry", "compare"]
