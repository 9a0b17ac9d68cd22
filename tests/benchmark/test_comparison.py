from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from lightning_fabric import Fabric

from blobs import blob_data
from hiercos.benchmark import Entry, Tuning, compare, learning_curves, linked_files
from hiercos.benchmark.jobs import NullObserver, Result, Task
from hiercos.engine import RunError, TrainConfig
from hiercos.engine.training import TrainingError
from hiercos.records import Record

ENTRIES = [
    Entry(TrainConfig(method="cross-entropy", epochs=2, batch_size=16), ("none", "crm", "hops")),
    Entry(TrainConfig(method="hier-cos", epochs=2, batch_size=16)),
]


@pytest.fixture(scope="module")
def fabric() -> Fabric:
    fabric = Fabric(accelerator="cpu", devices=1)
    fabric.launch()
    return fabric


@pytest.fixture
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


class Beginnings(NullObserver):
    """An observer that remembers what began."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def begin(self, task: Task[Result]) -> None:
        self.names.append(task.name)


def without_times(record: Record) -> dict[str, object]:
    """A record as values that can be compared: nan equals nan, and time is left out."""
    history = [{**epoch, "seconds": 0.0} for epoch in record.history]
    metrics = {name: str(value) for name, value in record.metrics.items()}
    return {**vars(record), "history": history, "metrics": metrics, "train_seconds": 0.0}


def written_times(folder: Path) -> dict[Path, int]:
    return {file: file.stat().st_mtime_ns for file in folder.rglob("*") if file.is_file()}


def test_every_method_meets_every_seed_and_nothing_runs_twice(fabric: Fabric, tmp_path: Path) -> None:
    seen = Beginnings()
    first = compare(fabric, blob_data(), ENTRIES, [4, 5], tmp_path, observer=seen)
    assert seen.names == ["cross-entropy seed 4", "cross-entropy seed 5", "hier-cos seed 4", "hier-cos seed 5"]
    assert [(record.method, record.rule, record.seed) for record in first] == [
        *(("cross-entropy", rule, seed) for rule in ("none", "crm", "hops") for seed in (4, 5)),
        *(("hier-cos", "none", seed) for seed in (4, 5)),
    ]
    files = written_times(tmp_path)
    assert len([file for file in files if file.name == "model.safetensors"]) == 4
    again = compare(fabric, blob_data(), ENTRIES, [4, 5], tmp_path)
    assert [without_times(record) for record in again] == [without_times(record) for record in first]
    assert written_times(tmp_path) == files


def test_equal_files_of_all_runs_and_of_all_points_of_a_curve_are_stored_once(
    fabric: Fabric, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(linked_files, "LEAST_LINKED", 1)
    solved = Entry(TrainConfig(method="gaussian"))  # its weights do not depend on the seed
    compare(fabric, blob_data(), [solved], [0, 1], tmp_path)
    learning_curves(fabric, blob_data(), [(1000, [solved]), (None, [solved])], [0], tmp_path)
    for folder in ("runs", "shots"):
        one, two = (tmp_path / folder).rglob("model.safetensors")
        assert one.samefile(two)


@pytest.mark.long
def test_runs_and_trials_at_once_give_the_same_records_as_in_turn(
    fabric: Fabric, tmp_path: Path, one_thread: None
) -> None:
    in_turn, at_once = tmp_path / "in turn", tmp_path / "at once"
    tuning = Tuning(trials=2)
    expected = compare(fabric, blob_data(), ENTRIES, [0, 1], in_turn, tuning=tuning)
    found = compare(fabric, blob_data(), ENTRIES, [0, 1], at_once, tuning=tuning, jobs=2)
    assert [without_times(record) for record in found] == [without_times(record) for record in expected]
    weights = {file.relative_to(in_turn): file.read_bytes() for file in in_turn.rglob("model.safetensors")}
    assert {file.relative_to(at_once): file.read_bytes() for file in at_once.rglob("model.safetensors")} == weights
    files = written_times(at_once)
    again = compare(fabric, blob_data(), ENTRIES, [0, 1], at_once, tuning=tuning)
    assert [without_times(record) for record in again] == [without_times(record) for record in found]
    assert written_times(at_once) == files


def test_a_folder_of_another_comparison_is_refused(fabric: Fabric, tmp_path: Path) -> None:
    compare(fabric, blob_data(), ENTRIES[:1], [0], tmp_path)
    other = [Entry(replace(ENTRIES[0].config, epochs=3))]
    with pytest.raises(RunError, match="finished run with another epochs"):
        compare(fabric, blob_data(), other, [0], tmp_path)


def test_training_that_fails_names_the_run(fabric: Fabric, tmp_path: Path) -> None:
    hopeless = [Entry(replace(ENTRIES[1].config, learning_rate=1e30))]
    with pytest.raises(TrainingError, match=r"^hier-cos seed 3: epoch \d: the loss is nan"):
        compare(fabric, blob_data(), hopeless, [3], tmp_path)
