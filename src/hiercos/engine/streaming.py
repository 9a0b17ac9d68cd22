"""Raw inputs streamed to a model: batches are prepared ahead, never all in memory."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from hiercos.data import Inputs
from hiercos.errors import FaultsError
from hiercos.nn.backbones import Preprocess

AHEAD = 2  # batches prepared ahead of the model, for each worker
RAW_AT_ONCE = 64  # images or texts in a batch without training

AugmentFunction = Callable[[Sequence[Any], torch.Generator], Any]


@dataclass(frozen=True)
class RawSamples:
    """Images or texts that are prepared for a model on demand.

    The augmentation of a batch depends on the seed and the index of the batch alone, so the number of workers changes
    only the speed.

    Attributes:
        inputs: M images or texts.
        preprocess: function from a list of inputs to a batch for the model.
        augment: function from a list of inputs and a generator to an augmented batch; None for no augmentation.
        workers: number of processes that read and prepare inputs; 0 for a thread of this process.
        at_once: batch size for evaluation and prediction.
    """

    inputs: Inputs
    preprocess: Preprocess
    augment: AugmentFunction | None = None
    workers: int = 0
    at_once: int = RAW_AT_ONCE

    def __len__(self) -> int:
        return len(self.inputs)

    def to(self, device: torch.device) -> "RawSamples":  # noqa: ARG002  # there are no tensors yet
        """The same samples."""
        return self

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
            yield from DataLoader(self, batch_size=None, num_workers=workers, prefetch_factor=AHEAD, generator=own)
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
