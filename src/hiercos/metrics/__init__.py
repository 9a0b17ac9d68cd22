"""Every hierarchical metric: pure functions, torchmetrics classes, and the usual ones together from one sort."""

from hiercos.metrics import functional
from hiercos.metrics.level_metrics import (
    CalibrationError,
    FullPathAccuracy,
    LevelAccuracy,
    MeanNormalizedRank,
    TreeInconsistency,
)
from hiercos.metrics.ranked_metrics import (
    HOPS,
    NDCG,
    AverageHierarchicalDistance,
    CorrectOrder,
    ExpectedCost,
    HierarchicalF1,
    HierarchicalPrecision,
    HierarchicalRecall,
    MeanReciprocalRank,
    MistakeSeverity,
    PreferenceOrderDistance,
    TopKAccuracy,
)
from hiercos.metrics.suite import MetricSuite, default_suite

__all__ = [
    "HOPS",
    "NDCG",
    "AverageHierarchicalDistance",
    "CalibrationError",
    "CorrectOrder",
    "ExpectedCost",
    "FullPathAccuracy",
    "HierarchicalF1",
    "HierarchicalPrecision",
    "HierarchicalRecall",
    "LevelAccuracy",
    "MeanNormalizedRank",
    "MeanReciprocalRank",
    "MetricSuite",
    "MistakeSeverity",
    "PreferenceOrderDistance",
    "TopKAccuracy",
    "TreeInconsistency",
    "default_suite",
    "functional",
]
