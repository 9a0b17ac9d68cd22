"""Who performs the tasks of a comparison: this process, or others."""

import multiprocessing
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from lightning_fabric import Fabric

from blobs import blob_data
from hiercos.benchmark.jobs import Executor, JobsError, NullObserver, Result, Task, executor
from hiercos.benchmark.workers import WorkerError
from hiercos.engine import RunProgress, TrainConfig
from hiercos.errors import FaultsError
from tasks import Found, Look

DATA = blob_data()


@pytest.fixture(scope="module")
def fabric() -> Fabric:
    fabric = Fabric(accelerator="cpu", devices=1)
    fabric.launch()
    return fabric


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


class Notes:
    """An observer that writes everything down."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def begin(self, task: Task[Result]) -> "TaskNotes":
        self.lines.append(f"{task.name} begins")
        return TaskNotes(self.lines, task.name)

    def end(self, task: Task[Result], result: Result) -> None:
        self.lines.append(f"{task.name} ends with {result.hops}")


class TaskNotes:
    def __init__(self, lines: list[str], name: str) -> None:
        self.lines, self.name = lines, name

    def batch(self, epoch: int, done: int, total: int) -> None:
        self.lines.append(f"{self.name} batch {epoch} {done}/{total}")

    def epoch(self, progress: RunProgress, config: TrainConfig) -> None:
        self.lines.append(f"{self.name} epoch {len(progress.history)}/{config.epochs}")

    def close(self) -> None:
        self.lines.append(f"{self.name} closes")


def of_task(lines: list[str], number: int) -> list[str]:
    return [line.removeprefix(f"task {number} ") for line in lines if line.startswith(f"task {number} ")]


@pytest.mark.long
def test_two_processes_share_the_features_the_threads_and_the_tasks_and_end_when_one_dies(
    fabric: Fabric, tmp_path: Path, two_threads: None
) -> None:
    folder = tmp_path / "out"
    before, handler = dict(os.environ), signal.getsignal(signal.SIGINT)

    def use_until_one_dies() -> None:
        with executor(fabric, DATA, 2, folder) as workers:
            assert (dict(os.environ), signal.getsignal(signal.SIGINT)) == (before, handler)
            assert [path.name for path in folder.iterdir()] == [".lock"]  # the features are mapped, their file is gone
            they_share_the_work(workers)
            a_failure_is_raised_here(workers)
            workers.run([Look(1, "wait"), Look(2, "die")], NullObserver())

    start = time.monotonic()
    with pytest.raises(
        WorkerError, match=r"^a process ended during task 2 with code -9, killed, perhaps because memory"
    ):
        use_until_one_dies()
    assert time.monotonic() - start < 300  # the other one would have taken ten minutes
    assert not multiprocessing.active_children()


def they_share_the_work(workers: Executor) -> None:
    notes = Notes()
    found: list[Found] = workers.run([Look(number) for number in range(5)], notes)
    again = workers.run([Look(7)], NullObserver())
    assert len({each.process for each in found} | {os.getpid()}) == 3
    assert again[0].process in {each.process for each in found}
    assert {each.total for each in found} == {float(DATA.features.sum())}
    assert {(each.threads, each.limit) for each in found} == {(1, "1")}
    for number in range(5):
        told = ["begins", "batch 1 1/1", "epoch 1/20", "closes", "ends with 0.75"]
        assert of_task(notes.lines, number) == told


def a_failure_is_raised_here(workers: Executor) -> None:
    with pytest.raises(FaultsError, match=r"^task 1: the value is wrong") as caught:
        workers.run([Look(1, "fail")], NullObserver())
    assert "in __call__" in caught.value.__notes__[0]  # where it went wrong over there
    with pytest.raises(RuntimeError, match=r"^OddError: a and b"):
        workers.run([Look(1, "fail oddly")], NullObserver())


def test_one_job_is_this_process_and_results_keep_the_order_of_the_tasks(fabric: Fabric, tmp_path: Path) -> None:
    notes = Notes()
    with executor(fabric, DATA, 1, tmp_path) as workers:
        found: list[Found] = workers.run([Look(1), Look(2)], notes)
    assert [each.process for each in found] == [os.getpid()] * 2
    assert notes.lines[0] == "task 1 begins"
    assert notes.lines[-1] == "task 2 ends with 0.75"


def test_what_cannot_run_at_once_is_refused_before_anything_starts(fabric: Fabric, tmp_path: Path) -> None:
    with pytest.raises(JobsError, match="at least one job, got 0"), executor(fabric, DATA, 0, tmp_path):
        pass
    many = Fabric(accelerator="cpu", devices=2, strategy="ddp_spawn")
    with pytest.raises(JobsError, match="expected one process, got the 2"), executor(many, DATA, 2, tmp_path / "out"):
        pass
    assert not (tmp_path / "out").exists()
