"""Raw inputs prepared ahead for a model, samples with labels, and the batches of an epoch."""

import signal
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from hiercos.data import Inputs
from hiercos.encoders.backbones import Preprocess
from hiercos.errors import FaultsError

AHEAD = 2  # batches prepared ahead of the model, for each worker
RAW_AT_ONCE = 64  # images or texts in a batch without training

AugmentFunction = Callable[[Sequence[Any], torch.Generator], Any]


class Samples(Protocol):
    """Samples that a model takes: vectors in memory, or raw inputs that are read when needed."""

    @property
    def at_once(self) -> int:
        """Batch size for evaluation and prediction."""

    def __len__(self) -> int: ...

    def batches(self, parts: Sequence[Tensor], *, seed: int = 0) -> Iterator[Any]:
        """Model inputs for the rows of each part, in order.

        Args:
            parts: row indices of each batch, shape (B,) each.
            seed: seed of the random augmentation.
        """


class LabelledSamples(Samples, Protocol):
    """Samples with their labels, for training and evaluation."""

    @property
    def labels(self) -> Tensor:
        """Label of each sample, a class index or C + node, shape (M,), int64."""

    @property
    def label_sets(self) -> Tensor | None:
        """Nodes of several labels of each sample, shape (M, K), -1 for none; None if every sample has one label."""

    def to(self, device: torch.device) -> "LabelledSamples":
        """The same samples with the tensors of features and labels on a device."""


@dataclass(frozen=True)
class SamplesOf:
    """Samples that are made from others; a subclass says how."""

    samples: Samples

    @property
    def at_once(self) -> int:
        """See `Samples`."""
        return self.samples.at_once

    def __len__(self) -> int:
        return len(self.samples)

    def batches(self, parts: Sequence[Tensor], *, seed: int = 0) -> Iterator[Any]:
        """Batches of the samples."""
        return self.samples.batches(parts, seed=seed)


@dataclass(frozen=True)
class LabelledInputs(SamplesOf):
    """Samples of any type with their classes."""

    labels: Tensor  # label of each sample, a class index or C + node, shape (M,), int64
    label_sets: Tensor | None = None  # see `LabelledSamples`

    def to(self, device: torch.device) -> "LabelledInputs":
        """The same samples with their classes on a device."""
        sets = None if self.label_sets is None else self.label_sets.to(device)
        return replace(self, labels=self.labels.to(device), label_sets=sets)


@dataclass(frozen=True)
class Batch:
    """The part of a batch that one process trains on."""

    rows: Tensor  # row indices of the part, shape (B,)
    # number of samples over the mean of all processes, so that the mean of the weighted losses is the loss of the whole
    # batch; 1 for a single process
    weight: float


def epoch_batches(count: int, batch_size: int, *, seed: int, rank: int = 0, world_size: int = 1) -> list[Batch]:
    """Batches of one epoch, in random order, for one of several processes.

    The samples are divided into batches of nearly equal size, so that none is left out, and every process has at least
    two samples of a batch, which batch norm needs (so batches may be larger than a very small `batch_size`).

    Args:
        count: number of samples M.
        batch_size: samples per batch over all processes.
        seed: seed of the order, different for each epoch.
        rank: index of this process.
        world_size: number of processes.

    Returns:
        Batches that together hold this process's samples once each.
    """
    order = torch.randperm(count, generator=torch.Generator().manual_seed(seed))
    number = max(1, min(-(-count // batch_size), count // (2 * world_size)))
    batches = order.tensor_split(number)
    parts = [batch.tensor_split(world_size)[rank] for batch in batches]
    return [Batch(part, len(part) * world_size / len(batch)) for part, batch in zip(parts, batches, strict=True)]


@dataclass(frozen=True)
class RawSamples:
    """Images or texts that are prepared for a model on demand.

    The augmentation of a batch depends on the seed and the index of the batch alone, so the number of workers changes
    only the speed.
    """

    inputs: Inputs  # M images or texts
    preprocess: Preprocess  # function from a list of inputs to a batch for the model
    augment: AugmentFunction | None = None  # function from inputs and a generator to an augmented batch
    workers: int = 0  # number of processes that read and prepare inputs; 0 for a thread of this process
    at_once: int = RAW_AT_ONCE  # batch size for evaluation and prediction

    def __len__(self) -> int:
        return len(self.inputs)

    def batches(self, parts: Sequence[Tensor], *, seed: int = 0) -> Iterator[Any]:
        """Model inputs for the rows of each part, prepared ahead; see `Samples`."""
        maker = _BatchMaker(self, [part.tolist() for part in parts], seed)
        for batch in maker.in_processes(self.workers) if self.workers else maker.in_a_thread():
            if isinstance(batch, FaultsError):
                raise batch
            yield batch

    def batch(self, rows: Sequence[int], seed: int) -> Any:
        """Model inputs for the given rows."""
        samples = self.inputs.values(rows)
        if self.augment is None:
            return self.preprocess(samples)
        return self.augment(samples, torch.Generator().manual_seed(seed))


class ReaderProcessError(RuntimeError):
    """A worker process that reads inputs and ended, for instance because it was killed."""


class _BatchMaker(Dataset[Any]):
    """Batches of an epoch by index; a fault of an input is returned as a value.

    A worker process would turn an exception into another one with its traceback in the message.
    """

    def __init__(self, samples: RawSamples, parts: list[list[int]], seed: int) -> None:
        self.samples, self.parts, self.seed = samples, parts, seed

    def __len__(self) -> int:
        return len(self.parts)

    def __getitem__(self, index: int) -> Any:
        try:
            return self.samples.batch(self.parts[index], batch_seed(self.seed, index))
        except FaultsError as error:
            return error

    def in_processes(self, workers: int) -> Iterator[Any]:
        """Batches in order, prepared by worker processes."""
        own = torch.Generator()  # the loader must not use the generator of dropout
        try:
            yield from DataLoader(
                self,
                batch_size=None,
                num_workers=workers,
                prefetch_factor=AHEAD,
                generator=own,
                worker_init_fn=_leave_signals,
            )
        except RuntimeError as error:
            if "DataLoader worker" not in str(error):
                raise
            raise ReaderProcessError(
                "a process that reads inputs ended unexpectedly, perhaps because memory ran out: "
                f"try fewer --workers than {workers}"
            ) from error

    def in_a_thread(self) -> Iterator[Any]:
        """Batches in order, prepared by one thread; decoding and resizing release the interpreter lock."""
        executor = _single_threaded_executor()
        waiting: deque[Future[Any]] = deque()
        try:
            for index in range(len(self)):
                waiting.append(executor.submit(self.__getitem__, index))
                if len(waiting) > AHEAD:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            executor.shutdown(cancel_futures=True)


def _leave_signals(_worker: int) -> None:
    """Let the main process alone answer Ctrl-C and a closed terminal, which every process of a terminal gets."""
    for name in ("SIGINT", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)


def _single_threaded_executor() -> ThreadPoolExecutor:
    """Executor of one thread in which torch uses no further threads.

    A second team of OpenMP threads would exceed the number of processors, and OpenMP would then put the threads of the
    model to sleep between operations.
    """
    threads = torch.get_num_threads()
    executor = ThreadPoolExecutor(max_workers=1)
    executor.submit(torch.get_num_threads).result()  # a thread copies the setting on its first use
    executor.submit(torch.set_num_threads, 1).result()
    torch.set_num_threads(threads)  # the setting for threads that start later
    return executor


def batch_seed(seed: int, index: int) -> int:
    """Seed of a batch of an epoch, different for every batch."""
    return (seed * 2_147_483_647 + index * 104_729 + 1) % 2**63
