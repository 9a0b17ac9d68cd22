"""Vectors in memory and the batches of an epoch: the same for the same seed, whatever happened before."""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class LabelledVectors:
    """Features and their classes.

    Attributes:
        features: shape (M, F), float32.
        labels: shape (M,), int64.
    """

    features: Tensor
    labels: Tensor

    def __len__(self) -> int:
        return len(self.labels)


def epoch_batches(count: int, batch_size: int, *, seed: int, rank: int = 0, world_size: int = 1) -> list[Tensor]:
    """Indices of each batch of one epoch, in random order, for one of several processes.

    The samples are dealt into batches of nearly equal size, so that none is left out and no last batch is too small
    for batch norm. Every process takes its own share of each batch.

    Args:
        count: M, the number of samples.
        batch_size: samples a batch at the most, over all processes.
        seed: of the order; a different one for each epoch.
        rank: which process this is.
        world_size: the number of processes.

    Returns:
        Index tensors that together hold this process's samples once each.
    """
    order = torch.randperm(count, generator=torch.Generator().manual_seed(seed))
    number = -(-count // batch_size)
    return [batch.tensor_split(world_size)[rank] for batch in order.tensor_split(number)]
