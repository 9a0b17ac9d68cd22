"""torchmetrics classes of class scores (B, C) and labels (B,); samples labelled with an inner node are left out."""

from typing import Any

import torch
from torch import Tensor

from hiercos.metrics import functional as HF
from hiercos.metrics.base import FirstKMean, OrderMean, SampleMean, TreeMetric
from hiercos.metrics.functional.hops import HopsVariant, TieRule
from hiercos.metrics.functional.ranked import class_sums, mean_of_class_means
from hiercos.taxonomy import Taxonomy


class TopKAccuracy(FirstKMean):
    """Share of samples whose true class is among the first k; see `functional.top_k_accuracy`."""

    def update(self, scores: Tensor, labels: Tensor) -> None:
        """Add a batch."""
        scores, labels = self.of_classes(scores, labels)
        self.add_values(HF.top_k_accuracy(scores, labels, self.taxonomy, self.k))


class MacroAccuracy(TreeMetric):
    """Mean over the classes of their top-1 accuracy; see `functional.macro_accuracy`.

    Keeps the hits and the samples of every class, so the value does not depend on batches or processes.

    Args:
        taxonomy: the tree over the classes.
    """

    higher_is_better = True
    hits: Tensor
    counts: Tensor

    def __init__(self, taxonomy: Taxonomy, **options: Any) -> None:
        super().__init__(taxonomy, **options)
        for name in ("hits", "counts"):
            zeros = torch.zeros(taxonomy.num_classes, 1, dtype=torch.float64)
            self.add_state(name, zeros, dist_reduce_fx="sum")

    def update(self, scores: Tensor, labels: Tensor) -> None:
        """Add a batch."""
        scores, labels = self.of_classes(scores, labels)
        correct = HF.top_k_accuracy(scores, labels, self.taxonomy).double()
        hits, counts = class_sums(correct[:, None], labels, self.taxonomy.num_classes)
        self.hits += hits
        self.counts += counts

    def compute(self) -> Tensor:
        """Mean over the classes with samples, a float64 scalar; nan without samples."""
        return mean_of_class_means(self.hits, self.counts)[0]


class HOPS(OrderMean):
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
        super().__init__(taxonomy, k, **options)
        self.variant, self.ties = variant, ties

    def update(self, scores: Tensor, labels: Tensor) -> None:
        """Add a batch."""
        scores, labels = self.of_classes(scores, labels)
        self.add_values(HF.hops(scores, labels, self.taxonomy, self.k, variant=self.variant, ties=self.ties))


class AverageHierarchicalDistance(FirstKMean):
    """Mean tree distance of the first k classes, AHD@k; see `functional.average_hierarchical_distance`."""

    higher_is_better = False
    plot_upper_bound = None

    def update(self, scores: Tensor, labels: Tensor) -> None:
        """Add a batch."""
        scores, labels = self.of_classes(scores, labels)
        self.add_values(HF.average_hierarchical_distance(scores, labels, self.taxonomy, self.k))


class MistakeSeverity(SampleMean):
    """Mean tree distance of the mistakes, nan while there are none; see `functional.mistake_severity`."""

    higher_is_better = False
    plot_upper_bound = None

    def update(self, scores: Tensor, labels: Tensor) -> None:
        """Add a batch."""
        scores, labels = self.of_classes(scores, labels)
        distances = HF.average_hierarchical_distance(scores, labels, self.taxonomy)
        self.add_values(distances.masked_fill(distances == 0, torch.nan))


class CorrectOrder(OrderMean):
    """Share of samples whose first k classes (all by default) are in an order the tree prefers."""

    def update(self, scores: Tensor, labels: Tensor) -> None:
        """Add a batch."""
        scores, labels = self.of_classes(scores, labels)
        self.add_values(HF.correct_order(scores, labels, self.taxonomy, self.k))


class HierarchicalPrecision(FirstKMean):
    """Mean share of the predicted path that is on the true path, hP@k; see `functional.hierarchical_precision`."""

    def update(self, scores: Tensor, labels: Tensor) -> None:
        """Add a batch."""
        scores, labels = self.of_classes(scores, labels)
        self.add_values(HF.hierarchical_precision(scores, labels, self.taxonomy, self.k))


class HierarchicalRecall(FirstKMean):
    """Mean share of the true path that is on the predicted path, hR@k; see `functional.hierarchical_recall`."""

    def update(self, scores: Tensor, labels: Tensor) -> None:
        """Add a batch."""
        scores, labels = self.of_classes(scores, labels)
        self.add_values(HF.hierarchical_recall(scores, labels, self.taxonomy, self.k))


class HierarchicalF1(FirstKMean):
    """Mean of the harmonic means of hP and hR, hF@k; see `functional.hierarchical_f1`."""

    def update(self, scores: Tensor, labels: Tensor) -> None:
        """Add a batch."""
        scores, labels = self.of_classes(scores, labels)
        self.add_values(HF.hierarchical_f1(scores, labels, self.taxonomy, self.k))


class MeanReciprocalRank(SampleMean):
    """Mean of one over the position of the true class; see `functional.reciprocal_rank`."""

    def update(self, scores: Tensor, labels: Tensor) -> None:
        """Add a batch."""
        scores, labels = self.of_classes(scores, labels)
        self.add_values(HF.reciprocal_rank(scores, labels, self.taxonomy))


class NDCG(OrderMean):
    """Mean discounted gain of the first k classes (all by default) over the ideal; see `functional.ndcg`."""

    def update(self, scores: Tensor, labels: Tensor) -> None:
        """Add a batch."""
        scores, labels = self.of_classes(scores, labels)
        self.add_values(HF.ndcg(scores, labels, self.taxonomy, self.k))


class PreferenceOrderDistance(SampleMean):
    """Mean distance of the predicted order to the tree's; see `functional.preference_order_distance`."""

    higher_is_better = False
    plot_upper_bound = None

    def update(self, scores: Tensor, labels: Tensor) -> None:
        """Add a batch."""
        scores, labels = self.of_classes(scores, labels)
        self.add_values(HF.preference_order_distance(scores, labels, self.taxonomy))


class LogLoss(SampleMean):
    """Mean negative log-probability of the true class, in nats; see `functional.log_loss`."""

    higher_is_better = False
    plot_upper_bound = None

    def update(self, log_probabilities: Tensor, labels: Tensor) -> None:
        """Add a batch."""
        self.add_values(HF.log_loss(log_probabilities, labels, self.taxonomy))


class ExpectedCost(SampleMean):
    """Mean cost of the predictions under a cost matrix (C, C); see `functional.expected_cost`."""

    higher_is_better = False
    plot_upper_bound = None
    costs: Tensor

    def __init__(self, taxonomy: Taxonomy, costs: Tensor, **options: Any) -> None:
        super().__init__(taxonomy, **options)
        self.register_buffer("costs", costs, persistent=False)

    def update(self, scores: Tensor, labels: Tensor) -> None:
        """Add a batch."""
        scores, labels = self.of_classes(scores, labels)
        self.add_values(HF.expected_cost(scores, labels, self.taxonomy, self.costs))
