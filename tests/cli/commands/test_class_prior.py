"""`--class-prior` of train and compare, on classes of which one is rare."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from hiercos.cli.app import run
from hiercos.sklearn import HierarchicalClassifier
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
    assert run(["compare", *data, "--out", str(tmp_path / "even"), "--class-prior", "balanced", *shared]) == 0
    plain, even = (macro(tmp_path / name / "results.csv") for name in ("plain", "even"))
    assert even["none"] > plain["none"] + 0.05
    assert even["crm"] > plain["crm"] + 0.05


def test_a_model_with_a_prior_answers_the_same_in_every_program(
    data: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prior, model = tmp_path / "prior.csv", tmp_path / "model"
    prior.write_text("class,prior\ncat,1\ndog,1\ncar,8\n", encoding="utf-8")
    train = ["train", *data, "--method", "cross-entropy", "--class-prior", str(prior), "--out", str(model), *SMALL]
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
    assert (tmp_path / "again" / "config.json").read_text() == (model / "config.json").read_text()


@pytest.mark.parametrize("given", ["even", "missing.csv"])
def test_a_prior_that_is_no_file_is_refused_before_anything_is_read(
    data: list[str], tmp_path: Path, given: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["train", *data, "--class-prior", given, "--out", str(tmp_path / "model")]) == 2
    assert f"--class-prior {given}: expected balanced or a CSV file" in capsys.readouterr().err
    assert not (tmp_path / "model").exists()
