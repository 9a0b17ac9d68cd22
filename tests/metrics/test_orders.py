"""Whole orders and places: slow loops against the fast code, and ties."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hiercos import Taxonomy
from hiercos.metrics import functional as HF
from hiercos.metrics.ranking import best_classes
from hiercos.taxonomy.distances import distance_block, preference_ranks
from trees import TOY, TOY17, taxonomies


@given(taxonomy=taxonomies(), seed=st.integers(0, 999))
@settings(max_examples=30, deadline=None)
def test_preference_order_distance_equals_that_of_the_sign_matrices(taxonomy: Taxonomy, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randint(0, 4, (5, taxonomy.num_classes), generator=generator).float()
    labels = torch.randint(taxonomy.num_classes, (5,), generator=generator)
    wanted = -torch.from_numpy(preference_ranks(distance_block(taxonomy, labels.numpy()))).float()
    tree_signs = (wanted[:, :, None] - wanted[:, None, :]).sign()
    score_signs = (scores[:, :, None] - scores[:, None, :]).sign()
    expected = (tree_signs - score_signs).square().sum(dim=(1, 2)).double().sqrt()
    torch.testing.assert_close(HF.preference_order_distance(scores, labels, taxonomy), expected)


def test_equal_scores_rank_the_lower_class_first() -> None:
    scores = torch.tensor([[1.0, 3.0, 3.0, 0.0, 3.0, 1.0, 1.0, 1.0, 1.0]]).repeat(2, 9)  # 81 classes
    whole = [c for value in (3.0, 1.0, 0.0) for c in range(81) if scores[0, c] == value]
    for k in (1, 2, 5, 20, 40, 81):
        values, order = best_classes(scores, k)
        assert order.tolist() == [whole[:k]] * 2
        assert torch.equal(values, scores.gather(1, order))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_the_first_k_are_those_of_the_whole_order(dtype: torch.dtype) -> None:
    scores = torch.randn(40, 300, generator=torch.Generator().manual_seed(0)).to(dtype).round(decimals=1)
    whole = torch.sort(scores, dim=1, descending=True, stable=True).indices
    for k in (1, 7, 60):
        assert torch.equal(best_classes(scores, k)[1], whole[:, :k])


def test_infinite_scores_are_ranked_like_any_other() -> None:
    scores = torch.full((1, 17), -torch.inf)
    scores[0, 3] = torch.inf
    assert best_classes(scores, 3)[1].tolist() == [[3, 0, 1]]


def test_reciprocal_rank_counts_equal_scores_of_lower_classes() -> None:
    scores = torch.tensor([[0.5, 0.5, 0.1], [0.1, 0.5, 0.9]])
    assert HF.reciprocal_rank(scores, torch.tensor([1, 0]), TOY).tolist() == [1 / 2, 1 / 3]


def test_top_k_accuracy_grows_with_k() -> None:
    scores, label = -torch.arange(17.0)[None], torch.tensor([4])
    hits = [HF.top_k_accuracy(scores, label, TOY17, k).item() for k in (1, 4, 5, 99)]
    assert hits == [False, False, True, True]


def test_mistake_severity_is_pooled_over_the_mistakes() -> None:
    scores = torch.eye(3)[[1, 2, 2]]  # dog, car, car
    assert HF.mistake_severity(scores, torch.tensor([0, 0, 2]), TOY).item() == 1.5
    assert math.isnan(HF.mistake_severity(scores[2:], torch.tensor([2]), TOY).item())


def test_cost_is_looked_up_by_label_and_answer() -> None:
    costs = torch.tensor([[0.0, 1.0, 2.0], [3.0, 0.0, 5.0], [6.0, 7.0, 0.0]])
    scores = torch.eye(3)[[1, 2, 2]]
    assert HF.expected_cost(scores, torch.tensor([0, 0, 2]), TOY, costs).tolist() == [1.0, 2.0, 0.0]
    with pytest.raises(ValueError, match=r"expected costs of shape \(3, 3\), got \(2, 2\)"):
        HF.expected_cost(scores, torch.tensor([0, 0, 2]), TOY, costs[:2, :2])
    with pytest.raises(ValueError, match="row 1 of the costs: a cost is NaN"):
        HF.expected_cost(scores, torch.tensor([0, 0, 2]), TOY, costs.masked_fill(costs == 3.0, torch.nan))
