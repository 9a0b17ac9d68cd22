"""Comparisons of methods over seeds."""

from hiercos.benchmark.compare import Entry, compare
from hiercos.benchmark.jobs import Observer
from hiercos.benchmark.tuning import Tuning

__all__ = ["Entry", "Observer", "Tuning", "compare"]
