"""A tree of many classes through train, predict and evaluate: the same answers as with the scores of all classes."""

import csv
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import hiercos.benchmark.compare  # noqa: F401  # for its name below
from hiercos import HierarchicalClassifier, Taxonomy
from hiercos.cli.app import run
from hiercos.data import load_dataset
from hiercos.methods import model as model_module
from hiercos.records import Record
from hiercos.training import fits as fits_module
from hiercos.training import settings as settings_module

DATA = "icd10cm:10"


def trained(folder: Path, *options: str) -> None:
    assert run(["train", DATA, "--out", str(folder), "--device", "cpu", *options]) == 0


def table(path: Path, *command: str) -> list[dict[str, str]]:
    assert run([*command, "--output", str(path)]) == 0
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Models of the same data, one of them as if its classes were many, and rows to predict."""
    folder = tmp_path_factory.mktemp("many")
    texts = load_dataset(DATA).inputs.values(range(60))
    (folder / "rows.csv").write_text("text\n" + "\n".join(f'"{text}"' for text in texts) + "\n", encoding="utf-8")
    trained(folder / "few", "--method", "siblings")
    with pytest.MonkeyPatch.context() as patch:
        many(patch)
        trained(folder / "many")
    return folder


def many(patch: pytest.MonkeyPatch) -> None:
    """Count the classes of the data as many."""
    compare_module = sys.modules["hiercos.benchmark.compare"]
    for module in (compare_module, model_module, fits_module, settings_module):
        patch.setattr(module, "MANY_CLASSES", 20)


def test_the_default_searches_where_classes_are_many_and_stores_no_scores(folder: Path) -> None:
    one, other = (Record.read(folder / name) for name in ("few", "many"))
    assert other.method == "siblings"
    for name in ("top1", "ahd_at_20", "hops_at_5", "hops", "accuracy_level_1", "log_loss"):
        assert other.metrics[name] == pytest.approx(one.metrics[name], rel=0.02), name
    assert not list((folder / "many").rglob("scores.npz"))
    assert list((folder / "few").rglob("scores.npz"))


@pytest.mark.parametrize(
    "options",
    [
        ["--top", "5"],
        ["--confidence", "0.9"],
        ["--within", "Influenza and pneumonia"],
        ["--probabilities", "levels"],
        [],
    ],
)
def test_answers_are_those_of_all_classes(folder: Path, monkeypatch: pytest.MonkeyPatch, options: list[str]) -> None:
    command = ["predict", str(folder / "many"), str(folder / "rows.csv"), *options]
    whole = table(folder / "whole.csv", *command)
    many(monkeypatch)
    searched = table(folder / "searched.csv", *command)
    assert len(searched) == len(whole) >= 60
    for one, other in zip(whole, searched, strict=True):
        for name, value in one.items():
            if name == "score" and "--within" in options:  # the logarithm of the probability that is left
                continue
            if name in {"score", "confidence", "next_confidence"} or name.endswith("_confidence"):
                assert float(other[name] or 0) == pytest.approx(float(value or 0), abs=1e-4)
            else:
                assert other[name] == value


def test_evaluate_measures_lists_and_refuses_orders_of_all_classes(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["evaluate", str(folder / "many"), DATA, "--format", "csv"]
    whole = table(folder / "whole.csv", *command)
    many(monkeypatch)
    monkeypatch.setattr("hiercos.model.scoring.ORDERED", 20)
    searched = {row["metric"]: row for row in table(folder / "searched.csv", *command)}
    assert searched["hops"]["samples"] == "20"
    for row in whole:
        if row["metric"] in {"top1", "ahd_at_5", "hops_at_20", "log_loss", "top5", "macro_accuracy"}:
            other = searched[row["metric"]]
            np.testing.assert_allclose(float(other["value"]), float(row["value"]), atol=1e-5, err_msg=row["metric"])
    assert run([*command, "--rule", "hops"]) == 2
    assert "rule 'hops' orders all 33 classes: expected none, auto or back-off" in capsys.readouterr().err


def test_the_estimator_gives_the_probabilities_of_sparse_and_dense_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    many(monkeypatch)
    names = [f"class {number}" for number in range(20)]
    taxonomy = Taxonomy.from_paths([(f"branch {number % 4}", name) for number, name in enumerate(names)])
    vectors = np.tile(np.eye(20), (3, 1))
    classifier = HierarchicalClassifier(taxonomy).fit(csr_matrix(vectors), names * 3)
    probabilities = classifier.predict_proba(vectors[:20])
    assert classifier.classes_[probabilities.argmax(axis=1)].tolist() == names
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    np.testing.assert_array_equal(classifier.predict_proba(csr_matrix(vectors[:20])), probabilities)
    assert classifier.predict_node_proba(vectors[:2]).shape == (2, taxonomy.num_nodes)


def test_a_rule_that_orders_all_classes_is_refused_before_the_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    many(monkeypatch)
    monkeypatch.delattr("hiercos.training.fits.fit")
    assert run(["train", DATA, "--rule", "crm", "--device", "cpu", "--out", str(tmp_path / "m")]) == 2
    assert "rule 'crm' orders all 33 classes" in capsys.readouterr().err


def test_a_comparison_refuses_many_classes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    many(monkeypatch)
    assert run(["compare", DATA, "--methods", "siblings", "--out", str(tmp_path / "out")]) == 2
    assert "a comparison orders all classes, of which it expects fewer than" in capsys.readouterr().err
