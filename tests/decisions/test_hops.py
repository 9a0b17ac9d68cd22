"""The answer and the order of `hops` against the definition of HOPS."""

from itertools import permutations

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from decisions.distributions import random_probabilities
from decisions.expected_hops import cost_table, expected_hops
from hiercos import Taxonomy
from hiercos.decisions import Posterior, rule
from hiercos.decisions.best_order import cost_steps, expected_costs, likely_labels
from hiercos.metrics import functional as HF
from hiercos.taxonomy import Floats, IntArray
from trees import TOY17, random_tree, taxonomies


def order_of(scores: Floats) -> IntArray:
    return np.argsort(-scores, axis=1, kind="stable")


@settings(deadline=None)
@given(taxonomies(max_nodes=40), st.integers(0, 1000))
def test_the_answer_has_the_least_expected_cost_in_the_first_place(taxonomy: Taxonomy, seed: int) -> None:
    probabilities, table = random_probabilities(taxonomy, seed), cost_table(taxonomy)
    costs = probabilities @ table[:, 0]  # (M, C)
    posterior = Posterior(probabilities, taxonomy)
    decision = rule("hops")(posterior)
    np.testing.assert_allclose(-decision.values, costs.min(axis=1), atol=1e-12)
    np.testing.assert_allclose(np.take_along_axis(costs, decision.classes[:, None], 1)[:, 0], costs.min(axis=1))


@settings(deadline=None, max_examples=40)
@given(taxonomies(max_nodes=10), st.integers(0, 1000))
def test_no_order_that_begins_with_the_answer_has_a_higher_expected_hops(taxonomy: Taxonomy, seed: int) -> None:
    assume(taxonomy.num_classes <= 6)
    probabilities, table = random_probabilities(taxonomy, seed, 1), cost_table(taxonomy)
    posterior = Posterior(probabilities, taxonomy)
    (order,) = order_of(rule("hops").ranking(posterior))
    (answer,) = rule("hops")(posterior).classes.tolist()
    every = (np.array(other) for other in permutations(range(taxonomy.num_classes)))
    best = max(expected_hops(other, probabilities[0], table) for other in every if other[0] == answer)
    assert taxonomy.height == 1 or order[0] == answer
    assert expected_hops(order, probabilities[0], table) == pytest.approx(best, abs=1e-12)


def test_the_best_order_of_all_may_begin_with_another_class() -> None:
    taxonomy = Taxonomy.from_paths([("a", "1"), ("a", "2"), ("a", "3"), ("b",)])
    posterior, table = Posterior([[0.33, 0.19, 0.05, 0.43]], taxonomy), cost_table(taxonomy)
    (order,) = order_of(rule("hops").ranking(posterior))
    assert order[0] == 3
    best, ours = (expected_hops(each, posterior.classes[0], table) for each in (np.array([0, 2, 1, 3]), order))
    assert best - ours == pytest.approx(0.02)


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


@pytest.mark.parametrize("seed", range(4))
def test_the_approximation_wins_most_of_what_the_exact_order_wins_over_least_risk(seed: int) -> None:
    taxonomy = random_tree(seed, 400)  # a hard one: some 65 levels, so few classes are alike
    assert taxonomy.num_classes > 128
    probabilities, table = random_probabilities(taxonomy, seed, 8), cost_table(taxonomy)
    posterior = Posterior(probabilities, taxonomy)
    exact, approximate = (order_of(rule("hops", exact_up_to=most).ranking(posterior)) for most in (256, 0))
    risk = order_of(rule("crm").ranking(posterior))
    least_risk = np.array(
        [[first, *(other for other in row if other != first)] for first, row in zip(exact[:, 0], risk, strict=True)]
    )
    by_risk, exactly, nearly = (
        np.array([expected_hops(*pair, table) for pair in zip(orders, probabilities, strict=True)])
        for orders in (least_risk, exact, approximate)
    )
    assert (by_risk <= nearly + 1e-12).all()
    assert (nearly <= exactly + 1e-12).all()
    assert (nearly - by_risk).mean() > 0.8 * (exactly - by_risk).mean()


def test_a_sure_label_gets_its_preferred_order() -> None:
    for exact_up_to in (0, 17):
        scores = rule("hops", exact_up_to=exact_up_to).ranking(Posterior(np.eye(17), TOY17))
        assert HF.hops(torch.from_numpy(scores), torch.arange(17), TOY17).tolist() == pytest.approx([1.0] * 17)


def test_the_ranking_counts_down_from_the_number_of_classes() -> None:
    scores = rule("hops").ranking(Posterior(np.full((2, 17), 1 / 17), TOY17))
    assert np.sort(scores, axis=1)[:, ::-1].tolist() == [list(range(17, 0, -1))] * 2


def test_on_one_level_the_likeliest_classes_come_first() -> None:
    taxonomy = Taxonomy.from_paths([(name,) for name in "abcd"])
    posterior = Posterior([[0.1, 0.2, 0.4, 0.3]], taxonomy)
    assert rule("hops").ranking(posterior).tolist() == [[0.1, 0.2, 0.4, 0.3]]
    assert rule("hops")(posterior).classes.tolist() == [2]


def test_small_tables_of_costs_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    posterior = Posterior(random_probabilities(TOY17, 5, 6), TOY17)
    scores = rule("hops").ranking(posterior)
    monkeypatch.setattr("hiercos.decisions.best_order.TABLE", 1)
    assert np.array_equal(rule("hops").ranking(posterior), scores)


def test_labels_are_kept_until_the_rest_is_negligible() -> None:
    probabilities = np.array([0.1, 0.5, 0.0, 0.4])
    assert likely_labels(probabilities, 4, 0.0).tolist() == [1, 3, 0]
    assert likely_labels(probabilities, 4, 0.15).tolist() == [1, 3]
    assert likely_labels(probabilities, 1, 0.0).tolist() == [1]


def test_one_class_and_no_samples_are_no_trouble() -> None:
    single = Taxonomy.from_paths([("only",)])
    assert rule("hops")(Posterior(np.ones((2, 1)), single)).classes.tolist() == [0, 0]
    nothing = Posterior(np.empty((0, 17)), TOY17)
    assert rule("hops").ranking(nothing).shape == (0, 17)
    assert len(rule("hops")(nothing)) == 0
