"""The rule `auto`: its answer, list and order are those of the rules made for each."""

import json

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from decisions.distributions import random_probabilities
from decisions.expected_hops import cost_table, expected_hops
from hiercos import Taxonomy
from hiercos.decisions import Auto, Posterior, RuleError, rule, rule_from_dict
from hiercos.taxonomy import Floats, IntArray
from trees import TOY, taxonomies

FAMILY = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("pet", "fish"), ("car",)])
TORN = [0.25, 0.2, 0.15, 0.4]  # crm answers cat, the likeliest class is the car


def order_of(scores: Floats) -> IntArray:
    return np.argsort(-scores, axis=1, kind="stable")


@settings(deadline=None)
@given(taxonomies(), st.integers(0, 1000), st.sampled_from(["none", "crm"]))
def test_the_answer_and_the_list_are_those_of_the_single_rules(taxonomy: Taxonomy, seed: int, answer: str) -> None:
    posterior = Posterior(random_probabilities(taxonomy, seed, 5), taxonomy)
    ours, single = rule("auto", answer=answer), rule(answer)
    assert np.array_equal(ours(posterior).nodes, single(posterior).nodes)
    assert np.array_equal(ours.short_list(posterior, 5).classes, single.short_list(posterior, 5).classes)
    by_probability = order_of(rule("none").ranking(posterior)).tolist()
    for row, first in enumerate(single(posterior).classes.tolist()):
        expected = [first, *(label for label in by_probability[row] if label != first)]
        assert ours.short_list(posterior, taxonomy.num_classes).classes[row].tolist() == expected


@settings(deadline=None)
@given(taxonomies(), st.integers(0, 1000), st.sampled_from(["none", "crm"]))
def test_the_order_is_the_one_of_hops_where_both_begin_with_the_same_class(
    taxonomy: Taxonomy, seed: int, answer: str
) -> None:
    assume(taxonomy.height > 1)
    posterior = Posterior(random_probabilities(taxonomy, seed, 8), taxonomy)
    ours, hops = rule("auto", answer=answer), rule("hops")
    same = ours(posterior).nodes == hops(posterior).nodes
    assert np.array_equal(ours.ranking(posterior)[same], hops.ranking(posterior)[same])
    assert np.array_equal(order_of(ours.ranking(posterior))[:, 0], ours(posterior).classes)


@settings(deadline=None, max_examples=40)
@given(taxonomies(max_nodes=10), st.integers(0, 1000), st.sampled_from(["none", "crm"]))
def test_no_order_behind_the_answer_has_a_higher_expected_hops(taxonomy: Taxonomy, seed: int, answer: str) -> None:
    from itertools import permutations

    assume(2 <= taxonomy.num_classes <= 6 and taxonomy.height > 1)
    probabilities, table = random_probabilities(taxonomy, seed, 1), cost_table(taxonomy)
    (order,) = order_of(rule("auto", answer=answer).ranking(Posterior(probabilities, taxonomy)))
    every = (np.array(other) for other in permutations(range(taxonomy.num_classes)) if other[0] == order[0])
    best = max(expected_hops(other, probabilities[0], table) for other in every)
    assert expected_hops(order, probabilities[0], table) == pytest.approx(best, abs=1e-12)


def test_the_orders_are_the_ranking_and_the_list() -> None:
    posterior = Posterior([TORN], FAMILY)
    orders = rule("auto", answer="crm").orders(posterior)
    assert orders.listed is not None
    assert order_of(orders.listed).tolist() == [[0, 3, 1, 2]]
    assert order_of(orders.ranking)[0, [0, 3]].tolist() == [0, 3]  # relatives of the answer before the likely car
    assert rule("hops").orders(posterior).listed is None


def test_on_one_level_the_likeliest_classes_follow_the_answer() -> None:
    flat = Taxonomy.from_paths([(name,) for name in "abcd"])
    for answer in ("none", "crm"):
        assert order_of(rule("auto", answer=answer).ranking(Posterior([[0.1, 0.2, 0.4, 0.3]], flat))).tolist() == [
            [2, 3, 1, 0]
        ]


def labelled(counts: list[int]) -> tuple[Posterior, IntArray]:
    """Samples between the pets and the car, of which so many are each class."""
    labels = np.repeat(np.arange(4), counts)
    return Posterior(np.tile(TORN, (len(labels), 1)), FAMILY), FAMILY.leaves[labels]


@pytest.mark.parametrize(
    ("counts", "answer"),
    [
        ([400, 200, 150, 400], "crm"),  # nearer to the dogs and fish, and right as often
        ([400, 200, 150, 401], "crm"),  # one of 1,151 is less than 0.1 points
        ([400, 200, 150, 410], "none"),  # top-1 would fall too far
        ([0, 0, 0, 400], "none"),
        ([3, 0, 1, 3], "none"),  # one sample is no evidence
        ([1, 0, 0, 0], "none"),
        ([0, 0, 0, 0], "none"),
    ],
)
def test_fit_takes_the_nearer_answer_only_where_it_is_safe(counts: list[int], answer: str) -> None:
    fitted = rule("auto", answer="crm").fit(*labelled(counts))
    assert fitted == Auto(answer=answer)  # type: ignore[arg-type]
    assert fitted.parameters == rule("auto").parameters
    assert rule_from_dict(json.loads(json.dumps(fitted.to_dict()))) == fitted


def test_labels_at_inner_nodes_do_not_count() -> None:
    posterior, nodes = labelled([400, 200, 150, 400])
    mixed = Posterior(np.concatenate([posterior.classes, np.tile(TORN, (500, 1))]), FAMILY)
    pets = np.zeros(500, dtype=np.int64)  # node 0
    assert rule("auto").fit(mixed, np.concatenate([nodes, pets])) == rule("auto", answer="crm")


def test_an_unknown_answer_is_an_error() -> None:
    with pytest.raises(RuleError, match="expected the answer 'none' or 'crm', got 'hops'"):
        rule("auto", answer="hops")


def test_the_reason_names_the_criterion_of_the_answer() -> None:
    posterior = Posterior([[0.5, 0.25, 0.25]], TOY)
    assert rule("auto")(posterior).why(0) == "pet > cat: probability 0.5, class score 0.5"
    assert "expected tree distance" in rule("auto", answer="crm")(posterior).why(0)
