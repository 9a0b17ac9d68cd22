"""Rules on graphs against expectations over all labels, from distances of sets."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from decisions.expected_hops import cost_table, expected_hops
from hiercos import Taxonomy
from hiercos.decisions import Posterior, rule
from hiercos.decisions import hops as hops_rule
from trees import descendant_sets, graphs, slow_distances, taxonomies


def posterior(taxonomy: Taxonomy, seed: int, rows: int = 3) -> Posterior:
    scores = 2 * np.random.default_rng(seed).normal(size=(rows, taxonomy.num_classes))
    return Posterior.from_scores(scores, taxonomy)


@settings(deadline=None, max_examples=40)
@given(graphs(), st.integers(0, 2**16))
def test_nodes_and_risks_are_sums_over_sets(taxonomy: Taxonomy, seed: int) -> None:
    given_posterior = posterior(taxonomy, seed)
    sets = [np.isin(taxonomy.leaves, sorted(own)) for own in descendant_sets(taxonomy)]
    expected = np.stack([given_posterior.classes[:, own].sum(axis=1) for own in sets], axis=1)
    np.testing.assert_allclose(given_posterior.nodes, expected, atol=1e-12)
    risks = given_posterior.classes @ np.array(slow_distances(taxonomy)).T
    np.testing.assert_allclose(rule("crm").ranking(given_posterior), -risks, atol=1e-9)


@settings(deadline=None, max_examples=40)
@given(graphs(), st.integers(0, 2**16))
def test_the_answer_of_hops_has_the_least_expected_cost(taxonomy: Taxonomy, seed: int) -> None:
    given_posterior = posterior(taxonomy, seed)
    costs = given_posterior.classes @ cost_table(taxonomy)[:, 0]  # (M, C)
    np.testing.assert_allclose(rule("hops").class_values(given_posterior), -costs, atol=1e-9)  # type: ignore[attr-defined]


@settings(deadline=None, max_examples=20)
@given(graphs(9), st.integers(0, 2**16))
def test_the_ranking_of_hops_is_the_best_order_behind_the_answer(taxonomy: Taxonomy, seed: int) -> None:
    assume(taxonomy.most_ancestors > 1)  # on one level the likeliest classes come first
    given_posterior, table = posterior(taxonomy, seed, rows=1), cost_table(taxonomy)
    found = np.argsort(-rule("hops").ranking(given_posterior)[0], kind="stable")
    behind = permutations(sorted(set(range(taxonomy.num_classes)) - {int(found[0])}))
    orders = [found, *(np.array([found[0], *rest]) for rest, _ in zip(behind, range(300), strict=False))]
    values = [expected_hops(order, given_posterior.classes[0], table) for order in orders]
    assert values[0] == pytest.approx(max(values), abs=1e-9)


@settings(deadline=None, max_examples=20)
@given(taxonomies(), st.integers(0, 2**16))
def test_on_trees_the_values_for_graphs_equal_those_for_trees(taxonomy: Taxonomy, seed: int) -> None:
    given_posterior = posterior(taxonomy, seed)
    if taxonomy.num_classes > 1:
        values = hops_rule.graph_values(given_posterior)
        np.testing.assert_allclose(values, rule("hops").class_values(given_posterior), atol=1e-9)  # type: ignore[attr-defined]
