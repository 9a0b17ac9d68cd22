"""Hierarchical metrics as pure functions of (scores, labels, taxonomy), one value per sample where that makes sense."""

from hiercos.metrics.functional.hops import hops
from hiercos.metrics.functional.levels import (
    full_path_accuracy,
    level_accuracy,
    level_predictions,
    tree_inconsistency,
)
from hiercos.metrics.functional.ranked import (
    average_hierarchical_distance,
    correct_order,
    mistake_severity,
    top_k_accuracy,
)

__all__ = [
    "average_hierarchical_distance",
    "correct_order",
    "full_path_accuracy",
    "hops",
    "level_accuracy",
    "level_predictions",
    "mistake_severity",
    "top_k_accuracy",
    "tree_inconsistency",
]
