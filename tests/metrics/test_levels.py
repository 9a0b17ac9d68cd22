"""Answers at each level, by hand on a tree with leaves at two depths."""

import pytest
import torch

from hiercos import Taxonomy
from hiercos.metrics import CalibrationError
from hiercos.metrics import functional as HF

# nodes: 0 pet, 1 car, 2 cat, 3 dog, 4 tabby, 5 siamese; classes: tabby, siamese, dog, car
TREE = Taxonomy.from_paths([("pet", "cat", "tabby"), ("pet", "cat", "siamese"), ("pet", "dog"), ("car",)])


def test_level_predictions_choose_each_level_by_itself_and_the_lower_node_of_equals() -> None:
    scores = torch.tensor([[0.1, 0.9, 0.5, 0.5, 0.2, 0.3], [0.5, 0.5, 0.1, 0.3, 0.0, 0.0]])
    assert HF.level_predictions(scores, TREE).tolist() == [[1, 2, 5], [0, 3, 4]]


def test_accuracy_counts_only_the_levels_a_class_has() -> None:
    answers = torch.tensor([[0, 2, 4], [0, 2, 5], [0, -1, -1], [1, 3, 4]])
    labels = torch.tensor([0, 0, 2, 3])
    right = HF.level_accuracy(answers, labels, TREE)
    nan = torch.nan
    expected = torch.tensor([[1, 1, 1], [1, 1, 0], [1, 0, nan], [1, nan, nan]], dtype=torch.float64)
    torch.testing.assert_close(right, expected, equal_nan=True)
    assert HF.full_path_accuracy(answers, labels, TREE).tolist() == [True, False, False, True]


def test_node_scores_and_level_predictions_give_the_same_answers() -> None:
    scores = torch.rand(50, TREE.num_nodes, generator=torch.Generator().manual_seed(0))
    labels = torch.arange(50) % 4
    levels = HF.level_predictions(scores, TREE)
    assert torch.equal(HF.full_path_accuracy(scores, labels, TREE), HF.full_path_accuracy(levels, labels, TREE))
    assert torch.equal(HF.tree_inconsistency(scores, TREE), HF.tree_inconsistency(levels, TREE))


@pytest.mark.parametrize(
    ("answers", "inconsistent"),
    [
        ([0, 2, 4], False),
        ([0, 2, -1], False),
        ([0, -1, -1], False),
        ([-1, -1, -1], False),
        ([0, 3, 4], False),  # dog is a leaf: nothing below it counts
        ([1, 2, 4], False),  # and so is car
        ([0, -1, 4], True),
        ([-1, 2, 4], True),
    ],
)
def test_inconsistent_means_no_path_of_the_tree(answers: list[int], inconsistent: bool) -> None:
    assert HF.tree_inconsistency(torch.tensor([answers]), TREE).item() is inconsistent


def test_a_child_of_another_node_is_inconsistent() -> None:
    tree = Taxonomy.from_paths([("pet", "cat"), ("vehicle", "car")])  # nodes: pet, vehicle, cat, car
    assert HF.tree_inconsistency(torch.tensor([[0, 3], [1, 3]]), tree).tolist() == [True, False]


def test_answers_that_are_no_nodes_of_their_level_are_refused() -> None:
    with pytest.raises(ValueError, match="row 1: 2 is not a node of level 1, nor -1"):
        HF.full_path_accuracy(torch.tensor([[0, 2, 4], [2, 2, 4]]), torch.tensor([0, 0]), TREE)
    with pytest.raises(ValueError, match=r"expected level predictions of shape \(B, 3\)"):
        HF.tree_inconsistency(torch.tensor([[0, 2]]), TREE)
    with pytest.raises(ValueError, match=r"expected node scores of shape \(B, 6\), one column per node, got \(1, 4\)"):
        HF.level_predictions(torch.zeros(1, 4), TREE)
    with pytest.raises(ValueError, match="row 1: a score is NaN"):
        HF.level_predictions(torch.tensor([[0.0] * 6, [0.0] * 5 + [torch.nan]]), TREE)


def test_normalized_rank_averages_the_places_at_the_levels_of_the_class() -> None:
    scores = torch.tensor([[0.1, 0.9, 0.8, 0.2, 0.5, 0.5]])
    assert HF.normalized_rank(scores, torch.tensor([1]), TREE).item() == pytest.approx((2 / 2 + 1 / 2 + 2 / 2) / 3)
    assert HF.normalized_rank(scores, torch.tensor([3]), TREE).item() == pytest.approx(1 / 2)


def test_node_probabilities_are_sums_of_their_leaves() -> None:
    nodes = HF.summed_probabilities(torch.tensor([[0.1, 0.2, 0.3, 0.4]]), TREE)
    assert nodes[0].tolist() == pytest.approx([0.6, 0.4, 0.3, 0.3, 0.1, 0.2])


def test_calibration_error_by_hand() -> None:
    leaves = torch.tensor([[0.6, 0.1, 0.2, 0.1], [0.6, 0.1, 0.2, 0.1], [0.05, 0.05, 0.1, 0.8]], dtype=torch.float64)
    nodes, labels = HF.summed_probabilities(leaves, TREE), torch.tensor([0, 1, 3])
    # level 1: twice pet at .9 and right, once car at .8 and right; level 2: cat at .7, right twice;
    # level 3: tabby at .6, right once in two
    assert HF.calibration_error(nodes, labels, TREE).tolist() == pytest.approx([(0.1 * 2 + 0.2) / 3, 0.3, 0.1])
    metric = CalibrationError(TREE)
    metric.update(nodes, labels)
    assert torch.equal(metric.compute(), HF.calibration_error(nodes, labels, TREE))


def test_calibration_refuses_what_is_no_probability() -> None:
    with pytest.raises(ValueError, match="row 0: expected probabilities from 0 to 1"):
        HF.calibration_error(torch.full((1, 6), 2.0), torch.tensor([0]), TREE)
