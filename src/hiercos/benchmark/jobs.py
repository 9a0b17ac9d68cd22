"""Tasks of a comparison, in turn in this process, or several at once in processes of their own."""

from __future__ import annotations

import tempfile
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import wait
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from hiercos.benchmark.workers import SharedValue, Worker, give_data, start_workers
from hiercos.engine import RunData, TrainConfig, TrainingCallback
from hiercos.errors import FaultsError

if TYPE_CHECKING:
    from lightning_fabric import Fabric


class JobsError(FaultsError):
    """Several tasks at once where that cannot be done."""


class Result(Protocol):
    """What a task gave; of any kind, with what it reached on validation."""

    @property
    def top1(self) -> float:
        """Top-1 accuracy on validation, nan where training failed."""

    @property
    def hops(self) -> float:
        """HOPS on validation, nan where training failed."""


R = TypeVar("R", bound=Result)
R_co = TypeVar("R_co", bound=Result, covariant=True)


class Task(Protocol[R_co]):
    """Something to train, on data that all tasks share; plain enough to be sent to another process."""

    @property
    def line(self) -> str:
        """The row of a table it belongs to: a method."""

    @property
    def kind(self) -> str:
        """What it is one of: "trial" or "seed"."""

    @property
    def number(self) -> int:
        """Which of its kind."""

    @property
    def name(self) -> str:
        """What messages call it, such as "hier-cos seed 3"."""

    @property
    def config(self) -> TrainConfig:
        """The settings."""

    def __call__(self, fabric: Fabric, data: RunData, callback: TrainingCallback | None) -> R_co:
        """Do it; what an earlier call finished is read, not done again."""


class Observer(Protocol):
    """Who is told how a comparison goes, task by task: a progress display, a log."""

    def begin(self, task: Task[Result]) -> TrainingCallback | None:
        """A task begins; returns the callback of its training, if it has one."""

    def end(self, task: Task[Result], result: Result) -> None:
        """A task is done."""


class Nobody:
    """An observer that says nothing."""

    def begin(self, task: Task[Result]) -> TrainingCallback | None:  # noqa: ARG002  # the observers' signature
        """No callback for any task."""
        return None

    def end(self, task: Task[Result], result: Result) -> None:
        """Nobody is told."""


class Crew(Protocol):
    """Who performs tasks."""

    def perform(self, tasks: Sequence[Task[R]], observer: Observer) -> list[R]:
        """Do all tasks and return what they gave, in their order."""


@contextmanager
def crew(fabric: Fabric, data: RunData, jobs: int, folder: Path) -> Iterator[Crew]:
    """Who performs tasks on these data, so many at once; several processes end with the context, however it ends.

    Each process has its share of this one's threads, and all map the same features.

    Args:
        fabric: where to run, launched.
        data: what all tasks share.
        jobs: tasks at once; 1 is this process.
        folder: made if missing; has room for a copy of the features where there are several jobs.

    Raises:
        JobsError: for fewer than one job, or several on a device other than the CPU or under torchrun.
    """
    if jobs < 1:
        raise JobsError(f"expected at least one job, got {jobs}")
    if jobs == 1:
        yield InTurn(fabric, data)
        return
    if fabric.device.type != "cpu":
        raise JobsError(f"{jobs} jobs: expected the device cpu, got {fabric.device.type}, which runs one at a time")
    if fabric.world_size > 1:
        raise JobsError(f"{jobs} jobs: expected one process, got the {fabric.world_size} of torchrun")
    folder.mkdir(parents=True, exist_ok=True)
    data.summary()  # its fingerprint is kept, so that no process computes it again
    with start_workers(jobs) as workers:
        with tempfile.TemporaryDirectory(prefix=".shared-", dir=folder, ignore_cleanup_errors=True) as place:
            give_data(workers, SharedValue.write(data, Path(place) / "arrays"))
        yield AtOnce(workers)  # the file is gone already, and nothing is left behind however this ends


@dataclass(frozen=True)
class InTurn:
    """Performs tasks one after another in this process."""

    fabric: Fabric
    data: RunData

    def perform(self, tasks: Sequence[Task[R]], observer: Observer) -> list[R]:
        """Do all tasks and return what they gave, in their order."""
        results = []
        for task in tasks:
            results.append(task(self.fabric, self.data, observer.begin(task)))
            observer.end(task, results[-1])
        return results


@dataclass(frozen=True)
class AtOnce:
    """Performs tasks in other processes, one each at a time; the first failure is raised here."""

    workers: Sequence[Worker]

    def perform(self, tasks: Sequence[Task[R]], observer: Observer) -> list[R]:
        """Do all tasks and return what they gave, in their order."""
        results: dict[int, R] = {}
        todo, idle = deque(range(len(tasks))), deque(self.workers)
        busy: dict[Any, tuple[Worker, int, TrainingCallback | None]] = {}  # by the worker's connection
        try:
            while todo or busy:
                while todo and idle:
                    worker, index = idle.popleft(), todo.popleft()
                    worker.send(tasks[index])
                    busy[worker.connection] = (worker, index, observer.begin(tasks[index]))
                for connection in wait(busy.keys()):
                    worker, index, callback = busy[connection]
                    kind, content = worker.message(tasks[index].name)
                    if kind == "done":
                        results[index] = content
                        _close(busy.pop(connection)[2])
                        idle.append(worker)
                        observer.end(tasks[index], content)
                    elif callback:
                        getattr(callback, kind)(*content)
        finally:
            for _, _, callback in busy.values():
                _close(callback)
        return [results[index] for index in range(len(tasks))]


def _close(callback: TrainingCallback | None) -> None:
    if callback:
        callback.close()
