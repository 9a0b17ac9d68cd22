"""Rules that answer with a node, against a search of all nodes."""

import json
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from decisions.distributions import random_probabilities
from decisions.node_search import ROOT, AllNodes
from hiercos import Taxonomy
from hiercos.decisions import Posterior, Rule, RuleError, rule, rule_from_dict
from hiercos.metrics import functional as HF
from trees import TOY, random_tree, taxonomies

SIMPLE = settings(deadline=None, max_examples=60)


def answers(given_rule: Rule, taxonomy: Taxonomy, seed: int) -> list[tuple[AllNodes, int, float]]:
    """Every row of random probabilities with the rule's answer and its value."""
    probabilities = random_probabilities(taxonomy, seed)
    decision = given_rule(Posterior(probabilities, taxonomy))
    np.testing.assert_allclose(
        decision.probabilities,
        [
            min(AllNodes(taxonomy, row).probability[node], 1)
            for row, node in zip(probabilities, decision.nodes.tolist(), strict=True)
        ],
        atol=1e-12,
    )
    searches = [AllNodes(taxonomy, row) for row in probabilities]
    return list(zip(searches, decision.nodes.tolist(), decision.values.tolist(), strict=True))


@SIMPLE
@given(taxonomies(), st.integers(0, 1000))
def test_majority_is_the_deepest_node_above_one_half_and_no_node_has_fewer_expected_edges(
    taxonomy: Taxonomy, seed: int
) -> None:
    for every, node, _ in answers(rule("majority"), taxonomy, seed):
        likely = [other for other, p in every.probability.items() if p > 0.5]
        assert node == max(likely, key=every.depth.__getitem__)
        least = min(every.expected(every.edges, other) for other in every.above)
        assert every.expected(every.edges, node) == pytest.approx(least, abs=1e-9)


@SIMPLE
@given(taxonomies(), st.integers(0, 1000))
def test_plurality_is_the_deepest_node_likelier_than_all_that_are_apart_from_it(taxonomy: Taxonomy, seed: int) -> None:
    for every, node, _ in answers(rule("plurality"), taxonomy, seed):

        def wins(own: int, every: AllNodes = every) -> bool:
            return all(every.probability[own] > every.probability[other] for other in every.apart(own))

        fit = [other for other in every.above if all(map(wins, every.above[other]))]
        assert node == max(fit, key=every.depth.__getitem__)


@SIMPLE
@given(taxonomies(), st.integers(0, 1000))
def test_the_constants_of_speciesnet_take_a_sure_class_or_the_deepest_sure_node(taxonomy: Taxonomy, seed: int) -> None:
    for every, node, _ in answers(rule("speciesnet"), taxonomy, seed):
        classes = [leaf for leaf in every.leaves if every.probability[leaf] > 0.8]
        inner = [other for other, p in every.probability.items() if p >= 0.65 and other not in every.leaves]
        assert node == (classes[0] if classes else max([ROOT, *inner], key=every.depth.__getitem__))


@SIMPLE
@given(taxonomies(), st.integers(0, 1000), st.sampled_from([0.0, 0.3, 2.0]))
def test_darts_has_the_highest_expected_reward(taxonomy: Taxonomy, seed: int, reward: float) -> None:
    for every, node, value in answers(rule("darts", reward=reward), taxonomy, seed):

        def rewarded(answer: int, every: AllNodes = every) -> float:
            below = sum(answer in every.above[leaf] for leaf in every.leaves)
            return (np.log2(taxonomy.num_classes / below) + reward) * every.probability[answer]

        best = max(map(rewarded, every.above))
        assert value == pytest.approx(best)
        assert rewarded(node) == pytest.approx(best)


@SIMPLE
@given(taxonomies(), st.integers(0, 1000), st.sampled_from([0.5, 1.0, 2.0]))
def test_hf_beta_has_the_highest_expected_f_score(taxonomy: Taxonomy, seed: int, beta: float) -> None:
    for every, node, value in answers(rule("hf-beta", beta=beta), taxonomy, seed):
        best = max(every.expected(every.f_beta(beta), other) for other in every.above)
        assert value == pytest.approx(best)
        assert every.expected(every.f_beta(beta), node) == pytest.approx(best)


@SIMPLE
@given(taxonomies(), st.integers(0, 1000))
def test_hie_ranks_by_the_product_with_the_parent(taxonomy: Taxonomy, seed: int) -> None:
    probabilities = random_probabilities(taxonomy, seed)
    ranking = rule("hie").ranking(Posterior(probabilities, taxonomy))
    for row, values in zip(probabilities, ranking, strict=True):
        every = AllNodes(taxonomy, row)
        parents = [int(taxonomy.parents[leaf]) for leaf in every.leaves]
        products = [row[label] * every.probability[parent] for label, parent in enumerate(parents)]
        np.testing.assert_allclose(values, products, atol=1e-12)


