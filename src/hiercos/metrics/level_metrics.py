"""torchmetrics classes of answers at each level and at any depth, and labels (B,).

`answers` are node scores (B, N) or level predictions (B, H), in `AnswerMetrics` one node each (B,); metrics that need
node scores or node probabilities name their parameter accordingly.
"""

from typing import Any

import torch
from torch import Tensor

from hiercos.metrics import functional as HF
from hiercos.metrics.base import SampleMean, TreeMetric
from hiercos.metrics.functional.levels import ANSWER_METRICS, answer_values
from hiercos.metrics.functional.probability import binned_error, calibration_bins
from hiercos.taxonomy import Taxonomy


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
