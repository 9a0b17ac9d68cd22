"""Trainings in this process, and in several others."""

import pickle
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from lightning_fabric import Fabric

from blobs import blob_data
from folders import files_of_at_most
from hiercos.benchmark import Observer, Outcome, Task, run_tasks
from hiercos.benchmark.parallel import JobsError
from hiercos.training import Features, RunProgress, Settings, TrainingError
from tasks import Deadly
from trees import TOY17

DATA = blob_data()


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


class Notes:
    """An observer that writes everything down, and so does its callback."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def begin(self, task: Task) -> "Notes":
        self.lines.append(f"{task.name} begins")
        return self

    def end(self, task: Task, outcome: Outcome) -> None:
        self.lines.append(f"{task.name} ends {'with' if outcome.progress else 'without'} progress")

    def batch(self, epoch: int, done: int, total: int) -> None: ...

    def epoch(self, progress: RunProgress, config: Settings) -> None:
        self.lines.append(f"epoch {len(progress.history)} of {config.epochs}")

    def close(self) -> None:
        self.lines.append("closes")


def runs(folder: Path, data: Features = DATA, *, count: int = 2, rate: float = 1e-2) -> list[Task]:
    settings = [
        Settings(method="hier-cos", epochs=1, refit=False, seed=seed, learning_rate=rate) for seed in range(count)
    ]
    return [Task("hier-cos", f"seed {each.seed}", data, each, folder / str(each.seed)) for each in settings]


def outcomes(
    fabric: Fabric, tasks: list[Task], folder: Path, *, jobs: int = 1, observer: Observer | None = None
) -> dict[str, Outcome]:
    found = run_tasks(fabric, tasks, folder, jobs=jobs, observer=observer)
    return {task.name: outcome for task, outcome in found}


def test_one_job_is_this_process_with_the_progress_of_each_training(fabric: Fabric, tmp_path: Path) -> None:
    notes = Notes()
    found = outcomes(fabric, runs(tmp_path), tmp_path, observer=notes)
    assert list(found) == ["hier-cos seed 0", "hier-cos seed 1"]
    assert notes.lines[:4] == ["hier-cos seed 0 begins", "epoch 1 of 1", "closes", "hier-cos seed 0 ends with progress"]


@pytest.mark.long
def test_two_processes_share_the_threads_and_the_tasks_and_end_when_one_dies(
    fabric: Fabric, tmp_path: Path, two_threads: None
) -> None:
    notes = Notes()
    found = outcomes(fabric, runs(tmp_path, count=3), tmp_path, jobs=2, observer=notes)
    environments = [each.records["none"].environment or {} for each in found.values()]
    assert [each["threads"] for each in environments] == [1, 1, 1]
    assert sorted(notes.lines) == [f"hier-cos seed {seed} ends with progress" for seed in range(3)]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0", "1", "2"]  # the shared features are gone
    with pytest.raises(TrainingError, match=r"^hier-cos seed \d: epoch 1: the loss is nan"):
        outcomes(fabric, runs(tmp_path / "hot", rate=1e30), tmp_path / "hot", jobs=2)
    with pytest.raises(JobsError, match="one of 2 processes was ended, perhaps because memory ran out"):
        outcomes(fabric, runs(tmp_path / "dead", Deadly(**as_fields(DATA))), tmp_path / "dead", jobs=2)


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits of file sizes")
def test_a_full_disk_is_one_sentence_with_the_folder(fabric: Fabric, tmp_path: Path) -> None:
    large = blob_data(TOY17, 25_000)
    with files_of_at_most(1_000_000), pytest.raises(JobsError, match=r"out: features cannot be .* File too large"):
        outcomes(fabric, runs(tmp_path / "out", large), tmp_path / "out", jobs=2)


def test_a_trial_that_fails_is_an_outcome(fabric: Fabric, tmp_path: Path) -> None:
    hot = Settings(method="hier-cos", epochs=1, learning_rate=1e30)
    (found,) = outcomes(fabric, [Task("hier-cos", "trial 0", DATA, hot)], tmp_path).values()
    assert found.progress is None
    assert found.fault is not None
    assert found.fault.startswith("epoch 1: the loss is nan")


def test_what_cannot_run_at_once_is_refused_before_anything_starts(fabric: Fabric, tmp_path: Path) -> None:
    with pytest.raises(JobsError, match="at least one job, got 0"):
        outcomes(fabric, runs(tmp_path), tmp_path, jobs=0)
    many = Fabric(accelerator="cpu", devices=2, strategy="ddp_spawn")
    with pytest.raises(JobsError, match="expected one process, got the 2"):
        outcomes(many, runs(tmp_path / "out"), tmp_path / "out", jobs=2)
    assert not (tmp_path / "out").exists()


def as_fields(features: Features) -> dict[str, object]:
    return {name: getattr(features, name) for name in ("dataset", "values", "encoder", "notes", "projection")}


def test_features_reach_another_process_as_one_array_and_come_back_equal() -> None:
    summary = DATA.summary()
    copy = pickle.loads(pickle.dumps(DATA))
    assert torch.equal(copy.values, DATA.values)
    assert copy.summary() == summary
    assert DATA.__getstate__()["values"] is DATA.__getstate__()["values"]  # joblib writes an array once
