"""Every hierarchical metric: pure functions, torchmetrics classes, and the usual ones together from one sort."""

from hiercos.metrics import functional
from hiercos.metrics.averages import (
    HOPS,
    AverageHierarchicalDistance,
    CorrectOrder,
    FullPathAccuracy,
    MistakeSeverity,
    TopKAccuracy,
    TreeInconsistency,
)
from hiercos.metrics.suite import MetricSuite, default_suite

__all__ = [
    "HOPS",
    "AverageHierarchicalDistance",
    "CorrectOrder",
    "FullPathAccuracy",
    "MetricSuite",
    "MistakeSeverity",
    "TopKAccuracy",
    "TreeInconsistency",
    "default_suite",
    "functional",
]
