"""Comparisons of methods over seeds."""

from hiercos.benchmark.compare import compare

__all__ = ["compare"]
