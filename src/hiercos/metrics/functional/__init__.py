"""Hierarchical metrics as pure functions of (scores, labels, taxonomy), most of them with one value per sample."""

from hiercos.metrics.functional.hops import hops
from hiercos.metrics.functional.levels import (
    ANSWER_METRICS,
    answer_values,
    full_path_accuracy,
    level_accuracy,
    level_predictions,
    tree_inconsistency,
)
from hiercos.metrics.functional.probability import calibration_error, log_loss, summed_probabilities
from hiercos.metrics.functional.ranked import (
    average_hierarchical_distance,
    correct_order,
    expected_cost,
    hierarchical_f1,
    hierarchical_precision,
    hierarchical_recall,
    macro_accuracy,
    mistake_severity,
    preference_order_distance,
    top_k_accuracy,
)
from hiercos.metrics.functional.retrieval import average_precision, ndcg, normalized_rank, reciprocal_rank

__all__ = [
    "ANSWER_METRICS",
    "answer_values",
    "average_hierarchical_distance",
    "average_precision",
    "calibration_error",
    "correct_order",
    "expected_cost",
    "full_path_accuracy",
    "hierarchical_f1",
    "hierarchical_precision",
    "hierarchical_recall",
    "hops",
    "level_accuracy",
    "level_predictions",
    "log_loss",
    "macro_accuracy",
    "mistake_severity",
    "ndcg",
    "normalized_rank",
    "preference_order_distance",
    "reciprocal_rank",
    "summed_probabilities",
    "top_k_accuracy",
    "tree_inconsistency",
]
