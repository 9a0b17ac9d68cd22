"""Metrics of class probabilities."""

import math
import sys

import torch
from torch import Tensor

from hiercos.metrics.functional.levels import level_accuracy, level_predictions
from hiercos.metrics.input_checks import check_labels
from hiercos.metrics.rank_tables import rank_tables
from hiercos.taxonomy import Taxonomy, descendant_sums, node_values

__all__ = ["calibration_error", "log_loss", "summed_probabilities"]

LEAST_LOG = math.log(sys.float_info.min)  # smaller log-probabilities count as this, so a sample costs at most 708.4
ROUNDING = 1e-5  # amount by which a log-probability may exceed 0


def log_loss(log_probabilities: Tensor, labels: Tensor, taxonomy: Taxonomy) -> Tensor:
    """Negative log-probability of the label; its mean is the log loss, or cross-entropy.

    The probability of an inner node is the sum over the classes below it.

    Compares probabilities, and calibrations: the best temperature has the lowest log loss on held-out data. It ignores
    how the rest of the probability is spread.

    Args:
        log_probabilities: natural logarithms of the class probabilities, shape (B, C).
        labels: class index, C + node or, for the root, C + N of each sample, shape (B,).
        taxonomy: the tree over the C classes.

    Returns:
        Shape (B,), float64, in nats, from 0 to 708.4, the value for a probability of 0; nan for the root.

    Raises:
        ValueError: for shapes that do not fit, a label that is not a node, or a value that is NaN or above 0, naming
            its row.

    Example:
        >>> import torch
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> probabilities = torch.tensor([[0.5, 0.25, 0.25]], dtype=torch.float64)
        >>> log_loss(probabilities.log(), torch.tensor([1]), t).exp().tolist()
        [4.0]
    """
    check_labels(labels, len(log_probabilities), taxonomy, inner=True)
    check_log_probabilities(log_probabilities, len(labels), taxonomy)
    return -label_log_probabilities(log_probabilities, labels, taxonomy).clamp(LEAST_LOG, 0)


def check_log_probabilities(log_probabilities: Tensor, count: int, taxonomy: Taxonomy) -> None:
    """Raise a ValueError unless these are log-probabilities of the classes for `count` samples."""
    expected = (count, taxonomy.num_classes)
    if log_probabilities.shape != expected:
        raise ValueError(f"expected log-probabilities of shape {expected}, got {tuple(log_probabilities.shape)}")
    outside = ~(log_probabilities.amax(dim=1) <= ROUNDING)  # amax is NaN where any value is
    if outside.any():
        raise ValueError(f"row {int(outside.nonzero()[0])}: expected logarithms of probabilities, none above 0")


def label_log_probabilities(log_probabilities: Tensor, labels: Tensor, taxonomy: Taxonomy) -> Tensor:
    """Log-probability of each sample's label, shape (B,), float64; nan for the root.

    Args:
        log_probabilities: natural logarithms of the class probabilities, shape (B, C).
        labels: class index, C + node or, for the root, C + N of each sample, shape (B,).
        taxonomy: the tree.
    """
    labels, count = labels.long(), taxonomy.num_classes
    chosen = log_probabilities.gather(1, labels.clamp(max=count - 1)[:, None]).squeeze(1).double()
    inner = (labels >= count).nonzero().squeeze(1)
    if len(inner):
        below = rank_tables(taxonomy, labels.device).classes_below(labels[inner])
        chosen[inner] = log_probabilities[inner].double().masked_fill(~below, -torch.inf).logsumexp(dim=1)
        chosen[labels == count + taxonomy.num_nodes] = torch.nan
    return chosen


