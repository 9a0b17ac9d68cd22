"""Hierarchical metrics as pure functions of (scores, labels, taxonomy), most of them with one value per sample.

Functions of a `ranking` are called with (scores, labels, taxonomy) in its place; see `hiercos.metrics.ranking_metric`.
The names are those in `__all__` of the modules.
"""

from hiercos.metrics.functional import levels, probability, ranked, retrieval
from hiercos.metrics.functional.hops import hops
from hiercos.metrics.functional.levels import *  # noqa: F403
from hiercos.metrics.functional.probability import *  # noqa: F403
from hiercos.metrics.functional.ranked import *  # noqa: F403
from hiercos.metrics.functional.retrieval import *  # noqa: F403

__all__ = ["hops"]
__all__ += levels.__all__
__all__ += probability.__all__
__all__ += ranked.__all__
__all__ += retrieval.__all__
