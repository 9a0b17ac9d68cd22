"""Means over classes, each class by the mean of its own samples, from sums that add up over batches."""

import torch
from torch import Tensor


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
