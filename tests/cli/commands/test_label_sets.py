"""Several labels of a sample from the command line: trained, evaluated and predicted on a graph."""

import csv
import io
from pathlib import Path

import numpy as np
import pytest

from hiercos.cli.app import run

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
    assert "Average precision of the nodes: 1.0000." in capsys.readouterr().err
