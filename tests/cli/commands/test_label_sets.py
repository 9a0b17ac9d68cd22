"""Several labels of a sample from the command line: trained, evaluated and predicted on a graph."""

import csv
import io
from pathlib import Path

import numpy as np
import pytest
import torch

from hiercos import HierarchicalClassifier, Taxonomy
from hiercos.cli.app import run
from hiercos.model import Classifier

EDGES = "parent,child\nwater,fish\npet,fish\npet,dog\nwater,ship\n"
WORDS = {"fish": "swims fins gills", "dog": "barks fur paws", "ship": "sails mast keel"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph, texts with one or two labels, and a model of them."""
    place = tmp_path_factory.mktemp("sets")
    (place / "graph.csv").write_text(EDGES)
    generator = np.random.default_rng(0)
    with (place / "texts.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "label", "split"])
        for row in range(120):
            labels = generator.choice(list(WORDS), size=1 + row % 2, replace=False).tolist()
            text = " ".join(generator.permutation(" ".join(WORDS[label] for label in labels).split()))
            split = ("train", "train", "val", "test")[row // 2 % 4]
            writer.writerow([f"{text} {row}", " | ".join(labels), split])
    assert run(trained(place, "c-hmcnn", "model")) == 0
    return place


def trained(folder: Path, method: str, out: str) -> list[str]:
    data = ["train", str(folder / "texts.csv"), "--taxonomy", str(folder / "graph.csv"), "--device", "cpu"]
    return [*data, "--method", method, "--epochs", "20", "--out", str(folder / out)]


def test_evaluate_measures_average_precision(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["evaluate", str(folder / "model"), str(folder / "texts.csv"), "--format", "csv"]
    assert run([*command, "--metrics", "top1,average_precision"]) == 0
    captured = capsys.readouterr()
    rows = {row["metric"]: row for row in csv.DictReader(io.StringIO(captured.out))}
    assert float(rows["average_precision"]["value"]) > 0.95
    assert rows["average_precision"]["samples"] == "30"
    assert rows["top1"]["samples"] == "15"  # those with one label
    assert "15 of 30 samples have several labels" in captured.err


def test_predict_writes_the_scores_of_the_nodes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "new.csv").write_text("text\nswims fins gills sails mast keel\nbarks fur paws\n")
    assert run(["predict", str(folder / "model"), str(folder / "new.csv"), "--probabilities", "nodes"]) == 0
    both, dog = csv.DictReader(io.StringIO(capsys.readouterr().out))
    for row in (both, dog):
        assert float(row["pet"]) == max(float(row["pet > dog"]), float(row["water > fish"]), float(row["pet"]))
    assert min(float(both["water > fish"]), float(both["water > ship"]), float(both["pet"])) > 0.5 > float(dog["water"])
    assert float(dog["pet > dog"]) > 0.5 > float(both["pet > dog"])


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["train", "DATA", *("--taxonomy", "GRAPH"), *("--method", "hier-cos")], "methods that learn from several"),
        (["train", "DATA", *("--taxonomy", "GRAPH"), *("--method", "c-hmcnn", "--memory", "3")], "a memory needs one"),
        (["compare", "DATA", *("--taxonomy", "GRAPH"), *("--methods", "c-hmcnn")], "a comparison expects one of each"),
        (["compare", "DATA", *("--taxonomy", "GRAPH"), *("--methods", "logistic")], "a comparison expects one of each"),
        (["extend", "MODEL", "DATA", *("--taxonomy", "GRAPH")], "an extension expects one of each"),
    ],
    ids=["another method", "memory", "compare", "compare another method", "extend"],
)
def test_what_needs_one_label_says_so(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], command: list[str], message: str
) -> None:
    named = {"DATA": folder / "texts.csv", "GRAPH": folder / "graph.csv", "MODEL": folder / "model"}
    assert run([*(str(named.get(part, part)) for part in command), "--out", str(tmp_path / "out")]) == 2
    assert message in capsys.readouterr().err.splitlines()[-1]
    assert not (tmp_path / "out" / "config.json").exists()


def test_vectors_have_several_labels_in_a_table(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    labels = np.array([[0, 2], [1, -1], [2, -1], [0, -1]] * 10)  # fish and ship, dog, ship, fish
    features = np.stack([(labels == label).any(axis=1) for label in range(3)], axis=1).astype(np.float32)
    split = np.array(["train"] * 24 + ["val"] * 8 + ["test"] * 8)
    np.savez(tmp_path / "d.npz", features=features, labels=labels, split=split)
    given = ["--taxonomy", str(folder / "graph.csv"), "--method", "c-hmcnn", "--epochs", "20", "--device", "cpu"]
    assert run(["train", str(tmp_path / "d.npz"), *given, "--out", str(tmp_path / "m")]) == 0
    assert "Samples with several labels: AP 1.000" in capsys.readouterr().err


@pytest.fixture(scope="module")
def solved(folder: Path) -> Path:
    """A model by the method that several labels have by default."""
    given = ["train", str(folder / "texts.csv"), "--taxonomy", str(folder / "graph.csv"), "--device", "cpu"]
    assert run([*given, "--out", str(folder / "solved")]) == 0
    return folder / "solved"


def answered(model: Path, capsys: pytest.CaptureFixture[str], *options: str) -> list[dict[str, str]]:
    (model.parent / "asked.csv").write_text("text\nswims fins gills sails mast keel\nbarks fur paws\n")
    assert run(["predict", str(model), str(model.parent / "asked.csv"), *options]) == 0
    return list(csv.DictReader(io.StringIO(capsys.readouterr().out)))


def test_by_default_the_answer_is_a_set(solved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    both, dog = answered(solved, capsys)
    path = Taxonomy.read(solved.parent / "graph.csv")
    names = {name: path.path_text(path.names.index(name)) for name in ("fish", "ship", "dog")}
    assert set(both["labels"].split(" | ")) == {names["fish"], names["ship"]}
    assert dog["labels"] == names["dog"]
    assert [float(value) > 0.5 for value in both["confidence"].split(" | ")] == [True, True]
    (none,) = {row["labels"] for row in answered(solved, capsys, "--confidence", "1")}
    assert none == ""
    (only, empty) = answered(solved, capsys, "--within", "ship")
    assert (only["labels"], empty["labels"]) == (names["ship"], "")


def test_evaluate_measures_sets(solved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["evaluate", str(solved), str(solved.parent / "texts.csv"), "--format", "csv"]
    assert run([*command, "--metrics", "hf1_micro,hf1_macro,exact_match"]) == 0
    values = [float(row["value"]) for row in csv.DictReader(io.StringIO(capsys.readouterr().out))]
    assert min(values) > 0.9


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--top", "2"], "expected no top, explain or level_confidences"),
        (["--explain"], "expected no top, explain or level_confidences"),
        (["--target-containment", "0.9"], "--target-containment: expected one --confidence or a --target-precision"),
    ],
)
def test_what_a_set_does_not_have_is_an_error(
    solved: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    (solved.parent / "asked.csv").write_text("text\nbarks fur paws\n")
    assert run(["predict", str(solved), str(solved.parent / "asked.csv"), *options]) == 2
    assert message in capsys.readouterr().err.splitlines()[-1]


def test_the_estimator_has_the_model_and_the_answers_of_the_command(folder: Path, solved: Path) -> None:
    rows = list(csv.DictReader((folder / "texts.csv").read_text().splitlines()))
    texts, labels = [row["text"] for row in rows], [{*row["label"].split(" | ")} for row in rows]
    estimator = HierarchicalClassifier(str(folder / "graph.csv")).fit(texts, labels)
    command = ["train", str(folder / "unsplit.csv"), "--taxonomy", str(folder / "graph.csv"), "--no-test"]
    with (folder / "unsplit.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["text", "label"], *((row["text"], row["label"]) for row in rows)])
    assert run([*command, "--device", "cpu", "--out", str(folder / "unsplit")]) == 0
    stored = Classifier.load(folder / "unsplit")
    ours, theirs = estimator.classifier_.model.state_dict(), stored.model.state_dict()
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)
    assert estimator.rule_ == stored.rule
    found = estimator.predict(texts[:20]).tolist()
    paths = [[each["class"] for each in answer["answers"]] for answer in stored.answers(texts[:20])]
    assert [list(own) for own in found] == paths
    assert estimator.score(texts, labels) > 0.9
    saved = folder / "estimator"
    estimator.save(saved)
    assert HierarchicalClassifier.load(saved).predict(texts[:20]).tolist() == found


def test_evaluate_measures_and_lists_the_answers_of_predict(solved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["evaluate", str(solved), str(solved.parent / "texts.csv"), "--format", "csv", "--confidence", "1"]
    errors = solved.parent / "errors.csv"
    assert run([*command, "--within", "ship", "--errors", str(errors)]) == 0
    rows = {row["metric"]: row["value"] for row in csv.DictReader(io.StringIO(capsys.readouterr().out))}
    assert float(rows["hf1_micro"]) == 0
    with errors.open(newline="") as file:
        assert {row["answer"] for row in csv.DictReader(file)} == {"root"}
