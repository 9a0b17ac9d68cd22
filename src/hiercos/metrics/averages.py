"""Means of class means, from sums that add up over batches."""

import torch
from torch import Tensor


def class_sums(
    values: Tensor, labels: Tensor, num_classes: int, weights: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Weighted sum of the values of each class, and the sum of the weights of the samples that count.

    Args:
        values: K values of each sample, nan where it does not count, shape (B, K).
        labels: true class of each sample that counts, shape (B,); the values of any other sample must be nan.
        num_classes: number of classes C.
        weights: weight of each sample, shape (B,); 1 by default.

    Returns:
        Two tensors of shape (C, K), float64; they add up over batches.
    """
    weights = torch.ones(len(values), device=values.device) if weights is None else weights
    counted = values.isnan().logical_not() * weights[:, None].double()
    zeros, classes = counted.new_zeros(num_classes, values.shape[1]), labels.long().clamp(max=num_classes - 1)
    totals = zeros.index_add(0, classes, values.double().nan_to_num() * counted)
    return totals, zeros.index_add(0, classes, counted)


def mean_of_class_means(totals: Tensor, counts: Tensor) -> Tensor:
    """Mean of totals / counts over the classes with a count: two (C, K) -> (K,); nan if no class has one."""
    return (totals / counts).nanmean(dim=0)
