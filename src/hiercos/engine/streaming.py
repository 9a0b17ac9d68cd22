"""Raw inputs streamed to a model: prepared ahead while it works on the batch before, never all in memory."""

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
RAW_AT_ONCE = 64

Augment = Callable[[Sequence[Any], torch.Generator], Any]


@dataclass(frozen=True)
class RawSamples:
    """Images or texts that are prepared for a model when they are needed.

    What is drawn at random for a batch depends on the seed and the batch's place alone, so the number of workers
    changes nothing but the speed.

    Attributes:
        inputs: M images or texts.
        preprocess: makes of some of them what the model takes.
        augment: does so for training, with random changes; None for none.
        workers: processes that read and prepare; 0 for a thread of this one.
        at_once: see `Samples`.
    """

    inputs: Inputs
    preprocess: Preprocess
    augment: Augment | None = None
    workers: int = 0
    at_once: int = RAW_AT_ONCE

    def __len__(self) -> int:
        return len(self.inputs)

    def to(self, device: torch.device) -> "RawSamples":  # noqa: ARG002  # there are no tensors yet
        """The same samples."""
        return self

    def batches(self, parts: Sequence[Tensor], *, seed: int = 0) -> Iterator[Any]:
        """What the model takes for the rows of each part, prepared ahead; see `Samples`."""
        maker = _BatchMaker(self, [part.tolist() for part in parts], seed)
        for batch in maker.in_processes(self.workers) if self.workers else maker.in_a_thread():
            if isinstance(batch, FaultsError):
                raise batch
            yield batch

    def batch(self, rows: Sequence[int], seed: int) -> Any:
        """What the model takes for some rows."""
        samples = self.inputs.values(rows)
        if self.augment is None:
            return self.preprocess(samples)
        return self.augment(samples, torch.Generator().manual_seed(seed))


class _BatchMaker(Dataset[Any]):
    """The batches of an epoch by their place; what is wrong with an input comes back as a value.

    A worker process would turn an exception into another one with its traceback in the message.
    """

    def __init__(self, samples: RawSamples, parts: list[list[int]], seed: int) -> None:
        self.samples, self.parts, self.seed = samples, parts, seed

    def __len__(self) -> int:
        return len(self.parts)

    def __getitem__(self, place: int) -> Any:
        try:
            return self.samples.batch(self.parts[place], batch_seed(self.seed, place))
        except FaultsError as error:
            return error

    def in_processes(self, workers: int) -> Iterator[Any]:
        """The batches in order, made by worker processes."""
        own = torch.Generator()  # the loader draws a number; not from the generator that dropout draws from
        yield from DataLoader(self, batch_size=None, num_workers=workers, prefetch_factor=AHEAD, generator=own)

    def in_a_thread(self) -> Iterator[Any]:
        """The batches in order, made by one thread; decoding and resizing leave the interpreter to others."""
        executor = _quiet_thread()
        waiting: deque[Future[Any]] = deque()
        try:
            for place in range(len(self)):
                waiting.append(executor.submit(self.__getitem__, place))
                if len(waiting) > AHEAD:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            executor.shutdown(cancel_futures=True)


def _quiet_thread() -> ThreadPoolExecutor:
    """One thread in which torch never calls on other threads.

    A second team of threads would be more than there are processors, and OpenMP then lets those of the model sleep
    between any two operations instead of waiting for the next.
    """
    threads = torch.get_num_threads()
    executor = ThreadPoolExecutor(max_workers=1)
    executor.submit(torch.get_num_threads).result()  # a thread takes the number over when it first looks, and once
    executor.submit(torch.set_num_threads, 1).result()
    torch.set_num_threads(threads)  # what threads that begin later take over
    return executor


def batch_seed(seed: int, place: int) -> int:
    """A seed of its own for every batch of an epoch."""
    return (seed * 2_147_483_647 + place * 104_729 + 1) % 2**63
