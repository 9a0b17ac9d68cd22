"""torchmetrics classes of class scores (B, C) and labels (B,)."""

from typing import Any

import torch
from torch import Tensor

from hiercos.metrics import functional as HF
from hiercos.metrics.functional.hops import HopsVariant, TieRule
from hiercos.metrics.sample_mean import FirstKMean, SampleMean
from hiercos.taxonomy import Taxonomy


class TopKAccuracy(FirstKMean):
    """Share of samples whose true class is among the first k; see `functional.top_k_accuracy`."""

    def sample_values(self, outputs: Tensor, labels: Tensor) -> Tensor:
        """Hits, shape (B,)."""
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
        """HOPS, shape (B,)."""
        return HF.hops(outputs, labels, self.taxonomy, self.k, variant=self.variant, ties=self.ties)


class AverageHierarchicalDistance(FirstKMean):
    """Mean tree distance of the first k classes, AHD@k; see `functional.average_hierarchical_distance`."""

    higher_is_better = False
    plot_upper_bound = None

    def sample_values(self, outputs: Tensor, labels: Tensor) -> Tensor:
        """Mean distances, shape (B,)."""
        return HF.average_hierarchical_distance(outputs, labels, self.taxonomy, self.k)


class MistakeSeverity(SampleMean):
    """Mean tree distance of the mistakes, nan while there are none; see `functional.mistake_severity`."""

    higher_is_better = False
    plot_upper_bound = None

    def sample_values(self, outputs: Tensor, labels: Tensor) -> Tensor:
        """Distances, nan where the answer is right, shape (B,)."""
        distances = HF.average_hierarchical_distance(outputs, labels, self.taxonomy)
        return distances.masked_fill(distances == 0, torch.nan)


class CorrectOrder(SampleMean):
    """Share of samples whose first k classes (all by default) stand in a preferred order."""

    def __init__(self, taxonomy: Taxonomy, k: int | None = None, **options: Any) -> None:
        super().__init__(taxonomy, **options)
        self.k = k

    def sample_values(self, outputs: Tensor, labels: Tensor) -> Tensor:
        """Whether the order is right, shape (B,)."""
        return HF.correct_order(outputs, labels, self.taxonomy, self.k)


class HierarchicalPrecision(FirstKMean):
    """Mean share of the answer's path that is on the true path, hP@k; see `functional.hierarchical_precision`."""

    def sample_values(self, outputs: Tensor, labels: Tensor) -> Tensor:
        """The precision of each sample, shape (B,)."""
        return HF.hierarchical_precision(outputs, labels, self.taxonomy, self.k)


class HierarchicalRecall(FirstKMean):
    """Mean share of the true path that is on the answer's path, hR@k; see `functional.hierarchical_recall`."""

    def sample_values(self, outputs: Tensor, labels: Tensor) -> Tensor:
        """The recall of each sample, shape (B,)."""
        return HF.hierarchical_recall(outputs, labels, self.taxonomy, self.k)


class HierarchicalF1(FirstKMean):
    """Mean harmonic mean of the two, hF@k; see `functional.hierarchical_f1`."""

    def sample_values(self, outputs: Tensor, labels: Tensor) -> Tensor:
        """The F1 of each sample, shape (B,)."""
        return HF.hierarchical_f1(outputs, labels, self.taxonomy, self.k)


class MeanReciprocalRank(SampleMean):
    """Mean of one over the place of the true class; see `functional.reciprocal_rank`."""

    def sample_values(self, outputs: Tensor, labels: Tensor) -> Tensor:
        """Reciprocal places, shape (B,)."""
        return HF.reciprocal_rank(outputs, labels, self.taxonomy)


class NDCG(SampleMean):
    """Mean discounted gain of the first k classes (all by default) over the ideal; see `functional.ndcg`."""

    def __init__(self, taxonomy: Taxonomy, k: int | None = None, **options: Any) -> None:
        super().__init__(taxonomy, **options)
        self.k = k

    def sample_values(self, outputs: Tensor, labels: Tensor) -> Tensor:
        """The gain of each sample, shape (B,)."""
        return HF.ndcg(outputs, labels, self.taxonomy, self.k)


class PreferenceOrderDistance(SampleMean):
    """Mean distance of the predicted order to the tree's; see `functional.preference_order_distance`."""

    higher_is_better = False
    plot_upper_bound = None

    def sample_values(self, outputs: Tensor, labels: Tensor) -> Tensor:
        """Distances, shape (B,)."""
        return HF.preference_order_distance(outputs, labels, self.taxonomy)


class ExpectedCost(SampleMean):
    """Mean cost of the answers under a cost matrix (C, C); see `functional.decision_cost`."""

    higher_is_better = False
    plot_upper_bound = None
    costs: Tensor

    def __init__(self, taxonomy: Taxonomy, costs: Tensor, **options: Any) -> None:
        super().__init__(taxonomy, **options)
        self.register_buffer("costs", costs, persistent=False)

    def sample_values(self, outputs: Tensor, labels: Tensor) -> Tensor:
        """Costs, shape (B,)."""
        return HF.decision_cost(outputs, labels, self.taxonomy, self.costs)
