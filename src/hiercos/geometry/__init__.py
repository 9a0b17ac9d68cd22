"""Hier-COS itself: energies along paths and in subtrees, and the scores made of them. Stateless torch."""

from hiercos.geometry.log_probabilities import (
    cascade_log_probabilities,
    node_log_probabilities,
    sibling_log_softmax,
)
from hiercos.geometry.scores import (
    leaf_scores,
    level_scores,
    node_scores,
    subspace_cosine,
    subspace_dimensions,
    subspace_distance,
)
from hiercos.geometry.sums import class_path_sums, node_probabilities

__all__ = [
    "cascade_log_probabilities",
    "class_path_sums",
    "leaf_scores",
    "level_scores",
    "node_log_probabilities",
    "node_probabilities",
    "node_scores",
    "sibling_log_softmax",
    "subspace_cosine",
    "subspace_dimensions",
    "subspace_distance",
]
