"""torchmetrics classes of an answer at each level, and labels (B,).

`answers` are node scores (B, N) or level predictions (B, H); what needs node scores or probabilities calls them so.
"""

from typing import Any

import torch
from torch import Tensor

from hiercos.metrics import functional as HF
from hiercos.metrics.averages import SampleMean, TreeMetric
from hiercos.metrics.functional.probability import binned_error, calibration_bins
from hiercos.taxonomy import Taxonomy


class FullPathAccuracy(SampleMean):
    """Share of samples answered right at every level; see `functional.full_path_accuracy`."""

    def update(self, answers: Tensor, labels: Tensor) -> None:
        """Count a batch."""
        self.add_values(HF.full_path_accuracy(answers, labels, self.taxonomy))


class TreeInconsistency(SampleMean):
    """Share of samples whose answers are no path of the tree (TICE); see `functional.tree_inconsistency`."""

    higher_is_better = False

    def update(self, answers: Tensor, labels: Tensor) -> None:  # noqa: ARG002  # as its siblings
        """Count a batch; the labels do not matter."""
        self.add_values(HF.tree_inconsistency(answers, self.taxonomy))


class MeanNormalizedRank(SampleMean):
    """Mean place of the true node at its levels over their widths (MNR); see `functional.normalized_rank`."""

    higher_is_better = False

    def update(self, node_scores: Tensor, labels: Tensor) -> None:
        """Count a batch."""
        self.add_values(HF.normalized_rank(node_scores, labels, self.taxonomy))


class LevelAccuracy(TreeMetric):
    """Accuracy at each level, of the samples whose class has it, shape (H,); see `functional.level_accuracy`.

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
        """Count a batch."""
        right = HF.level_accuracy(answers, labels, self.taxonomy)
        self.hits += right.nansum(dim=0)
        self.counts += right.isnan().logical_not().sum(dim=0)

    def compute(self) -> Tensor:
        """Accuracies of levels 1…H, nan at a level without samples."""
        return self.hits / self.counts


class CalibrationError(TreeMetric):
    """Expected calibration error at each level, shape (H,), of node probabilities (B, N).

    Args:
        taxonomy: the tree.
        bins: bins of equal width between 0 and 1.
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
        """Count a batch; see `functional.calibration_error`."""
        samples, confidences, hits = calibration_bins(node_probabilities, labels, self.taxonomy, self.bins)
        self.samples += samples
        self.confidences += confidences
        self.hits += hits

    def compute(self) -> Tensor:
        """Errors of levels 1…H, nan at a level without samples."""
        return binned_error(self.samples, self.confidences, self.hits)
