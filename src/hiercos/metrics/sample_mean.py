"""The base of the metric classes: a sum and a count, so neither batches nor processes change the number."""

from abc import abstractmethod
from typing import Any

import torch
from torch import Tensor
from torchmetrics import Metric

from hiercos.taxonomy import Taxonomy


class TreeMetric(Metric):
    """What all metrics over a taxonomy have in common.

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

    def plot(self, val: Any = None, ax: Any = None) -> Any:
        """Draw the metric's value, or the values given; the torchmetrics way, which needs matplotlib."""
        return self._plot(val, ax)


class SampleMean(TreeMetric):
    """The mean of one value per sample; samples whose value is nan do not count, and without any it is nan."""

    higher_is_better = True
    total: Tensor
    count: Tensor

    def __init__(self, taxonomy: Taxonomy, **options: Any) -> None:
        super().__init__(taxonomy, **options)
        self.add_state("total", torch.zeros((), dtype=torch.float64), dist_reduce_fx="sum")
        self.add_state("count", torch.zeros((), dtype=torch.int64), dist_reduce_fx="sum")

    @abstractmethod
    def sample_values(self, outputs: Tensor, labels: Tensor) -> Tensor:
        """The value of each sample, shape (B,)."""

    def update(self, outputs: Tensor, labels: Tensor) -> None:
        """Count a batch: what the model put out (scores, or answers at each level), and the true classes (B,)."""
        values = self.sample_values(outputs, labels).double()
        self.total += values.nansum()
        self.count += values.isnan().logical_not().sum()

    def compute(self) -> Tensor:
        """The mean over everything counted, a float64 scalar."""
        return self.total / self.count


class FirstKMean(SampleMean):
    """The mean of one value per sample that depends on the first k classes."""

    def __init__(self, taxonomy: Taxonomy, k: int = 1, **options: Any) -> None:
        super().__init__(taxonomy, **options)
        self.k = k
