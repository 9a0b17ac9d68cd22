"""Metrics over many batches: torchmetrics classes that keep a sum and a count, whatever the batches."""

from abc import abstractmethod
from typing import Any

import torch
from torch import Tensor
from torchmetrics import Metric

from hiercos.metrics import functional as HF
from hiercos.metrics.functional.hops import HopsVariant, TieRule
from hiercos.taxonomy import Taxonomy


class SampleMean(Metric):
    """The mean of one value per sample; samples whose value is nan do not count, and without any it is nan.

    Args:
        taxonomy: the tree over the classes.
    """

    higher_is_better = True
    is_differentiable = False
    full_state_update = False
    plot_lower_bound = 0.0
    plot_upper_bound = 1.0
    total: Tensor
    count: Tensor

    def __init__(self, taxonomy: Taxonomy, **options: Any) -> None:
        super().__init__(**options)
        self.taxonomy = taxonomy
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


class TopKAccuracy(SampleMean):
    """Share of samples whose true class is among the first k; see `functional.top_k_accuracy`."""

    def __init__(self, taxonomy: Taxonomy, k: int = 1, **options: Any) -> None:
        super().__init__(taxonomy, **options)
        self.k = k

    def sample_values(self, outputs: Tensor, labels: Tensor) -> Tensor:
        """Hits of scores (B, C)."""
        return HF.top_k_accuracy(outputs, labels, self.taxonomy, self.k)


class HOPS(SampleMean):
    """Mean HOPS, or HOPS@k; see `functional.hops`.

    Example:
        >>> metric = HOPS(Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")]))
        >>> metric.update(torch.tensor([[0.7, 0.2, 0.1], [0.7, 0.1, 0.2]]), torch.tensor([0, 0]))
        >>> metric.compute().item()
        0.85
    """

    def __init__(
        self,
        taxonomy: Taxonomy,
        k: int | None = None,
        *,
        variant: HopsVariant = "published",
        ties: TieRule = "index",
        **options: Any,
    ) -> None:
        super().__init__(taxonomy, **options)
        self.k, self.variant, self.ties = k, variant, ties

    def sample_values(self, outputs: Tensor, labels: Tensor) -> Tensor:
        """HOPS of scores (B, C)."""
        return HF.hops(outputs, labels, self.taxonomy, self.k, variant=self.variant, ties=self.ties)


class AverageHierarchicalDistance(SampleMean):
    """Mean tree distance of the first k classes, AHD@k; see `functional.average_hierarchical_distance`."""

    higher_is_better = False
    plot_upper_bound = None  # type: ignore[assignment]  # H, which depends on the tree

    def __init__(self, taxonomy: Taxonomy, k: int = 1, **options: Any) -> None:
        super().__init__(taxonomy, **options)
        self.k = k

    def sample_values(self, outputs: Tensor, labels: Tensor) -> Tensor:
        """Mean distances of scores (B, C)."""
        return HF.average_hierarchical_distance(outputs, labels, self.taxonomy, self.k)


class MistakeSeverity(SampleMean):
    """Mean tree distance of the mistakes, nan while there are none; see `functional.mistake_severity`."""

    higher_is_better = False
    plot_upper_bound = None  # type: ignore[assignment]  # H, which depends on the tree

    def sample_values(self, outputs: Tensor, labels: Tensor) -> Tensor:
        """Distances of scores (B, C), nan where the answer is right."""
        distances = HF.average_hierarchical_distance(outputs, labels, self.taxonomy)
        return distances.masked_fill(distances == 0, torch.nan)


class CorrectOrder(SampleMean):
    """Share of samples whose first k classes stand in a preferred order; see `functional.correct_order`."""

    def __init__(self, taxonomy: Taxonomy, k: int | None = None, **options: Any) -> None:
        super().__init__(taxonomy, **options)
        self.k = k

    def sample_values(self, outputs: Tensor, labels: Tensor) -> Tensor:
        """Whether scores (B, C) are in order."""
        return HF.correct_order(outputs, labels, self.taxonomy, self.k)


class FullPathAccuracy(SampleMean):
    """Share of samples answered right at every level; see `functional.full_path_accuracy`."""

    def sample_values(self, outputs: Tensor, labels: Tensor) -> Tensor:
        """Whether node scores (B, N) or level predictions (B, H) are right."""
        return HF.full_path_accuracy(outputs, labels, self.taxonomy)


class TreeInconsistency(SampleMean):
    """Share of samples whose answers are no path of the tree (TICE); see `functional.tree_inconsistency`."""

    higher_is_better = False

    def sample_values(self, outputs: Tensor, labels: Tensor) -> Tensor:  # noqa: ARG002  # as its siblings
        """Whether node scores (B, N) or level predictions (B, H) are inconsistent; the labels do not matter."""
        return HF.tree_inconsistency(outputs, self.taxonomy)
