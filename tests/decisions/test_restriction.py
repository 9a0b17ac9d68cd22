"""Restricted and re-weighted posteriors, and requests for answers."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decisions.distributions import random_probabilities
from hiercos import Taxonomy
from hiercos.decisions import (
    RULES,
    AnswerRequest,
    BackOff,
    HeldOutChains,
    Posterior,
    PosteriorError,
    RuleError,
    rule,
)
from hiercos.errors import DataError
from trees import TOY, TOY17, descendant_sets, taxonomies

NAMES = sorted(set(RULES) - {"costs", "darts", "unknown"})


@settings(deadline=None, max_examples=60)
@given(taxonomies(), st.integers(0, 1000), st.booleans())
def test_within_renormalises_over_the_classes_below_the_nodes(taxonomy: Taxonomy, seed: int, scored: bool) -> None:
    generator, probabilities = np.random.default_rng(seed), random_probabilities(taxonomy, seed)
    nodes = generator.choice(taxonomy.num_nodes, size=min(2, taxonomy.num_nodes), replace=False)
    below = set().union(*(descendant_sets(taxonomy)[node] for node in nodes))
    allowed = np.array([leaf in below for leaf in taxonomy.leaves.tolist()])
    posterior = Posterior(probabilities, taxonomy)
    if scored:
        posterior = Posterior.from_scores(2 * np.log(probabilities + 1e-30), taxonomy, temperature=2.0)
    expected = probabilities * allowed / (probabilities * allowed).sum(axis=1, keepdims=True)
    found = posterior.within(nodes)
    np.testing.assert_allclose(found.classes, expected, atol=1e-9)
    for name in NAMES:
        decision = rule(name)(found)
        assert all(node < 0 or descendant_sets(taxonomy)[node] & below for node in decision.nodes.tolist())
        listed = rule(name).short_list(found, taxonomy.num_classes).classes
        assert ((listed >= 0).sum(axis=1) == allowed.sum()).all()
        assert allowed[listed[listed >= 0]].all()


def test_weights_multiply_and_rows_have_their_own() -> None:
    posterior = Posterior.from_scores(np.log([[0.5, 0.25, 0.25], [0.5, 0.25, 0.25]]), TOY)
    found = posterior.reweighted([[1.0, 2.0, 0.0], [0.0, 0.0, 1.0]])
    np.testing.assert_allclose(found.classes, [[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
    assert posterior.within([-1]).classes == pytest.approx(posterior.classes)


def test_an_improbable_allowed_class_is_answered_even_where_its_probability_underflows() -> None:
    posterior = Posterior.from_scores([[0.0, -3000.0, -2000.0]], TOY)
    assert posterior.within([1]).classes.tolist() == [[0.0, 0.0, 1.0]]
    assert posterior.within([3, 4]).classes.tolist() == [[0.0, 0.0, 1.0]]


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]], "row 2: no class is left"),
        ([1.0, -1.0, 1.0], "row 1: expected weights of at least 0"),
        ([1.0, 1.0], r"expected weights of shape \(3,\) or \(2, 3\), got \(2,\)"),
    ],
)
def test_weights_that_leave_nothing_are_refused(weights: list[float], message: str) -> None:
    with pytest.raises(PosteriorError, match=message):
        Posterior([[0.5, 0.25, 0.25], [0.5, 0.25, 0.25]], TOY).reweighted(weights)


def test_a_request_names_nodes_and_leaves_at_least_one_class() -> None:
    assert AnswerRequest(within=["pet"], deny=["dog"]).allowed(TOY).tolist() == [True, False, False]
    assert AnswerRequest(allow=["cat", "vehicle > car"]).allowed(TOY).tolist() == [True, False, True]
    twice = Taxonomy.from_paths([("pet", "pet"), ("pet", "dog"), ("vehicle", "car")])
    assert AnswerRequest(within="pet").allowed(twice).tolist() == [True, True, False]
    assert AnswerRequest(deny="pet > pet").allowed(twice).tolist() == [False, True, True]
    with pytest.raises(PosteriorError, match="no class is left"):
        AnswerRequest(within=["pet"], deny=["pet"]).allowed(TOY)
    with pytest.raises(DataError, match="within: unknown label 'fish'"):
        AnswerRequest(within=["fish"]).allowed(TOY)


def test_a_request_chooses_the_rule() -> None:
    stored = rule("auto", answer="crm")
    assert AnswerRequest().chosen_rule(stored, None) is stored
    assert AnswerRequest(rule="auto").chosen_rule(stored, None) is stored
    assert AnswerRequest(rule="crm").chosen_rule(stored, None) == rule("crm")
    assert AnswerRequest(confidence=0.7, min_level=1).chosen_rule(stored, None) == BackOff(confidence=0.7, min_level=1)
    levels = AnswerRequest(confidence=(0.5, 0.7)).chosen_rule(stored, None)
    assert levels == BackOff(level_confidences=(0.5, 0.7))
    with pytest.raises(RuleError, match=r"rule 'crm': expected 'back-off' with confidence$"):
        AnswerRequest(rule="crm", confidence=0.5)
    with pytest.raises(RuleError, match="unknown rule 'risk'"):
        AnswerRequest(rule="risk")
    with pytest.raises(RuleError, match="no calibration samples"):
        AnswerRequest(target_containment=0.9).chosen_rule(stored, None)


def test_a_target_has_a_guarantee_or_the_reason_for_none() -> None:
    chains = HeldOutChains((1.0,) * 50, ((0.5,),) * 50, 4)
    even = Posterior(np.full((1, 17), 1 / 17), TOY17)
    for request, reason in (
        (AnswerRequest(target_containment=0.9), ""),
        (AnswerRequest(target_containment=0.9, within=["A1"]), "classes are restricted or re-weighted"),
        (AnswerRequest(target_containment=0.9, min_level=1), "answers are forced to a level"),
    ):
        decided = request.chosen_rule(rule("none"), chains)
        decision = decided(request.restricted(even))
        if reason:
            assert request.guarantee(decided) == f"No guarantee holds for the target: {reason}."
            assert decision.guarantee == ""
        else:
            assert request.guarantee(decided) == decision.guarantee == decided.guarantee
            assert decision.guarantee.startswith("P(the answer contains the truth) >= 0.9 by split conformal")
    whole = AnswerRequest(target_containment=0.9)
    decided = whole.chosen_rule(rule("none"), chains)
    assert whole.guarantee(decided, reweighted=True).endswith("classes are restricted or re-weighted.")
    fitted_by_folds = whole.chosen_rule(rule("none"), replace(chains, exchangeable=False))
    assert whole.guarantee(fitted_by_folds) == (
        "No guarantee holds for the target: measured on 50 held-out rows of the model before the last fit; training "
        "with targets=true sets rows aside for one."
    )
    assert fitted_by_folds(even).guarantee == AnswerRequest().guarantee(rule("none")) == ""


def test_a_rule_with_a_target_is_calibrated_on_the_samples_of_the_model_unless_it_is_fitted() -> None:
    chains = HeldOutChains((1.0,) * 50, ((0.5,),) * 30 + ((0.9,),) * 20, 4, coarse=tuple(range(30, 50)))
    left_out, counted = (
        AnswerRequest(rule=BackOff(target_containment=0.9, coarse_as_wrong=each)).chosen_rule(rule("none"), chains)
        for each in (False, True)
    )
    assert (left_out.threshold, counted.threshold) == (np.nextafter(0.5, 1), np.nextafter(0.9, 1))  # type: ignore[attr-defined]
    assert AnswerRequest(rule=counted).chosen_rule(rule("none"), replace(chains, coarse=())) is counted
    with pytest.raises(RuleError, match="no calibration samples"):
        AnswerRequest(rule=BackOff(target_containment=0.9)).chosen_rule(rule("none"), None)


def test_a_string_is_one_name() -> None:
    for field in ("within", "allow", "deny"):
        one, listed = (AnswerRequest(**{field: value}).allowed(TOY) for value in ("pet", ["pet"]))
        assert one.tolist() == listed.tolist()
