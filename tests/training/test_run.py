import csv
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from lightning_fabric import Fabric

from blobs import blob_data
from hiercos.model import Classifier, evaluate_scores
from hiercos.records import Record, RunError
from hiercos.storage import StorageError
from hiercos.training import Settings, train
from hiercos.training.run_records import environment

CONFIG = Settings("hier-cos", epochs=4, batch_size=16, learning_rate=0.01, seed=3)


@pytest.fixture(scope="module")
def finished(fabric: Fabric, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a finished run, which tests copy before they change it."""
    folder = tmp_path_factory.mktemp("finished") / "run"
    train(blob_data(), CONFIG, fabric=fabric, folder=folder)
    return folder


def test_a_run_leaves_its_record_model_scores_and_log(fabric: Fabric, finished: Path) -> None:
    data, folder, record = blob_data(), finished, Record.read(finished)
    assert {file.name for file in folder.iterdir()} == {
        "config.json",
        "held-out",
        "log.csv",
        "model.safetensors",
        "record.json",
        "taxonomy.json",
        "test",
    }
    assert record.config["seed"] == record.seed == 3
    test = data.samples("test")
    stored = Classifier.load(folder)
    tested = evaluate_scores(fabric, stored.model, test, temperature=stored.temperature)
    assert tested.metrics == pytest.approx(record.metrics, nan_ok=True)
    logs = (torch.from_numpy(tested.scores.of_probabilities).double() / stored.temperature).log_softmax(dim=1)
    assert record.metrics["log_loss"] == pytest.approx(F.nll_loss(logs, test.labels).item(), rel=1e-12)
    with np.load(folder / "test" / "scores.npz") as file:
        scores = dict(file)
    assert scores["scores"].shape == (len(test), 3)
    assert (scores["scores"].argmax(axis=1) == scores["labels"]).mean() == record.metrics["top1"]
    log = list(csv.DictReader((folder / "log.csv").read_text().splitlines()))
    assert [int(row["number"]) for row in log] == [1, 2, 3, 4]


def test_a_finished_run_is_returned_and_not_run_again(fabric: Fabric, finished: Path) -> None:
    weights = (finished / "model.safetensors").stat().st_mtime_ns
    records = train(blob_data(), CONFIG, fabric=fabric, folder=finished, resume=True).records
    assert records == {"none": Record.read(finished)}
    assert (finished / "model.safetensors").stat().st_mtime_ns == weights


def test_a_folder_with_a_run_is_never_overwritten(fabric: Fabric, finished: Path) -> None:
    with pytest.raises(RunError, match="already holds a finished run"):
        train(blob_data(), CONFIG, fabric=fabric, folder=finished)
    with pytest.raises(RunError, match="finished run with another epochs"):
        train(blob_data(), replace(CONFIG, epochs=5), fabric=fabric, folder=finished, resume=True)
    with pytest.raises(RunError, match="finished run with another data"):
        train(blob_data(count=150), CONFIG, fabric=fabric, folder=finished, resume=True)


def test_a_record_says_what_can_change_the_last_bits(finished: Path) -> None:
    record = Record.read(finished)
    assert record.environment is not None
    assert record.environment["threads"] == torch.get_num_threads()
    assert (record.environment["device"], record.environment["processes"]) == ("cpu", 1)
    assert {"cpu", "mkldnn", "cuda", "deterministic", "device_name"} <= record.environment.keys()
    on_mps: Any = SimpleNamespace(device=torch.device("mps"), world_size=1)  # which has no name of its own
    assert environment(on_mps)["device_name"] == record.environment["device_name"]


def test_checkpoints_beside_a_finished_run_are_swept_by_the_next_one(
    fabric: Fabric, finished: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(finished, tmp_path / "run"))
    for name in ("checkpoint", ".hiercos-dead.tmp"):
        (folder / name).touch()
    before = {file.name: file.read_bytes() for file in folder.glob("[!.]*.*") if not file.name.startswith("check")}
    train(blob_data(), CONFIG, fabric=fabric, folder=folder, resume=True)
    assert {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()} == before


def test_a_damaged_file_of_a_finished_run_is_named(fabric: Fabric, finished: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(finished, tmp_path / "run"))
    for name in ("record.json", "test/scores.npz", "model.safetensors", "taxonomy.json"):
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content + b" ")
        with pytest.raises(StorageError, match=f"{name}: the file was changed after it was written"):
            train(blob_data(), CONFIG, fabric=fabric, folder=folder, resume=True, rules=("crm",))
        (folder / name).write_bytes(content)
