import numpy as np

from hiercos.engine import GrowthAccuracy


def right(*values: bool) -> "np.ndarray":
    return np.array(values, dtype=bool)


def test_old_and_new_classes_are_reported_apart() -> None:
    remembered = np.stack([right(True, True, True, False), right(True, True, True, True)])
    found = GrowthAccuracy(right(True, False), np.array([[True], [False]]), remembered)
    assert found.lines() == [
        "New classes: top-1 50.00% of 2 test rows.",
        "Old classes: top-1 100.00% of 1 test row; the old model: 0.00%.",
        "Old classes: top-1 75.00% of 4 remembered samples kept for validation; the old model, which was trained on "
        "them: 100.00%.",
    ]


def test_what_cannot_be_measured_is_said() -> None:
    none = np.zeros((2, 0), dtype=bool)
    assert GrowthAccuracy(right(), none, none).lines() == [
        "New classes: not measured, the data have no test rows of them.",
        "Old classes: not measured, there are no test rows or remembered samples of them; hiercos evaluate measures "
        "the model on other data.",
    ]
