import pytest
import torch

from hiercos.decisions import predicted_classes, predicted_paths
from trees import TOY


def test_the_lower_class_wins_among_equal_scores() -> None:
    scores = torch.tensor([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0], [0.0, -1.0, 5.0]])
    assert predicted_classes(scores).tolist() == [1, 0, 2]


def test_the_path_is_that_of_the_winning_class() -> None:
    paths = predicted_paths(torch.tensor([[0.0, 1.0, 0.5]]), TOY)
    assert [TOY.names[node] for node in paths[0].tolist()] == ["pet", "dog"]


def test_scores_that_are_no_numbers_are_refused_by_row() -> None:
    with pytest.raises(ValueError, match="row 1: a score is not a number"):
        predicted_classes(torch.tensor([[1.0, 2.0], [1.0, torch.nan]]))
