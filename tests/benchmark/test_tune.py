import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from lightning_fabric import Fabric

from blobs import blob_data
from hiercos.benchmark import Entry, Tuning, compare
from hiercos.benchmark.tune import Tuned, TuningError, searched_settings, spaces, trial_settings, tune
from hiercos.encoders import LabelledVectors
from hiercos.errors import FaultsError
from hiercos.records import Record
from hiercos.training import Features, Settings
from trees import TOY

CONFIG = Settings(method="hier-cos", epochs=2, batch_size=16, options={"width": 16, "dropout": 0.1}, seed=3)
FLAT = Settings(method="cross-entropy", epochs=2, batch_size=16, seed=3)


@dataclass(frozen=True)
class Untestable(Features):
    """Data whose test split blows up when it is read."""

    def samples(self, split: str) -> LabelledVectors:
        if split == "test":
            raise AssertionError("the test split was read")
        return super().samples(split)


def untestable() -> Features:
    return Untestable(**vars(blob_data()))


def search(fabric: Fabric, folder: Path, *configs: Settings, tuning: Tuning, data: Features) -> list[Tuned]:
    return tune(fabric, data, configs, tuning, folder)


def test_a_search_never_reads_the_test_split(fabric: Fabric, tmp_path: Path) -> None:
    data = untestable()
    with pytest.raises(AssertionError, match="the test split was read"):
        compare(fabric, data, [Entry(CONFIG)], [3], tmp_path / "runs")
    tuned = search(fabric, tmp_path, CONFIG, FLAT, tuning=Tuning(3), data=data)
    assert [each.settings.method for each in tuned] == ["hier-cos", "cross-entropy"]


def test_labels_of_the_test_split_change_nothing_in_a_search(fabric: Fabric, tmp_path: Path) -> None:
    data = blob_data()
    nodes = data.dataset.nodes.copy()
    nodes[data.dataset.rows("test")] = TOY.leaves[0]
    poisoned = replace(data, dataset=replace(data.dataset, nodes=nodes))
    (clean,) = search(fabric, tmp_path / "clean", CONFIG, tuning=Tuning(3), data=data)
    (other,) = search(fabric, tmp_path / "poisoned", CONFIG, tuning=Tuning(3), data=poisoned)
    assert (other.settings, other.summary) == (clean.settings, clean.summary)


def test_the_record_says_what_was_searched_on_what_and_what_was_chosen(fabric: Fabric, tmp_path: Path) -> None:
    entry = Entry(CONFIG, ("none", "crm"))
    records = compare(fabric, blob_data(), [entry], [3, 4], tmp_path, tuning=Tuning(4, "top1"))
    tuning = records[0].tuning
    assert tuning is not None
    assert all(record.tuning == tuning for record in records)
    assert (tuning["budget"], tuning["criterion"], tuning["split"], tuning["seed"]) == (4, "top1", "val", 3)
    trials = tuning["trials"]
    assert [trial["number"] for trial in trials] == [0, 1, 2, 3]
    given = {"learning_rate": 3e-3, "weight_decay": 1e-2, "dropout": 0.1, "exponent": 2.0}
    assert trials[0]["settings"] == given
    assert tuning["chosen"] == max(range(4), key=lambda number: trials[number]["top1"])
    chosen = trials[tuning["chosen"]]["settings"]
    assert searched_settings(Settings(**records[0].config)) == chosen
    assert records[0].config["options"]["width"] == 16
    for rule in ("none", "crm"):
        assert Record.read(tmp_path / "runs" / "hier-cos" / "seed-4", rule).tuning == tuning
    first = records[0]
    assert first.history[first.best_epoch - 1]["top1"] == trials[tuning["chosen"]]["top1"]  # the seed of the trials


