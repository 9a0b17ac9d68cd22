"""Hier-COS itself: energies along paths and in subtrees, and the scores made of them. Stateless torch."""

from hiercos.geometry.scores import (
    leaf_scores,
    level_scores,
    node_scores,
    subspace_dimensions,
    subspace_distance,
)
from hiercos.geometry.sums import node_probabilities

__all__ = [
    "leaf_scores",
    "level_scores",
    "node_probabilities",
    "node_scores",
    "subspace_dimensions",
    "subspace_distance",
]