@SIMPLE
@given(taxonomies(), st.integers(0, 1000))
def test_no_answer_of_a_cost_table_has_a_lower_expected_cost(taxonomy: Taxonomy, seed: int) -> None:
    generator = np.random.default_rng(seed)
    nodes = [ROOT, *generator.permutation(taxonomy.num_nodes).tolist()]
    table = generator.integers(0, 9, size=(len(nodes), taxonomy.num_classes)).astype(float)
    costs = rule("costs", answers=nodes, costs=table.tolist())
    for every, node, value in answers(costs, taxonomy, seed):
        expected = table @ every.classes
        assert -value == pytest.approx(expected.min())
        assert expected[nodes.index(node)] == pytest.approx(expected.min())


@SIMPLE
@given(taxonomies(), st.integers(0, 1000))
def test_no_answer_has_a_better_expected_value_of_the_metric_that_the_rule_is_best_in(
    taxonomy: Taxonomy, seed: int
) -> None:
    probabilities = random_probabilities(taxonomy, seed)
    posterior = Posterior(probabilities, taxonomy)
    every, leaves = torch.arange(-1, taxonomy.num_nodes), torch.tensor(taxonomy.leaves)
    pairs = torch.cartesian_prod(every, leaves).reshape(-1, 2)
    values = HF.answer_values(pairs[:, 0], pairs[:, 1], taxonomy).numpy().reshape(len(every), len(leaves), -1)
    for name, metric, sign in (("hf-beta", "hierarchical_f1", 1), ("majority", "edge_distance", -1)):
        expected = sign * probabilities @ values[:, :, HF.ANSWER_METRICS.index(metric)].T  # (M, N + 1)
        own = np.take_along_axis(expected, rule(name)(posterior).nodes[:, None] + 1, axis=1)[:, 0]
        np.testing.assert_allclose(own, expected.max(axis=1), atol=1e-12)


def test_the_reward_of_darts_is_the_smallest_that_reaches_the_accuracy() -> None:
    taxonomy, generator = random_tree(3, 60), np.random.default_rng(0)
    posterior = Posterior(random_probabilities(taxonomy, 1, 400), taxonomy)
    classes = np.array([generator.choice(len(row), p=row) for row in posterior.classes])
    labels = taxonomy.leaves[classes]

    def share(reward: float) -> float:
        nodes = rule("darts", reward=reward)(posterior).nodes.tolist()
        return float(
            np.mean([node < 0 or node in taxonomy.path(label) for node, label in zip(nodes, labels, strict=True)])
        )

    fitted = rule("darts", accuracy=0.9).fit(posterior, labels)
    reward = fitted.to_dict()["reward"]
    assert share(reward) >= 0.9 > share(reward * 0.98)
    assert rule("darts", accuracy=0.01).fit(posterior, labels).to_dict()["reward"] == 0.0
    with pytest.raises(RuleError, match="expected a reward, or a rule fitted on held-out samples"):
        rule("darts")(posterior)


def test_inner_answers_are_no_class_and_lists_are_of_classes() -> None:
    posterior = Posterior([[0.4, 0.35, 0.25], [0.1, 0.1, 0.8]], TOY)
    decision = rule("majority")(posterior)
    assert decision.classes.tolist() == [-1, 2]
    assert decision.paths.tolist() == [[0, -1], [1, 4]]
    assert decision.why(0) == "pet: probability 0.75"
    assert rule("majority").short_list(posterior, 2).classes.tolist() == [[0, 1], [2, 0]]


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("darts", {"accuracy": 1.0}, "accuracy above 0 and below 1, got 1"),
        ("darts", {"reward": -1.0}, "reward of at least 0, got -1"),
        ("hf-beta", {"beta": 0.0}, "beta above 0, got 0"),
        ("costs", {"answers": (1,)}, "expected a row of costs for each answer, got 0 rows for 1 answers"),
    ],
)
def test_impossible_parameters_are_refused(name: str, values: dict[str, Any], message: str) -> None:
    with pytest.raises(RuleError, match=message):
        rule(name, **values)


def test_costs_of_other_classes_are_refused() -> None:
    with pytest.raises(RuleError, match="expected a table of costs, got none"):
        rule("costs")(Posterior([[0.5, 0.25, 0.25]], TOY))
    with pytest.raises(RuleError, match="expected costs of 3 classes, got 2"):
        rule("costs", answers=[0], costs=[[1.0, 2.0]])(Posterior([[0.5, 0.25, 0.25]], TOY))


@pytest.mark.parametrize("name", ["majority", "plurality", "speciesnet", "hf-beta", "hie", "back-off"])
def test_every_rule_survives_json_and_an_empty_batch(name: str) -> None:
    assert rule_from_dict(json.loads(json.dumps(rule(name).to_dict()))) == rule(name)
    assert len(rule(name)(Posterior(np.empty((0, 3)), TOY))) == 0
    costs = rule("costs", answers=[0, 1], costs=[[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]])
    assert rule_from_dict(json.loads(json.dumps(costs.to_dict()))) == costs
