"""Rules on graphs against expectations over all labels, from distances of sets."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from decisions.distributions import random_probabilities
from decisions.expected_hops import cost_table, expected_hops
from decisions.node_search import ROOT, AllNodes
from hiercos import Taxonomy
from hiercos.decisions import Posterior, Rule, held_out_chains, rule
from hiercos.decisions.class_rules import graph_values
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
def test_a_restriction_keeps_the_set_of_classes_below_the_nodes(taxonomy: Taxonomy, seed: int) -> None:
    whole = posterior(taxonomy, seed)
    nodes = np.random.default_rng(seed).integers(0, taxonomy.num_nodes, size=2)
    inside = set().union(*(descendant_sets(taxonomy)[node] for node in nodes))
    kept = np.isin(taxonomy.leaves, sorted(inside))
    expected = np.where(kept, whole.classes, 0) / whole.classes[:, kept].sum(axis=1, keepdims=True)
    np.testing.assert_allclose(whole.within(nodes).classes, expected, atol=1e-12)


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
        values = graph_values(given_posterior)
        np.testing.assert_allclose(values, rule("hops").class_values(given_posterior), atol=1e-9)  # type: ignore[attr-defined]


def answers(given_rule: Rule, taxonomy: Taxonomy, seed: int) -> list[tuple[AllNodes, int]]:
    """Every row of random probabilities, searched node by node, with the rule's answer."""
    rows = random_probabilities(taxonomy, seed)
    nodes = given_rule(Posterior(rows, taxonomy)).nodes.tolist()
    return [(AllNodes(taxonomy, row), node) for row, node in zip(rows, nodes, strict=True)]


def last(nodes: list[int]) -> int:
    return nodes[-1] if nodes else ROOT


@settings(deadline=None, max_examples=60)
@given(graphs(), st.integers(0, 1000), st.sampled_from([0.3, 0.6, 0.9]), st.integers(0, 3))
def test_back_off_climbs_from_the_class_to_the_likeliest_parent_until_it_is_sure(
    taxonomy: Taxonomy, seed: int, confidence: float, min_level: int
) -> None:
    for every, node in answers(rule("back-off", confidence=confidence, min_level=min_level), taxonomy, seed):
        chain = every.chain()
        sure = [step for step in chain if every.probability[step] >= confidence]
        reached = [step for step in chain if taxonomy.depths[step] >= min_level] if min_level else []
        least = (reached or chain[-1:])[0] if min_level else ROOT
        assert node == max(last(sure), least)  # nodes are numbered parents first


@settings(deadline=None, max_examples=30)
@given(graphs(), st.integers(0, 1000))
def test_the_confidence_of_a_level_holds_for_nodes_of_that_longest_path(taxonomy: Taxonomy, seed: int) -> None:
    confidences = tuple(np.linspace(0.3, 0.8, taxonomy.height))
    for every, node in answers(rule("back-off", level_confidences=confidences), taxonomy, seed):
        sure = [step for step in every.chain() if every.probability[step] >= confidences[taxonomy.depths[step] - 1]]
        assert node == last(sure)


@settings(deadline=None, max_examples=40)
@given(graphs(), st.integers(0, 1000))
def test_the_other_rules_answer_with_the_deepest_fitting_node_of_the_chain(taxonomy: Taxonomy, seed: int) -> None:
    for every, node in answers(rule("majority"), taxonomy, seed):
        assert node == last([step for step in every.chain() if every.probability[step] > 0.5])
    for every, node in answers(rule("plurality"), taxonomy, seed):
        rivals = {
            step: max((every.probability[other] for other in every.apart(step)), default=0.0) for step in every.above
        }
        assert node == last([step for step in every.chain() if every.probability[step] > rivals[step]])
    for every, node in answers(rule("speciesnet"), taxonomy, seed):
        chain = every.chain()
        inner = [step for step in chain[:-1] if every.probability[step] >= 0.65]
        assert node == (chain[-1] if every.probability[chain[-1]] > 0.8 else last(inner))


@settings(deadline=None, max_examples=40)
@given(graphs(), st.integers(0, 1000), st.sampled_from([0.5, 1.0, 2.0]))
def test_the_rules_that_value_every_node_find_the_best_one(taxonomy: Taxonomy, seed: int, number: float) -> None:
    for every, node in answers(rule("hf-beta", beta=number), taxonomy, seed):
        best = max(every.expected(every.f_beta(number), other) for other in every.above)
        assert every.expected(every.f_beta(number), node) == pytest.approx(best)
    for every, node in answers(rule("darts", reward=number), taxonomy, seed):

        def rewarded(answer: int, every: AllNodes = every) -> float:
            below = sum(answer in every.above[leaf] for leaf in every.leaves)
            return float((np.log2(taxonomy.num_classes / below) + number) * every.probability[answer])

        assert rewarded(node) == pytest.approx(max(map(rewarded, every.above)))


@settings(deadline=None, max_examples=40)
@given(graphs(), st.integers(0, 1000))
def test_hie_ranks_by_the_product_with_the_likeliest_parent(taxonomy: Taxonomy, seed: int) -> None:
    rows = random_probabilities(taxonomy, seed)
    for row, values in zip(rows, rule("hie").ranking(Posterior(rows, taxonomy)), strict=True):
        every = AllNodes(taxonomy, row)
        highest = [max(every.probability[parent] for parent in every.parents(leaf)) for leaf in every.leaves]
        np.testing.assert_allclose(values, row * highest, atol=1e-12)


@settings(deadline=None, max_examples=30)
@given(graphs(), st.integers(0, 1000))
def test_held_out_chains_count_the_nodes_that_are_not_above_the_label(taxonomy: Taxonomy, seed: int) -> None:
    rows = random_probabilities(taxonomy, seed)
    labels = np.random.default_rng(seed).integers(0, taxonomy.num_nodes, len(rows))
    found = held_out_chains(Posterior(rows, taxonomy), labels)
    for row, label, first, wrong in zip(rows, labels.tolist(), found.first, found.wrong, strict=True):
        every = AllNodes(taxonomy, row)
        chain = every.chain()
        assert first == pytest.approx(every.probability[chain[0]])
        expected = [every.probability[step] for step in chain if step not in every.above[label]]
        assert wrong == pytest.approx(expected)


def test_the_unknown_rule_answers_on_graphs_with_nodes_of_the_chain() -> None:
    taxonomy = Taxonomy.from_edges([("water", "fish"), ("pet", "fish"), ("pet", "dog"), ("water", "ship")])
    generator = np.random.default_rng(0)
    labels = generator.integers(0, 3, 60)
    held_out = Posterior.from_scores(generator.normal(size=(60, 3)) + 4 * np.eye(3)[labels], taxonomy)
    fitted = rule("unknown").fit(held_out, taxonomy.leaves[labels])
    nodes = fitted(held_out).nodes
    chains = [{ROOT, *AllNodes(taxonomy, row).chain()} for row in held_out.classes]
    assert all(node in chain for node, chain in zip(nodes.tolist(), chains, strict=True))
    assert (nodes == taxonomy.leaves[labels]).mean() > 0.8
