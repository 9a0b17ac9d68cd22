"""The setting `class_prior` in train and compare, on classes of which one is rare."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from hiercos.cli.app import run
from hiercos.sklearn import HierarchicalClassifier
from hiercos.storage import opened
from trees import TOY

SMALL = ["--epochs", "10", "--lr", "0.05", "--device", "cpu"]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder, generator = tmp_path_factory.mktemp("data"), np.random.default_rng(0)
    labels = generator.choice(3, size=3000, p=[0.75, 0.2, 0.05])
    features = generator.normal(size=(3000, 4)) + 2 * np.eye(3, 4)[labels]
    np.savez(folder / "data.npz", features=features.astype(np.float32), labels=labels)
    TOY.write(folder / "tree.json")
    return [str(folder / "data.npz"), "--taxonomy", str(folder / "tree.json")]


def macro(path: Path) -> dict[str, float]:
    with path.open(encoding="utf-8") as file:
        return {row["rule"]: float(row["macro_accuracy"]) for row in csv.DictReader(file)}


def test_equal_priors_raise_macro_accuracy(data: list[str], tmp_path: Path) -> None:
    shared = ["--methods", "cross-entropy", "--seeds", "1", "--rules", "none,crm", *SMALL]
    assert run(["compare", *data, "--out", str(tmp_path / "plain"), *shared]) == 0
    assert run(["compare", *data, "--out", str(tmp_path / "even"), "--set", "class_prior=balanced", *shared]) == 0
    plain, even = (macro(tmp_path / name / "results.csv") for name in ("plain", "even"))
    assert even["none"] > plain["none"] + 0.05
    assert even["crm"] > plain["crm"] + 0.05


def test_a_model_with_a_prior_answers_the_same_in_every_program(
    data: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tmp_path / "model"
    train = [
        "train",
        *data,
        "--method",
        "cross-entropy",
        "--set",
        "class_prior=[0.1, 0.1, 0.8]",
        "--out",
        str(model),
        *SMALL,
    ]
    assert run(train) == 0
    assert len(json.loads((model / "config.json").read_text(encoding="utf-8"))["class_weights"]) == 3
    capsys.readouterr()
    assert run(["predict", str(model), data[0]]) == 0
    predicted = [row["class"] for row in csv.DictReader(capsys.readouterr().out.splitlines())]
    with np.load(data[0]) as arrays:
        loaded = HierarchicalClassifier.load(model)
        assert predicted == list(loaded.predict(arrays["features"]))
        assert predicted.count("car") > 2 * (arrays["labels"] == 2).sum()
    loaded.save(tmp_path / "again")
    assert opened(tmp_path / "again").config == opened(model).config
