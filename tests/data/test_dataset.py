from dataclasses import replace

import numpy as np
import pytest

from hiercos.data import Dataset, Texts, Vectors
from hiercos.errors import DataError
from trees import TOY

SPLIT = np.array(["train", "train", "val", "test"])
NODES = TOY.leaves[[0, 1, 2, 0]]
TEXTS = Dataset("toy", TOY, Texts(("a cat", "a dog", "a car", "my cat")), NODES, SPLIT)
VECTORS = Dataset("toy", TOY, Vectors(np.arange(8, dtype=np.float64).reshape(4, 2)), NODES, SPLIT, source="toy.npz")


def test_the_rows_of_a_split_are_indices_in_order() -> None:
    assert [TEXTS.rows(split).tolist() for split in ("train", "val", "test")] == [[0, 1], [2], [3]]


def test_the_arrays_are_read_only() -> None:
    for array in (np.asarray(VECTORS.inputs), VECTORS.nodes, VECTORS.labels, VECTORS.split):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = array[1]


@pytest.mark.parametrize(
    "change",
    [
        {"inputs": Texts(["a cat", "a dog", "a car", "my dog"])},
        {"inputs": Texts(["a ca", "ta dog", "a car", "my cat"])},
        {"nodes": TOY.leaves[[0, 1, 2, 1]]},
        {"split": np.array(["train", "train", "test", "val"])},
        {"inputs": VECTORS.inputs},
    ],
)
def test_the_fingerprint_changes_with_the_content(change: dict) -> None:
    assert replace(TEXTS, **change).fingerprint != TEXTS.fingerprint


def test_the_fingerprint_does_not_change_with_the_name() -> None:
    assert replace(TEXTS, name="other", source="elsewhere.csv", notes=("A note.",)).fingerprint == TEXTS.fingerprint
    assert TEXTS.fingerprint == "7cbb37e3f44a38ee1789747c20430bd93030f747ab8e6294583aca4c5e58bf73"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"nodes": np.array([0, 1])},
            "toy.npz: expected a node and a split for each of the 4 samples, "
            "got nodes of shape (2,) and splits of shape (4,)",
        ),
        (
            {"inputs": Vectors(np.array([[1, 2], [3, np.nan], [5, 4], [5, 6]]))},
            "toy.npz: row 2, column 2 (features[1, 1]): expected a finite number, got nan",
        ),
        (
            {"inputs": Vectors(np.array([[1, 2], [3, np.nan], [np.inf, np.nan], [5, np.inf]]))},
            "toy.npz: row 2, column 2 (features[1, 1]): expected a finite number, got nan; "
            "such values are in 3 of 4 rows and 2 of 2 columns",
        ),
        ({"inputs": Vectors(np.zeros(4))}, "toy.npz: expected vectors of shape (samples, features), got (4,)"),
        (
            {"inputs": Texts(["a cat", " ", "a car", ""])},
            "toy.npz: row 2: the text is empty\ntoy.npz: row 4: the text is empty",
        ),
        ({"nodes": np.array([0, 1, 2, 5])}, "toy.npz: expected nodes from -1 (the root) to 4, got 5"),
        (
            {"split": np.array(["train", "train", "val", "val"])},
            "toy.npz: no row belongs to the split 'test'; expected rows of train and test",
        ),
        (
            {"split": np.array(["val", "val", "val", "test"]), "purpose": "extend"},
            "toy.npz: no row belongs to the split 'train'; expected rows of train",
        ),
        (
            {"nodes": TOY.leaves[[1, 1, 1, 0]]},
            "toy.npz: every training sample has the label 'pet > dog'; expected at least two classes",
        ),
        (
            {"nodes": np.array([-1, -1, -1, 0])},
            "toy.npz: every training sample has the label the root; expected at least two classes",
        ),
        (
            {"inputs": Texts([]), "nodes": np.zeros(0, dtype=int), "split": np.zeros(0, dtype="U5")},
            "toy.npz: expected at least one sample, got none",
        ),
    ],
)
def test_data_that_cannot_be_used_are_named(change: dict, message: str) -> None:
    with pytest.raises(DataError) as error:
        replace(VECTORS, **change)
    assert str(error.value) == message


def test_data_that_extend_a_model_need_training_rows_of_one_label_alone() -> None:
    found = replace(VECTORS, split=np.full(4, "train"), nodes=np.ones(4, dtype=int), purpose="extend")
    assert (len(found.rows("train")), len(found.rows("val")), len(found.rows("test"))) == (4, 0, 0)


def test_some_rows_of_a_data_set_keep_their_sets_of_labels() -> None:
    sets = np.array([[2, 4], [3, -1], [4, -1], [2, 3]])
    whole = replace(TEXTS, nodes=np.array([-1, 3, 4, -1]), label_sets=sets)
    part = whole.take(np.array([3, 0, 2]))
    assert [part.inputs.values([row]) for row in range(3)] == [["my cat"], ["a cat"], ["a car"]]
    assert part.split.tolist() == ["test", "train", "val"]
    assert (part.nodes.tolist(), part.labels.tolist()) == ([-1, -1, 4], [8, 8, 2])
    assert part.label_sets is not None
    assert part.label_sets.tolist() == [[2, 3], [2, 4], [4, -1]]
    assert TEXTS.take(np.array([0, 1, 2, 3])).fingerprint == TEXTS.fingerprint
