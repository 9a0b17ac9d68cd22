"""Operations on ancestors and descendants in torch, and the Hier-COS scores built on them. Stateless."""

from hiercos.geometry.frames import checked_embeddings, class_frame, decaying_similarities, height_similarities
from hiercos.geometry.labels import TargetNodes, label_nodes, label_rows, target_nodes
from hiercos.geometry.operations import (
    NodeOperations,
    TreePasses,
    class_path_sums,
    node_probabilities,
    tree_operations,
)
from hiercos.geometry.padded_levels import PaddedLevels, padded_levels
from hiercos.geometry.scores import (
    cascade_log_probabilities,
    energy_shares,
    leaf_scores,
    level_scores,
    node_log_probabilities,
    node_scores,
    sibling_log_softmax,
    square_root,
)

__all__ = [
    "NodeOperations",
    "PaddedLevels",
    "TargetNodes",
    "TreePasses",
    "cascade_log_probabilities",
    "checked_embeddings",
    "class_frame",
    "class_path_sums",
    "decaying_similarities",
    "energy_shares",
    "height_similarities",
    "label_nodes",
    "label_rows",
    "leaf_scores",
    "level_scores",
    "node_log_probabilities",
    "node_probabilities",
    "node_scores",
    "padded_levels",
    "sibling_log_softmax",
    "square_root",
    "target_nodes",
    "tree_operations",
]