def summed_probabilities(probabilities: Tensor, taxonomy: Taxonomy) -> Tensor:
    """Probability of every node, the sum over its leaves: (B, C) -> (B, N)."""
    if probabilities.ndim != 2 or probabilities.shape[1] != taxonomy.num_classes:
        raise ValueError(
            f"expected probabilities of shape (B, {taxonomy.num_classes}), one column per class, "
            f"got {tuple(probabilities.shape)}"
        )
    if not taxonomy.is_tree:
        sums = descendant_sums(node_values(probabilities.double().cpu().numpy(), taxonomy), taxonomy)
        return torch.from_numpy(sums).to(probabilities)
    paths = rank_tables(taxonomy, probabilities.device).paths.long()  # (C, H)
    nodes = probabilities.new_zeros(len(probabilities), taxonomy.num_nodes)
    for level in range(taxonomy.height):
        there = paths[:, level] >= 0
        nodes.index_add_(1, paths[there, level], probabilities[:, there])
    return nodes


def calibration_bins(
    node_probabilities: Tensor, labels: Tensor, taxonomy: Taxonomy, bins: int = 15
) -> tuple[Tensor, Tensor, Tensor]:
    """Number of samples, summed confidence and number of correct predictions, by level and bin of confidence.

    The confidence at a level is the probability of its best node. A sample counts at the levels its label has, while
    for `hiercos evaluate --by confidence` and reports a class that ends above a level is its own node there.

    Args:
        node_probabilities: node probabilities from 0 to 1, shape (B, N).
        labels: true class of each sample, shape (B,).
        taxonomy: the tree.
        bins: number of bins of equal width, (0, 1/bins], …; a confidence of 0 is in the first. 15 by default.

    Returns:
        Three tensors of shape (H, bins), float64, which add up over batches.

    Raises:
        ValueError: for a value outside [0, 1], naming its row.
    """
    least, most = node_probabilities.aminmax(dim=1)
    outside = ~((least >= 0) & (most <= 1 + 1e-5))
    if outside.any():
        raise ValueError(f"row {int(outside.nonzero()[0])}: expected probabilities from 0 to 1")
    answers = level_predictions(node_probabilities, taxonomy)
    right = level_accuracy(answers, labels, taxonomy)  # (B, H), nan where a class lacks the level
    confidence = node_probabilities.gather(1, answers).double()
    bin_of = (confidence * bins).ceil().long().sub(1).clamp(0, bins - 1)
    cell = bin_of + bins * torch.arange(taxonomy.height, device=bin_of.device)
    counted = ~right.isnan()
    cells = cell[counted]
    sums = right.new_zeros(3, taxonomy.height * bins)
    sums.index_add_(1, cells, torch.stack([torch.ones_like(right), confidence, right])[:, counted])
    samples, confidences, hits = sums.view(3, taxonomy.height, bins)
    return samples, confidences, hits


def binned_error(samples: Tensor, confidences: Tensor, hits: Tensor) -> Tensor:
    """Expected calibration error of each level from `calibration_bins`, shape (H,); nan without samples."""
    return (confidences - hits).abs().sum(dim=1) / samples.sum(dim=1)


def calibration_error(node_probabilities: Tensor, labels: Tensor, taxonomy: Taxonomy, bins: int = 15) -> Tensor:
    """Expected calibration error at each level: Σ_bins |confidence − accuracy|, weighted by samples.

    For thresholds on probabilities. It does not say whether probabilities separate right from wrong answers: always
    the most frequent class with its frequency is perfectly calibrated. The value depends on the bins.

    Args:
        node_probabilities: node probabilities from 0 to 1, shape (B, N); see `summed_probabilities`.
        labels: true class of each sample, shape (B,).
        taxonomy: the tree.
        bins: number of bins of equal width between 0 and 1; 15 by default.

    Returns:
        Shape (H,), float64, from 0 to 1; nan at a level that no sample has.

    Example:
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> leaves = torch.tensor([[0.5, 0.25, 0.25]], dtype=torch.float64)
        >>> calibration_error(summed_probabilities(leaves, t), torch.tensor([0]), t).tolist()
        [0.25, 0.5]
    """
    return binned_error(*calibration_bins(node_probabilities, labels, taxonomy, bins))
