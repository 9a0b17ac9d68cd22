"""torchmetrics classes of the metrics: of class scores (B, C), of answers at each level and at any depth; labels (B,).

Samples labelled with an inner node are left out of the metrics of class scores. `answers` are node scores (B, N) or
level predictions (B, H), in `AnswerMetrics` one node each (B,); metrics that need node scores or node probabilities
name their parameter accordingly.
"""

from typing import Any

import torch
from torch import Tensor

from hiercos.metrics import functional as HF
from hiercos.metrics.base import FirstKMean, OrderMean, SampleMean, TreeMetric
from hiercos.metrics.functional.hops import HopsVariant, TieRule
from hiercos.metrics.functional.levels import ANSWER_METRICS, answer_values
from hiercos.metrics.functional.probability import binned_error, calibration_bins
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


class FullPathAccuracy(SampleMean):
    """Share of samples with a correct prediction at every level; see `functional.full_path_accuracy`."""

    def update(self, answers: Tensor, labels: Tensor) -> None:
        """Add a batch."""
        answers, labels = self.of_classes(answers, labels)
        self.add_values(HF.full_path_accuracy(answers, labels, self.taxonomy))


class TreeInconsistency(SampleMean):
    """Share of samples whose predictions do not form a path (TICE); see `functional.tree_inconsistency`."""

    higher_is_better = False

    def update(self, answers: Tensor, labels: Tensor) -> None:  # noqa: ARG002  # same signature as the other metrics
        """Add a batch; the labels are not used."""
        self.add_values(HF.tree_inconsistency(answers, self.taxonomy))


class MeanNormalizedRank(SampleMean):
    """Mean position of the true node at each level over the level's width (MNR); see `functional.normalized_rank`."""

    higher_is_better = False

    def update(self, node_scores: Tensor, labels: Tensor) -> None:
        """Add a batch."""
        self.add_values(HF.normalized_rank(node_scores, labels, self.taxonomy))


class LevelAccuracy(TreeMetric):
    """Accuracy at each level over the samples whose label has it, shape (H,); see `functional.level_accuracy`.

    Args:
        taxonomy: the tree.
    """

    higher_is_better = True
    hits: Tensor
    counts: Tensor

    def __init__(self, taxonomy: Taxonomy, **options: Any) -> None:
        super().__init__(taxonomy, **options)
        self.add_state("hits", torch.zeros(taxonomy.height, dtype=torch.float64), dist_reduce_fx="sum")
        self.add_state("counts", torch.zeros(taxonomy.height, dtype=torch.int64), dist_reduce_fx="sum")

    def update(self, answers: Tensor, labels: Tensor) -> None:
        """Add a batch."""
        correct = HF.level_accuracy(answers, labels, self.taxonomy)
        self.hits += correct.nansum(dim=0)
        self.counts += correct.isnan().logical_not().sum(dim=0)

    def compute(self) -> Tensor:
        """Accuracies of levels 1…H, nan at a level without samples."""
        return self.hits / self.counts


class CalibrationError(TreeMetric):
    """Expected calibration error at each level, shape (H,), of node probabilities (B, N).

    Args:
        taxonomy: the tree.
        bins: number of bins of equal width between 0 and 1; 15 by default.
    """

    higher_is_better = False
    samples: Tensor
    confidences: Tensor
    hits: Tensor

    def __init__(self, taxonomy: Taxonomy, bins: int = 15, **options: Any) -> None:
        super().__init__(taxonomy, **options)
        self.bins = bins
        for name in ("samples", "confidences", "hits"):
            zeros = torch.zeros(taxonomy.height, bins, dtype=torch.float64)
            self.add_state(name, zeros, dist_reduce_fx="sum")

    def update(self, node_probabilities: Tensor, labels: Tensor) -> None:
        """Add a batch; see `functional.calibration_error`."""
        samples, confidences, hits = calibration_bins(node_probabilities, labels, self.taxonomy, self.bins)
        self.samples += samples
        self.confidences += confidences
        self.hits += hits

    def compute(self) -> Tensor:
        """Errors of levels 1…H, nan at a level without samples."""
        return binned_error(self.samples, self.confidences, self.hits)


class AnswerMetrics(TreeMetric):
    """Means of `answer_values` over all batches; `compute` returns a dict from name to scalar.

    Args:
        taxonomy: the tree over the classes.

    Example:
        >>> metric = AnswerMetrics(Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")]))
        >>> metric.update(torch.tensor([0, -1]), torch.tensor([2, 3]))
        >>> metric.compute()["precision"].item(), metric.compute()["answered"].item()
        (1.0, 0.5)
    """

    plot_upper_bound = None
    totals: Tensor
    counts: Tensor

    def __init__(self, taxonomy: Taxonomy, **options: Any) -> None:
        super().__init__(taxonomy, **options)
        shape = len(ANSWER_METRICS)
        self.add_state("totals", torch.zeros(shape, dtype=torch.float64), dist_reduce_fx="sum")
        self.add_state("counts", torch.zeros(shape, dtype=torch.int64), dist_reduce_fx="sum")

    def update(self, answers: Tensor, labels: Tensor) -> None:
        """Add answers and label nodes, shape (B,) each; see `answer_values`."""
        values = answer_values(answers, labels, self.taxonomy)
        self.totals += values.nansum(dim=0)
        self.counts += values.isnan().logical_not().sum(dim=0)

    def compute(self) -> dict[str, Tensor]:
        """Mean of every metric, float64 scalars; nan where no sample counts."""
        return dict(zip(ANSWER_METRICS, self.totals / self.counts, strict=True))
