import numpy as np

from hiercos import Taxonomy
from hiercos.data import Dataset, Texts, Vectors, degenerate_notes

TREE = Taxonomy.from_paths([("a", str(number)) for number in range(9)])
SPLIT = ["train", "train", "val", "test"]


def test_constant_features_and_classes_without_samples_are_counted_and_named() -> None:
    features = np.array([[1, 0, 7], [1, 2, 7], [5, 0, 7], [0, 0, 0]])
    data = Dataset("toy", TREE, Vectors(features.astype(np.float32)), TREE.leaves[[0, 3, 0, 0]], np.array(SPLIT))
    assert degenerate_notes(data) == (
        "toy: 7 of 9 classes have no training samples: 'a > 1', 'a > 2', 'a > 4', 'a > 5', 'a > 6', ….",
        "toy: 2 features never vary in training, columns 0, 2 (counted from 0).",
    )


def test_whole_data_have_no_notes() -> None:
    two = Taxonomy.from_paths([("a", "b"), ("a", "c")])
    assert (
        degenerate_notes(Dataset("toy", two, Texts(["x", "y", "z", "w"]), two.leaves[[0, 1, 0, 1]], np.array(SPLIT)))
        == ()
    )
