"""Samples given by rows, and the batches of an epoch: the same for the same seed, whatever happened before."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import torch
from torch import Tensor

from hiercos.callbacks import ProgressCallback

VECTORS_AT_ONCE = 1024


class Samples(Protocol):
    """Samples that a model takes: vectors in memory, or raw inputs that are read when needed."""

    @property
    def at_once(self) -> int:
        """Number of samples in a batch for a model that does not learn."""

    def __len__(self) -> int: ...

    def to(self, device: torch.device) -> "Samples":
        """The same samples with their tensors on a device."""

    def batches(self, parts: Sequence[Tensor], *, seed: int = 0) -> Iterator[Any]:
        """Batches of what the model takes, one for the rows of each part, in order.

        Args:
            parts: the rows of each batch, shape (B,) each.
            seed: seed of whatever is drawn at random while a batch is made.
        """


class LabelledSamples(Samples, Protocol):
    """Samples with their classes, to train and to test a model on."""

    @property
    def labels(self) -> Tensor:
        """Class of each sample, shape (M,), int64."""

    def to(self, device: torch.device) -> "LabelledSamples":
        """The same samples with their tensors on a device."""


@dataclass(frozen=True)
class VectorSamples:
    """Features without labels, in memory.

    Attributes:
        features: shape (M, F), float32.
        at_once: see `Samples`.
    """

    features: Tensor
    at_once: int = VECTORS_AT_ONCE

    def __len__(self) -> int:
        return len(self.features)

    def to(self, device: torch.device) -> "VectorSamples":
        """The same features on a device."""
        return replace(self, features=self.features.to(device))

    def batches(self, parts: Sequence[Tensor], *, seed: int = 0) -> Iterator[Tensor]:  # noqa: ARG002  # nothing is drawn
        """Features of each part, shape (B, F)."""
        for rows in parts:
            yield self.features[rows.to(self.features.device)]


@dataclass(frozen=True)
class LabelledVectors:
    """Features with their classes, in memory.

    Attributes:
        features: shape (M, F), float32.
        labels: shape (M,), int64.
        at_once: see `Samples`.
    """

    features: Tensor
    labels: Tensor
    at_once: int = VECTORS_AT_ONCE

    def __len__(self) -> int:
        return len(self.labels)

    def to(self, device: torch.device) -> "LabelledVectors":
        """The same features and classes on a device."""
        return replace(self, features=self.features.to(device), labels=self.labels.to(device))

    def batches(self, parts: Sequence[Tensor], *, seed: int = 0) -> Iterator[Tensor]:
        """Features of each part, shape (B, F)."""
        return VectorSamples(self.features).batches(parts, seed=seed)


@dataclass(frozen=True)
class LabelledInputs:
    """Samples of any type with their classes.

    Attributes:
        samples: M samples.
        labels: shape (M,), int64.
    """

    samples: Samples
    labels: Tensor

    @property
    def at_once(self) -> int:
        """See `Samples`."""
        return self.samples.at_once

    def __len__(self) -> int:
        return len(self.labels)

    def to(self, device: torch.device) -> "LabelledInputs":
        """The same samples and classes on a device."""
        return LabelledInputs(self.samples.to(device), self.labels.to(device))

    def batches(self, parts: Sequence[Tensor], *, seed: int = 0) -> Iterator[Any]:
        """Batches of the samples."""
        return self.samples.batches(parts, seed=seed)


@dataclass(frozen=True)
class ReportedSamples:
    """Samples that report to a callback how many of them have been used.

    Attributes:
        samples: the samples.
        callback: receives the counts.
        already: number of samples that were finished earlier.
    """

    samples: Samples
    callback: ProgressCallback
    already: int = 0

    @property
    def at_once(self) -> int:
        """See `Samples`."""
        return self.samples.at_once

    def __len__(self) -> int:
        return len(self.samples)

    def to(self, device: torch.device) -> "ReportedSamples":
        """The same samples on a device."""
        return replace(self, samples=self.samples.to(device))

    def batches(self, parts: Sequence[Tensor], *, seed: int = 0) -> Iterator[Any]:
        """Batches of the samples; one is finished when the next is asked for."""
        done = self.already
        self.callback.start(done, done + sum(map(len, parts)))
        try:
            for part, batch in zip(parts, self.samples.batches(parts, seed=seed), strict=True):
                yield batch
                done += len(part)
                self.callback.rows(done)
        finally:
            self.callback.close()


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
