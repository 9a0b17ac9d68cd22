"""Base classes of the torchmetrics classes."""

from typing import Any

import torch
from torch import Tensor
from torchmetrics import Metric

from hiercos.metrics.ranking import check_labels
from hiercos.taxonomy import Taxonomy, check_is_taxonomy


class TreeMetric(Metric):
    """Base class of all metrics over a taxonomy.

    A MetricCollection merges metrics whose states are equal after the first batch. Sums and counts of different
    metrics are equal after a batch without mistakes, so every metric has a nan state, which is never equal.

    Args:
        taxonomy: the tree over the classes.
        options: keyword options of torchmetrics.Metric, such as `process_group`.

    Attributes:
        ignored: number of samples labelled with an inner node, which metrics of a ranking leave out.
    """

    is_differentiable = False
    full_state_update = False
    plot_lower_bound = 0.0
    plot_upper_bound: float | None = 1.0  # None for no bound
    ignored: Tensor

    def __init__(self, taxonomy: Taxonomy, **options: Any) -> None:
        super().__init__(**options)
        check_is_taxonomy(taxonomy)
        self.taxonomy = taxonomy
        self.add_state("unequal", torch.tensor(torch.nan), dist_reduce_fx="sum")
        self.add_state("ignored", torch.zeros((), dtype=torch.int64), dist_reduce_fx="sum")

    def of_classes(self, scores: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Scores (B, C) and labels (B,) of the samples labelled with a class; the others are counted as ignored."""
        check_labels(labels, len(scores), self.taxonomy, inner=True)
        is_class = labels < self.taxonomy.num_classes
        self.ignored += (~is_class).sum()
        return (scores, labels) if bool(is_class.all()) else (scores[is_class], labels[is_class])

    def plot(self, val: Any = None, ax: Any = None) -> Any:
        """Plot the metric's current value, or `val`, as torchmetrics does; needs matplotlib."""
        return self._plot(val, ax)


class SampleMean(TreeMetric):
    """Base class of means of one value per sample; nan values do not count, and the mean of none is nan.

    A subclass implements `update` with the parameter names of its function, by which a MetricCollection passes each
    metric its arguments.
    """

    higher_is_better = True
    total: Tensor
    count: Tensor

    def __init__(self, taxonomy: Taxonomy, **options: Any) -> None:
        super().__init__(taxonomy, **options)
        self.add_state("total", torch.zeros((), dtype=torch.float64), dist_reduce_fx="sum")
        self.add_state("count", torch.zeros((), dtype=torch.int64), dist_reduce_fx="sum")

    def add_values(self, values: Tensor) -> None:
        """Add the value of each sample of a batch, shape (B,)."""
        values = values.double()
        self.total += values.nansum()
        self.count += values.isnan().logical_not().sum()

    def compute(self) -> Tensor:
        """Mean over all samples, a float64 scalar."""
        return self.total / self.count


class FirstKMean(SampleMean):
    """Base class of means that depend on the first k ranked classes; k is 1 by default."""

    def __init__(self, taxonomy: Taxonomy, k: int = 1, **options: Any) -> None:
        super().__init__(taxonomy, **options)
        self.k = k


class OrderMean(SampleMean):
    """Base class of means that depend on the order of the first k ranked classes; all by default."""

    def __init__(self, taxonomy: Taxonomy, k: int | None = None, **options: Any) -> None:
        super().__init__(taxonomy, **options)
        self.k = k
