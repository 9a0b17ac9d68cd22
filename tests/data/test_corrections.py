"""Decisions of people as training rows."""

import json
from pathlib import Path

import numpy as np
import pytest

from hiercos.data import Dataset, Texts, Vectors, read_corrections, with_corrections
from hiercos.errors import DataError
from trees import TOY

TEXTS = ["a cat", "a dog", "a car", "a truck", "a bird", "a bike"]


def decision(text: str, node: str | None, who: str = "ann", kind: str = "") -> dict[str, object]:
    return {"text": text, "decision": kind or ("node" if node else "none"), "node": node, "who": who}


def written(path: Path, *decisions: dict[str, object]) -> Path:
    path.write_text("".join(json.dumps(each) + "\n" for each in decisions))
    return path


def dataset() -> Dataset:
    split = np.array(["train", "train", "train", "val", "test", "test"])
    return Dataset("toy", TOY, Texts(TEXTS), TOY.leaves[[0, 1, 2, 2, 0, 2]], split)


def test_corrected_rows_are_training_rows_and_replace_those_of_their_content(tmp_path: Path) -> None:
    path = written(
        tmp_path / "c.jsonl", decision("A  Bird", "pet"), decision("new", "vehicle > car"), decision("a dog", None)
    )
    found = with_corrections(dataset(), path)
    assert list(found.inputs.values(range(len(found)))) == ["a cat", "a car", "a truck", "a bike", "A  Bird", "new"]
    assert found.split.tolist() == ["train", "train", "val", "test", "train", "train"]
    assert [TOY.names[node] for node in found.nodes] == ["cat", "car", "car", "car", "pet", "car"]
    assert found.notes[-1].endswith("2 corrected rows are learned from; they replace 2 rows.")


def test_later_decisions_win_and_undo_takes_the_last_one_back(tmp_path: Path) -> None:
    path = written(
        tmp_path / "c.jsonl",
        decision("one", "cat"),
        decision("one", "dog", "bob"),
        decision("one", "car"),
        decision("two", "cat"),
        decision("two", None, kind="skip"),
        decision("three", "cat"),
        decision("three", None, kind="undo"),
    )
    assert [(each.shown, each.node, each.who) for each in read_corrections(path)] == [
        ("one", "dog", "bob"),
        ("one", "car", "ann"),
        ("two", "cat", "ann"),
    ]
    found = with_corrections(dataset(), path)
    assert [TOY.names[node] for node in found.nodes[-2:]] == ["car", "cat"]


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ('{"text": "a"}', r"c.jsonl: row 1: expected a decision"),
        ('{"text": "a", "decision": "node", "who": "ann"}', r"c.jsonl: row 1: expected a decision"),
        ('{"text": "a", "decision": "node", "node": "fish", "who": "ann"}', r"c.jsonl: row 1: unknown label 'fish'"),
        ("[]", r"c.jsonl: row 1: expected a JSON object"),
    ],
)
def test_a_line_that_is_no_decision_is_named(tmp_path: Path, line: str, sentence: str) -> None:
    (tmp_path / "c.jsonl").write_text(line + "\n")
    with pytest.raises(DataError, match=sentence):
        with_corrections(dataset(), tmp_path / "c.jsonl")


def test_vectors_cannot_be_corrected(tmp_path: Path) -> None:
    data = Dataset("toy", TOY, Vectors(np.eye(3)), TOY.leaves[[0, 1, 2]], np.array(["train"] * 3), purpose="train")
    with pytest.raises(DataError, match="corrections are of texts and image files"):
        with_corrections(data, written(tmp_path / "c.jsonl", decision("a", "cat")))
