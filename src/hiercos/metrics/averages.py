"""Means over classes, each class by the mean of its own samples, from sums that add up over batches."""

from typing import Any

import torch
from torch import Tensor
from torchmetrics import Metric

from hiercos.taxonomy import Taxonomy


def class_sums(
    values: Tensor, labels: Tensor, num_classes: int, weights: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Sums of the values of each class, and of the weights of those that count.

    Args:
        values: nan where a sample does not count, shape (B, K).
        labels: true classes, shape (B,).
        num_classes: C.
        weights: of the samples, shape (B,); 1 by default.

    Returns:
        Two tensors of shape (C, K), float64; they add up over batches.
    """
    weights = torch.ones(len(values), device=values.device) if weights is None else weights
    counted = values.isnan().logical_not() * weights[:, None].double()
    zeros = counted.new_zeros(num_classes, values.shape[1])
    totals = zeros.index_add(0, labels.long(), values.double().nan_to_num() * counted)
    return totals, zeros.index_add(0, labels.long(), counted)


def mean_of_class_means(totals: Tensor, counts: Tensor) -> Tensor:
    """Mean over the classes with a count of totals over counts: two (C, K) -> (K,); nan where no class has any."""
    return (totals / counts).nanmean(dim=0)


class TreeMetric(Metric):
    """What all metrics over a taxonomy have in common.

    A MetricCollection lets metrics whose states are equal after the first batch share one state from then on. Sums
    and counts of different metrics are equal after a perfect batch, so every metric has one state that equals nothing.

    Args:
        taxonomy: the tree over the classes.
        options: those of every torchmetrics.Metric, such as `process_group`.
    """

    is_differentiable = False
    full_state_update = False
    plot_lower_bound = 0.0
    plot_upper_bound: float | None = 1.0  # None leaves the axis free

    def __init__(self, taxonomy: Taxonomy, **options: Any) -> None:
        super().__init__(**options)
        self.taxonomy = taxonomy
        self.add_state("unequal", torch.tensor(torch.nan), dist_reduce_fx="sum")

    def plot(self, val: Any = None, ax: Any = None) -> Any:
        """Draw the metric's value, or the values given; the torchmetrics way, which needs matplotlib."""
        return self._plot(val, ax)


class SampleMean(TreeMetric):
    """The mean of one value per sample; samples whose value is nan do not count, and without any it is nan.

    A metric of this kind writes `update`, whose parameters are named as its function's: by these names a
    MetricCollection gives each metric what it needs.
    """

    higher_is_better = True
    total: Tensor
    count: Tensor

    def __init__(self, taxonomy: Taxonomy, **options: Any) -> None:
        super().__init__(taxonomy, **options)
        self.add_state("total", torch.zeros((), dtype=torch.float64), dist_reduce_fx="sum")
        self.add_state("count", torch.zeros((), dtype=torch.int64), dist_reduce_fx="sum")

    def add_values(self, values: Tensor) -> None:
        """Count the value of each sample of a batch, shape (B,)."""
        values = values.double()
        self.total += values.nansum()
        self.count += values.isnan().logical_not().sum()

    def compute(self) -> Tensor:
        """The mean over everything counted, a float64 scalar."""
        return self.total / self.count


class FirstKMean(SampleMean):
    """The mean of one value per sample that depends on the first k classes, the very first by default."""

    def __init__(self, taxonomy: Taxonomy, k: int = 1, **options: Any) -> None:
        super().__init__(taxonomy, **options)
        self.k = k


class OrderMean(SampleMean):
    """The mean of one value per sample that depends on the order of the first k classes, all by default."""

    def __init__(self, taxonomy: Taxonomy, k: int | None = None, **options: Any) -> None:
        super().__init__(taxonomy, **options)
        self.k = k
