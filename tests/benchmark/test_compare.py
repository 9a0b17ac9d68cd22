from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from lightning_fabric import Fabric

from blobs import blob_data
from colours import colour_data
from hiercos.benchmark import Entry, Outcome, Task, Tuning, compare, ship_model
from hiercos.encoders import ReadConfig
from hiercos.model import Classifier
from hiercos.records import Record, RunError
from hiercos.training import Settings, raw_features
from hiercos.training.loop import TrainingError

ENTRIES = [
    Entry(Settings(method="cross-entropy", epochs=2, batch_size=16), ("none", "crm", "hops")),
    Entry(Settings(method="hier-cos", epochs=2, batch_size=16)),
]


@pytest.fixture
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


class Beginnings:
    """An observer that remembers what began."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def begin(self, task: Task) -> None:
        self.names.append(task.name)

    def end(self, task: Task, outcome: Outcome) -> None: ...


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
    other = [Entry(replace(ENTRIES[0].settings, epochs=3))]
    with pytest.raises(RunError, match="finished run with another epochs"):
        compare(fabric, blob_data(), other, [0], tmp_path)


def test_training_that_fails_names_the_run(fabric: Fabric, tmp_path: Path) -> None:
    hopeless = [Entry(replace(ENTRIES[1].settings, learning_rate=1e30))]
    with pytest.raises(TrainingError, match=r"^hier-cos seed 3: epoch \d: the loss is nan"):
        compare(fabric, blob_data(), hopeless, [3], tmp_path)


def test_the_model_of_a_record_is_shipped_with_its_rule_and_temperature(fabric: Fabric, tmp_path: Path) -> None:
    records = compare(fabric, blob_data(), ENTRIES[:1], [3], tmp_path / "out")
    ship_model(records[2], tmp_path / "out", tmp_path / "shipped")
    shipped, run = Classifier.load(tmp_path / "shipped"), Classifier.load(tmp_path / "out/runs/cross-entropy/seed-3")
    assert shipped.rule.to_dict() == records[2].fitted_rule
    assert (run.rule.name, shipped.temperature) == ("none", records[2].temperature)
    assert Record.read(tmp_path / "shipped", "hops") == records[2]


def test_a_method_that_is_another_one_with_a_backbone_has_its_folder(fabric: Fabric, tmp_path: Path) -> None:
    options = {"width": 1, "size": 8}
    data = raw_features(ReadConfig(fabric), colour_data(), "wide-resnet-28", options, pretrained=False)
    (record,) = compare(fabric, data, [Entry(Settings(epochs=1))], [0], tmp_path)
    assert record.method != "default"
    assert Record.read(tmp_path / "runs" / record.method / "seed-0") == record
