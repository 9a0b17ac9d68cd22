from itertools import permutations

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from decisions.distributions import random_probabilities
from decisions.expected_hops import cost_table, expected_hops
from hiercos import Taxonomy
from hiercos.decisions import crm_scores, hops_order_scores
from hiercos.decisions.best_order import likely_labels
from hiercos.decisions.expected_cost import cost_steps, expected_costs
from hiercos.metrics import functional as HF
from trees import TOY17, random_tree, taxonomies


def order_of(scores: torch.Tensor) -> NDArray[np.int64]:
    return torch.sort(scores, dim=1, descending=True, stable=True).indices.numpy()


@settings(deadline=None, max_examples=40)
@given(taxonomies(max_nodes=10), st.integers(0, 1000))
def test_no_order_of_all_has_a_higher_expected_hops(taxonomy: Taxonomy, seed: int) -> None:
    assume(taxonomy.num_classes <= 6)
    probabilities, table = random_probabilities(taxonomy, seed, 1), cost_table(taxonomy)
    (order,) = order_of(hops_order_scores(torch.from_numpy(probabilities), taxonomy))
    every = (np.array(order) for order in permutations(range(taxonomy.num_classes)))
    best = max(expected_hops(other, probabilities[0], table) for other in every)
    assert expected_hops(order, probabilities[0], table) == pytest.approx(best, abs=1e-12)


@settings(deadline=None)
@given(taxonomies(), st.integers(0, 1000))
def test_costs_from_tree_sums_are_those_of_the_definition(taxonomy: Taxonomy, seed: int) -> None:
    (probabilities,) = random_probabilities(taxonomy, seed, 1)
    labels = np.flatnonzero(probabilities >= np.median(probabilities))
    paths = taxonomy.path_table(taxonomy.leaves)
    every = cost_steps(taxonomy, np.arange(taxonomy.num_classes))
    costs = expected_costs(taxonomy, paths, every, labels, probabilities[labels])
    expected = np.einsum("y,yjc->cj", probabilities[labels], cost_table(taxonomy)[labels])
    np.testing.assert_allclose(costs.costs[costs.groups], expected, atol=1e-12)


@settings(deadline=None)
@given(taxonomies(max_nodes=40), st.integers(0, 1000))
def test_neither_least_risk_nor_the_probabilities_give_a_better_order(taxonomy: Taxonomy, seed: int) -> None:
    probabilities, table = random_probabilities(taxonomy, seed), cost_table(taxonomy)
    given_p = torch.from_numpy(probabilities)
    best = order_of(hops_order_scores(given_p, taxonomy))
    for other in (order_of(crm_scores(given_p, taxonomy)), order_of(given_p)):
        for row, p in enumerate(probabilities):
            assert expected_hops(best[row], p, table) >= expected_hops(other[row], p, table) - 1e-12


@pytest.mark.parametrize("seed", range(4))
def test_the_approximation_wins_most_of_what_the_exact_order_wins_over_least_risk(seed: int) -> None:
    taxonomy = random_tree(seed, 400)  # a hard one: some 65 levels, so few classes are alike
    assert taxonomy.num_classes > 128
    probabilities, table = random_probabilities(taxonomy, seed, 8), cost_table(taxonomy)
    given_p = torch.from_numpy(probabilities)
    least_risk, exact, approximate = (
        np.array([expected_hops(*pair, table) for pair in zip(order_of(scores), probabilities, strict=True)])
        for scores in (
            crm_scores(given_p, taxonomy),
            hops_order_scores(given_p, taxonomy),
            hops_order_scores(given_p, taxonomy, exact_up_to=0),
        )
    )
    assert (least_risk <= approximate).all()
    assert (approximate <= exact + 1e-12).all()
    assert (approximate - least_risk).mean() > 0.8 * (exact - least_risk).mean()


def test_a_sure_label_gets_its_preferred_order() -> None:
    probabilities = torch.eye(17)
    for exact_up_to in (0, 17):
        scores = hops_order_scores(probabilities, TOY17, exact_up_to=exact_up_to)
        assert HF.hops(scores, torch.arange(17), TOY17).tolist() == pytest.approx([1.0] * 17)


def test_the_scores_count_down_from_the_number_of_classes() -> None:
    scores = hops_order_scores(torch.full((2, 17), 1 / 17), TOY17)
    assert scores.sort(dim=1, descending=True).values.tolist() == [list(range(17, 0, -1))] * 2


def test_interchangeable_classes_come_by_risk_and_then_by_index() -> None:
    taxonomy = Taxonomy.from_paths([(name,) for name in "abcd"])
    assert hops_order_scores(torch.tensor([[0.0, 0.0, 1.0, 0.0]]), taxonomy).tolist() == [[3.0, 2.0, 4.0, 1.0]]


def test_small_tables_of_costs_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    probabilities = torch.from_numpy(random_probabilities(TOY17, 5, 6))
    scores = hops_order_scores(probabilities, TOY17)
    monkeypatch.setattr("hiercos.decisions.best_order.TABLE", 1)
    assert torch.equal(hops_order_scores(probabilities, TOY17), scores)


def test_labels_are_kept_until_the_rest_is_negligible() -> None:
    probabilities = np.array([0.1, 0.5, 0.0, 0.4])
    assert likely_labels(probabilities, 4, 0.0).tolist() == [1, 3, 0]
    assert likely_labels(probabilities, 4, 0.15).tolist() == [1, 3]
    assert likely_labels(probabilities, 1, 0.0).tolist() == [1]


def test_one_class_and_no_samples_are_no_trouble() -> None:
    single = Taxonomy.from_paths([("only",)])
    assert hops_order_scores(torch.ones(2, 1), single).tolist() == [[1.0], [1.0]]
    assert hops_order_scores(torch.empty(0, 17), TOY17).shape == (0, 17)


def test_a_probability_that_is_not_a_number_is_refused() -> None:
    probabilities = torch.full((2, 17), 1 / 17)
    probabilities[1, 3] = torch.nan
    with pytest.raises(ValueError, match="row 1: a probability is NaN"):
        hops_order_scores(probabilities, TOY17)
