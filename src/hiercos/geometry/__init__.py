"""Hier-COS itself: energies along paths and in subtrees, and the scores made of them. Stateless torch."""

from hiercos.geometry.frames import checked_embeddings, class_frame, decaying_similarities, height_similarities
from hiercos.geometry.log_probabilities import (
    cascade_log_probabilities,
    node_log_probabilities,
    sibling_log_softmax,
    subtree_maxima,
)
from hiercos.geometry.operations import class_path_sums, node_probabilities, path_sums, tree_index
from hiercos.geometry.padded_levels import PaddedLevels, padded_levels
from hiercos.geometry.scores import (
    leaf_scores,
    level_scores,
    node_scores,
    subspace_cosine,
    subspace_dimensions,
    subspace_distance,
)

__all__ = [
    "PaddedLevels",
    "cascade_log_probabilities",
    "checked_embeddings",
    "class_frame",
    "class_path_sums",
    "decaying_similarities",
    "height_similarities",
    "leaf_scores",
    "level_scores",
    "node_log_probabilities",
    "node_probabilities",
    "node_scores",
    "padded_levels",
    "path_sums",
    "sibling_log_softmax",
    "subspace_cosine",
    "subspace_dimensions",
    "subspace_distance",
    "subtree_maxima",
    "tree_index",
]
