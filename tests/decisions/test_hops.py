"""The answer and the order of `hops` against the definition of HOPS."""

from itertools import permutations

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from decisions.distributions import random_probabilities
from decisions.expected_hops import cost_table, expected_hops
from hiercos import Taxonomy, load_taxonomy
from hiercos.decisions import Posterior, rule
from hiercos.decisions.best_order import best_order, tree_blocks
from hiercos.metrics import functional as HF
from hiercos.taxonomy import Floats, IntArray, ancestor_sums
from trees import TOY17, taxonomies


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
    assume(taxonomy.num_classes <= 6 and taxonomy.height > 1)
    probabilities, table = random_probabilities(taxonomy, seed, 1), cost_table(taxonomy)
    posterior = Posterior(probabilities, taxonomy)
    (order,) = order_of(rule("hops").ranking(posterior))
    (answer,) = rule("hops")(posterior).classes.tolist()
    every = (np.array(other) for other in permutations(range(taxonomy.num_classes)))
    best = max(expected_hops(other, probabilities[0], table) for other in every if other[0] == answer)
    assert order[0] == answer
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
def test_costs_along_paths_are_those_of_the_definition(taxonomy: Taxonomy, seed: int) -> None:
    posterior, positions = Posterior(random_probabilities(taxonomy, seed), taxonomy), np.arange(taxonomy.num_classes)
    expected = np.einsum("my,yjc->mjc", posterior.classes, cost_table(taxonomy))
    for blocks in tree_blocks(posterior, np.zeros(len(posterior), dtype=np.int64), exact=True):
        for block in blocks:
            for row, number in enumerate(block.rows):
                differences = block.table(row, positions, positions) - expected[number][:, block.queue[row]]
                np.testing.assert_allclose(
                    differences[1:, 1:], differences[1:, 1:2] * np.ones(len(positions) - 1), atol=1e-12
                )


def assigned_values(posterior: Posterior, answers: IntArray, table: Floats) -> list[float]:
    """Expected HOPS of the best order behind each answer, from one assignment over all positions."""
    values = []
    for probabilities, answer in zip(posterior.classes, answers, strict=True):
        costs, others = np.einsum("y,yjc->jc", probabilities, table), np.arange(len(probabilities)) != answer
        rest = costs[1:, others]
        values.append(1 - costs[0, answer] - rest[linear_sum_assignment(rest)].sum())
    return values


def wide_tree(seed: int, only_children: int = 0) -> Taxonomy:
    """A tree of leaves of uneven depth, below some of which stands one more node."""
    generator = np.random.default_rng(seed)
    parents = [int(generator.integers(-1, min(node, 50))) for node in range(160)]
    parents += generator.choice(np.arange(60, 160), only_children, replace=False).tolist()
    return Taxonomy.from_arrays([f"n{node}" for node in range(len(parents))], parents)


@pytest.mark.parametrize("taxonomy", [load_taxonomy("cifar100"), wide_tree(0), wide_tree(1, 40)])
def test_the_order_that_is_searched_for_is_nearly_always_within_a_millionth_of_the_best(taxonomy: Taxonomy) -> None:
    scores = np.random.default_rng(0).normal(size=(200, taxonomy.num_nodes))
    posterior = Posterior.from_scores(4 * ancestor_sums(scores, taxonomy)[:, taxonomy.leaves], taxonomy)
    table, answers = cost_table(taxonomy), rule("hops")(posterior).classes
    orders = best_order(posterior, answers, exact_up_to=0)
    values = [expected_hops(*pair, table) for pair in zip(orders, posterior.classes, strict=True)]
    lost = np.subtract(assigned_values(posterior, answers, table), values)
    assert (lost < 2e-6).mean() >= 0.97
    assert lost.mean() < 2e-5
    exact = best_order(posterior.rows(slice(20)), answers[:20], exact_up_to=taxonomy.num_classes)
    values = [expected_hops(*pair, table) for pair in zip(exact, posterior.classes, strict=False)]
    assert np.subtract(assigned_values(posterior.rows(slice(20)), answers[:20], table), values).max() < 1e-12


def test_an_order_does_not_depend_on_the_other_samples() -> None:
    taxonomy = load_taxonomy("cifar100")
    posterior = Posterior(random_probabilities(taxonomy, 0, 40), taxonomy)
    together = rule("hops").ranking(posterior)
    alone = [rule("hops").ranking(posterior.rows([row]))[0] for row in range(0, 40, 3)]
    assert np.array_equal(together[::3], alone)


def test_interchangeable_classes_are_in_the_order_of_their_numbers() -> None:
    for exact_up_to in (0, 17):
        scores = rule("hops", exact_up_to=exact_up_to).ranking(Posterior(np.full((1, 17), 1 / 17), TOY17))
        (order,) = order_of(scores)
        for sisters in ([0, 1, 2, 3], [5, 6], [7, 8, 9, 10], [12, 13, 14, 15, 16]):
            behind = [label for label in order[1:].tolist() if label in sisters]
            assert behind == sorted(behind)


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
    scores = [rule("hops", exact_up_to=most).ranking(posterior) for most in (0, 17)]
    for name in ("TABLE", "BLOCK"):
        monkeypatch.setattr(f"hiercos.decisions.best_order.{name}", 1)
    for most, expected in zip((0, 17), scores, strict=True):
        assert np.array_equal(rule("hops", exact_up_to=most).ranking(posterior), expected)


def test_one_class_and_no_samples_are_no_trouble() -> None:
    single = Taxonomy.from_paths([("only",)])
    assert rule("hops")(Posterior(np.ones((2, 1)), single)).classes.tolist() == [0, 0]
    nothing = Posterior(np.empty((0, 17)), TOY17)
    assert rule("hops").ranking(nothing).shape == (0, 17)
    assert len(rule("hops")(nothing)) == 0