def test_a_longer_search_goes_on_from_a_shorter_one(fabric: Fabric, tmp_path: Path) -> None:
    search(fabric, tmp_path, FLAT, tuning=Tuning(2), data=blob_data())
    place = tmp_path / "tuning" / "cross-entropy"
    before = (place / "trial-1.json").stat().st_mtime_ns
    (tuned,) = search(fabric, tmp_path, FLAT, tuning=Tuning(3), data=blob_data())
    assert len(tuned.summary["trials"]) == 3
    assert (place / "trial-1.json").stat().st_mtime_ns == before
    assert {file.name for file in place.iterdir()} == {f"trial-{number}.json" for number in range(3)}


def test_trials_of_other_settings_and_other_files_are_refused(fabric: Fabric, tmp_path: Path) -> None:
    search(fabric, tmp_path, FLAT, tuning=Tuning(1), data=blob_data())
    with pytest.raises(TuningError, match=r"trial-0\.json: a finished trial with another epochs; choose"):
        search(fabric, tmp_path, replace(FLAT, epochs=3), tuning=Tuning(1), data=blob_data())
    (tmp_path / "tuning" / "cross-entropy" / "trial-0.json").write_text("[]")
    with pytest.raises(TuningError, match=r"trial-0\.json: expected an object, got list"):
        search(fabric, tmp_path, FLAT, tuning=Tuning(1), data=blob_data())


def test_a_trial_that_cannot_be_trained_is_noted_and_never_chosen(fabric: Fabric, tmp_path: Path) -> None:
    search(fabric, tmp_path, FLAT, tuning=Tuning(1), data=blob_data())
    file = tmp_path / "tuning" / "cross-entropy" / "trial-0.json"
    stored = json.loads(file.read_text())
    stored["result"] |= {"top1": None, "hops": None, "best_epoch": 0, "fault": "epoch 1: the loss is nan"}
    file.write_text(json.dumps(stored))
    (tuned,) = search(fabric, tmp_path, FLAT, tuning=Tuning(2), data=blob_data())
    assert tuned.summary["chosen"] == 1
    assert tuned.summary["trials"][0] == stored["result"]


def test_a_search_in_which_every_trial_fails_says_how(fabric: Fabric, tmp_path: Path) -> None:
    hot = replace(CONFIG, learning_rate=1e30)
    with pytest.raises(TuningError, match=r"^hier-cos: training failed in every trial, in trial 0 with: epoch 1: the"):
        search(fabric, tmp_path, hot, tuning=Tuning(2), data=blob_data())
    stored = json.loads((tmp_path / "tuning" / "hier-cos" / "trial-1.json").read_text())
    assert stored["result"]["hops"] is None
    assert stored["result"]["fault"].startswith("epoch 1: the loss is")


def test_a_search_without_validation_samples_is_refused(fabric: Fabric, tmp_path: Path) -> None:
    data = blob_data()
    unvalidated = data.take(np.flatnonzero(data.dataset.split != "val"))
    with pytest.raises(TuningError, match="blobs: a search needs validation samples"):
        search(fabric, tmp_path, FLAT, tuning=Tuning(1), data=unvalidated)


def test_trials_are_drawn_by_seed_and_number_with_the_same_shared_settings_for_every_method() -> None:
    shared = ("learning_rate", "weight_decay", "dropout")
    for number in range(1, 6):
        settings = searched_settings(trial_settings(CONFIG, number))
        assert settings == searched_settings(trial_settings(CONFIG, number))
        assert all(value in spaces(CONFIG)[name] for name, value in settings.items())
        for method in ("haframe", "soft-labels", "cross-entropy-mlp"):
            others = searched_settings(trial_settings(replace(CONFIG, method=method), number))
            assert {name: others[name] for name in shared} == {name: settings[name] for name in shared}
        flat = searched_settings(trial_settings(FLAT, number))
        assert flat == {name: settings[name] for name in shared[:2]}
        assert settings != searched_settings(trial_settings(replace(CONFIG, seed=9), number))


@pytest.mark.parametrize(("trials", "criterion", "fault"), [(0, "hops", "at least one trial"), (2, "ms", "hops, top1")])
def test_an_impossible_search_is_refused(trials: int, criterion: str, fault: str) -> None:
    with pytest.raises(FaultsError, match=fault):
        Tuning(trials, criterion)  # type: ignore[arg-type]
