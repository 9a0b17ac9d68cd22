import numpy as np
import pytest

from hiercos.errors import DataError
from hiercos.evaluation import ScoreSet
from trees import TOY


def scored(*rows: list[float]) -> ScoreSet:
    return ScoreSet(np.array(rows), np.zeros(len(rows), dtype=np.int64), 3)


def test_rounded_probabilities_are_normalised() -> None:
    posterior = scored([0.5, 0.3, 0.195]).posterior(TOY, "file")
    np.testing.assert_allclose(posterior.classes, np.array([[0.5, 0.3, 0.195]]) / 0.995)


def test_classes_without_scores_have_probability_0() -> None:
    np.testing.assert_array_equal(scored([0.5, 0.5, -np.inf]).posterior(TOY, "file").classes, [[0.5, 0.5, 0]])


@pytest.mark.parametrize("row", [[0.5, 0.3, 0.22], [1.5, -0.5, 0], [np.inf, 0, 0], [0, 0, 0]])
def test_other_scores_are_refused(row: list[float]) -> None:
    with pytest.raises(DataError, match="file: row 2: expected probabilities, at least 0 and with a sum of 1, got"):
        scored([0.5, 0.3, 0.2], row).posterior(TOY, "file")
