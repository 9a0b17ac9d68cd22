"""Executors that run the tasks of a comparison: serially in this process, or in parallel in worker processes."""

from __future__ import annotations

import shutil
import tempfile
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from multiprocessing.connection import wait
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from hiercos.benchmark.workers import SharedValue, Worker, send_data, start_workers
from hiercos.engine import RunData, TrainConfig, TrainingCallback
from hiercos.errors import FaultsError
from hiercos.locks import locked_folder

if TYPE_CHECKING:
    from lightning_fabric import Fabric


SHARED = ".shared-"  # prefix of the temporary copies of features


class JobsError(FaultsError):
    """An unsupported number of parallel jobs."""


class Result(Protocol):
    """The result of a task; every kind of result has its validation metrics."""

    @property
    def top1(self) -> float:
        """Top-1 accuracy on validation, nan where training failed."""

    @property
    def hops(self) -> float:
        """HOPS on validation, nan where training failed."""


R = TypeVar("R", bound=Result)
R_co = TypeVar("R_co", bound=Result, covariant=True)


class Task(Protocol[R_co]):
    """A training job on data that all tasks share; it can be pickled and sent to another process."""

    @property
    def method(self) -> str:
        """The method, with its changed options in an ablation."""

    @property
    def kind(self) -> str:
        """The kind of task: "trial" or "seed"."""

    @property
    def number(self) -> int:
        """The number of the trial or seed."""

    @property
    def name(self) -> str:
        """The name used in messages, such as "hier-cos seed 3"."""

    @property
    def config(self) -> TrainConfig:
        """The training settings."""

    def __call__(self, fabric: Fabric, data: RunData, callback: TrainingCallback | None) -> R_co:
        """Run the task; a result that an earlier call finished is read from disk."""


class Observer(Protocol):
    """Progress callback of a comparison, called at the start and end of every task."""

    def begin(self, task: Task[Result]) -> TrainingCallback | None:
        """Handle the start of a task; returns the progress callback of its training."""

    def end(self, task: Task[Result], result: Result) -> None:
        """Handle the end of a task."""


class NullObserver:
    """An observer that does nothing."""

    def begin(self, task: Task[Result]) -> TrainingCallback | None:  # noqa: ARG002  # the observers' signature
        """Ignore the start of a task."""
        return None

    def end(self, task: Task[Result], result: Result) -> None:
        """Ignore the end of a task."""


class Executor(Protocol):
    """Runs tasks."""

    def run(self, tasks: Sequence[Task[R]], observer: Observer) -> list[R]:
        """Run all tasks and return their results in the same order."""


@contextmanager
def executor(fabric: Fabric, data: RunData, jobs: int, folder: Path) -> Iterator[Executor]:
    """Executor for tasks on the given data; its worker processes end with the context, also after an error.

    Each worker gets an equal share of this process's threads, and all map the same features into memory.

    Args:
        fabric: launched Fabric.
        data: data that all tasks share.
        jobs: number of parallel tasks; 1 runs them in this process.
        folder: folder of the runs, which is locked meanwhile, and of a temporary copy of the features if there are
            several jobs; created if missing.

    Raises:
        LockError: if another process writes to the folder.
        JobsError: fewer than one job, or several on a device other than the CPU or under torchrun.
    """
    if jobs < 1:
        raise JobsError(f"expected at least one job, got {jobs}")
    with locked_folder(folder) if fabric.is_global_zero else nullcontext():
        if jobs == 1:
            yield SerialExecutor(fabric, data)
        else:
            with _parallel_executor(fabric, data, jobs, folder) as parallel:
                yield parallel


@contextmanager
def _parallel_executor(fabric: Fabric, data: RunData, jobs: int, folder: Path) -> Iterator[ParallelExecutor]:
    """Executor of several jobs in a folder whose lock is held; see `executor`."""
    if fabric.device.type != "cpu":
        raise JobsError(f"{jobs} jobs: expected the device cpu, got {fabric.device.type}, which runs one at a time")
    if fabric.world_size > 1:
        raise JobsError(f"{jobs} jobs: expected one process, got the {fabric.world_size} of torchrun")
    data.summary()  # caches the fingerprint, so that no worker computes it again
    with start_workers(jobs) as workers:
        _sweep_shared(folder)
        with tempfile.TemporaryDirectory(prefix=SHARED, dir=folder, ignore_cleanup_errors=True) as place:
            send_data(workers, SharedValue.write(data, Path(place) / "arrays"))
        yield ParallelExecutor(workers)  # the shared file is deleted already, so nothing is left behind after a crash


def _sweep_shared(folder: Path) -> None:
    """Remove copies of features that an ended process left in a folder, whose lock this process holds."""
    for place in folder.glob(f"{SHARED}*"):
        shutil.rmtree(place, ignore_errors=True)


@dataclass(frozen=True)
class SerialExecutor:
    """Runs tasks one after another in this process."""

    fabric: Fabric
    data: RunData

    def run(self, tasks: Sequence[Task[R]], observer: Observer) -> list[R]:
        """Run all tasks and return their results in the same order."""
        results = []
        for task in tasks:
            results.append(task(self.fabric, self.data, observer.begin(task)))
            observer.end(task, results[-1])
        return results


@dataclass(frozen=True)
class ParallelExecutor:
    """Runs tasks in worker processes, one task per worker at a time; the first failure is raised here."""

    workers: Sequence[Worker]

    def run(self, tasks: Sequence[Task[R]], observer: Observer) -> list[R]:
        """Run all tasks and return their results in the same order."""
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
