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


@dataclass(frozen=True)
class Batch:
    """One process's part of a batch.

    Attributes:
        rows: indices of its samples.
        weight: its number of samples over the mean of all processes, so that the mean of their weighted losses is the
            loss of the whole batch; 1 for a single process.
    """

    rows: Tensor
    weight: float


def epoch_batches(count: int, batch_size: int, *, seed: int, rank: int = 0, world_size: int = 1) -> list[Batch]:
    """The batches of one epoch, in random order, for one of several processes.

    The samples are dealt into batches of nearly equal size, so that none is left out, and no process has fewer than two
    samples of a batch, which batch norm needs (so a batch may be larger where `batch_size` is as small as that).

    Args:
        count: M, the number of samples.
        batch_size: samples a batch, over all processes.
        seed: of the order; a different one for each epoch.
        rank: which process this is.
        world_size: the number of processes.

    Returns:
        Batches that together hold this process's samples once each.
    """
    order = torch.randperm(count, generator=torch.Generator().manual_seed(seed))
    number = max(1, min(-(-count // batch_size), count // (2 * world_size)))
    batches = order.tensor_split(number)
    parts = [batch.tensor_split(world_size)[rank] for batch in batches]
    return [Batch(part, len(part) * world_size / len(batch)) for part, batch in zip(parts, batches, strict=True)]
