"""Metrics of class probabilities."""

import math
import sys

from torch import Tensor

from hiercos.metrics.ranking import check_labels
from hiercos.taxonomy import Taxonomy

LEAST = math.log(sys.float_info.min)  # a smaller probability counts as this one, so that one sample costs at most 708.4
ROUNDING = 1e-5  # by which a logarithm may exceed 0


def log_loss(log_probabilities: Tensor, labels: Tensor, taxonomy: Taxonomy) -> Tensor:
    """Negative log-probability of the true class; its mean is the log loss, or cross-entropy.

    Args:
        log_probabilities: natural logarithms of the class probabilities, shape (B, C).
        labels: true classes, shape (B,).
        taxonomy: the tree over the C classes.

    Returns:
        Shape (B,), float64, in nats, from 0 to 708.4, which stands for a probability of 0.

    Raises:
        ValueError: for shapes that do not fit, a label that is no class, or a value that is NaN or above 0, naming
            its row.

    Example:
        >>> import torch
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> probabilities = torch.tensor([[0.5, 0.25, 0.25]], dtype=torch.float64)
        >>> log_loss(probabilities.log(), torch.tensor([1]), t).exp().tolist()
        [4.0]
    """
    check_labels(labels, len(log_probabilities), taxonomy)
    check_log_probabilities(log_probabilities, len(labels), taxonomy)
    return true_class_loss(log_probabilities, labels)


def check_log_probabilities(log_probabilities: Tensor, count: int, taxonomy: Taxonomy) -> None:
    """Refuse what are not logarithms of the class probabilities of so many samples."""
    expected = (count, taxonomy.num_classes)
    if log_probabilities.shape != expected:
        raise ValueError(f"expected log-probabilities of shape {expected}, got {tuple(log_probabilities.shape)}")
    outside = ~(log_probabilities.amax(dim=1) <= ROUNDING)  # amax is NaN where any value is
    if outside.any():
        raise ValueError(f"row {int(outside.nonzero()[0])}: expected logarithms of probabilities, none above 0")


def true_class_loss(log_probabilities: Tensor, labels: Tensor) -> Tensor:
    """Negative log-probability of the true class, (B, C) and (B,) -> (B,); see `log_loss`."""
    chosen = log_probabilities.gather(1, labels.long()[:, None]).squeeze(1)
    return -chosen.double().clamp(LEAST, 0)
