"""Answers with several nodes: thresholds of held-out samples, and the sets they give."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score

from hiercos import Taxonomy
from hiercos.decisions import AnswerRequest, Posterior, RuleError, Several, rule, rule_from_dict
from hiercos.decisions.several import NEVER, PRECISIONS
from trees import TOY, ancestor_sets, graphs


def coherent(taxonomy: Taxonomy, count: int, seed: int) -> np.ndarray:
    """Random probabilities of nodes, none above that of a node above it; of a coarse grid, so that many are equal."""
    own = np.random.default_rng(seed).integers(1, 5, size=(count, taxonomy.num_nodes)) / 4
    return np.stack([own[:, sorted(above)].prod(axis=1) for above in ancestor_sets(taxonomy)], axis=1)


def held_out(taxonomy: Taxonomy, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Probabilities, two classes of each sample, and whether each node is right, by sets."""
    labels = taxonomy.leaves[np.random.default_rng(seed + 1).integers(0, taxonomy.num_classes, size=(12, 2))]
    above = ancestor_sets(taxonomy)
    right = np.array([[node in above[one] | above[two] for node in range(taxonomy.num_nodes)] for one, two in labels])
    return coherent(taxonomy, 12, seed), labels, right


@settings(deadline=None, max_examples=50)
@given(graphs(), st.integers(0, 1000))
def test_the_thresholds_are_those_of_the_highest_f1_and_of_a_precision(taxonomy: Taxonomy, seed: int) -> None:
    marginals, labels, right = held_out(taxonomy, seed)
    fitted = Several().fitted_to(marginals, labels, taxonomy)
    assert fitted.thresholds is not None
    assert fitted.at_precisions is not None
    for level, threshold in enumerate(fitted.thresholds):
        nodes = taxonomy.depths == level + 1
        values, truth = marginals[:, nodes].ravel(), right[:, nodes].ravel()
        of_f1 = {each: f1_score(truth, values >= each, zero_division=0) for each in np.unique(values)}
        if truth.any():
            assert of_f1[threshold] == pytest.approx(max(of_f1.values()))
        for wanted, thresholds in zip(PRECISIONS, fitted.at_precisions, strict=True):
            enough = [each for each in np.unique(values) if truth[values >= each].mean() >= wanted]
            assert thresholds[level] == min(enough, default=NEVER)


@settings(deadline=None, max_examples=50)
@given(graphs(), st.integers(0, 1000))
def test_an_answer_has_all_nodes_above_its_nodes(taxonomy: Taxonomy, seed: int) -> None:
    thresholds = np.random.default_rng(seed).random(taxonomy.height)
    asked = Several(thresholds=tuple(thresholds.tolist()))
    marginals = coherent(taxonomy, 5, seed)
    posterior = Posterior(np.full((5, taxonomy.num_classes), 1 / taxonomy.num_classes), taxonomy, marginals=marginals)
    above = ancestor_sets(taxonomy)
    likely = marginals >= thresholds[taxonomy.depths - 1]
    for row, (nodes, chosen) in enumerate(zip(asked.sets(posterior), asked.chosen(posterior), strict=True)):
        expected = {node for node in range(taxonomy.num_nodes) if all(likely[row, each] for each in above[node])}
        assert set(np.flatnonzero(chosen)) == expected
        assert set(nodes) == {node for node in expected if not any(node in above[each] - {each} for each in expected)}
        assert marginals[row, nodes].tolist() == sorted(marginals[row, nodes], reverse=True)
    single = asked(posterior).nodes.tolist()
    assert single == [nodes[0] if nodes else -1 for nodes in asked.sets(posterior)]


def test_a_request_sets_the_threshold_or_the_precision() -> None:
    stored = Several(thresholds=(0.5, 0.3), at_precisions=tuple((value, value) for value in PRECISIONS))
    chosen = AnswerRequest(confidence=0.8).chosen_rule(stored, None)
    assert isinstance(chosen, Several)
    assert chosen.level_thresholds(2).tolist() == [0.8, 0.8]
    precise = AnswerRequest(target_precision=0.92).chosen_rule(stored, None)
    assert isinstance(precise, Several)
    assert precise.level_thresholds(2).tolist() == [0.95, 0.95]  # the next precision that was looked for
    assert AnswerRequest().chosen_rule(stored, None) == stored
    assert AnswerRequest(rule="crm").chosen_rule(stored, None).name == "crm"
    with pytest.raises(RuleError, match="target_containment: expected one confidence or a target_precision"):
        AnswerRequest(target_containment=0.9).chosen_rule(stored, None)


def test_no_probability_reaches_a_precision_that_held_out_samples_do_not_tell() -> None:
    fitted = Several(precision=0.995, thresholds=(0.5,), at_precisions=tuple((0.9,) for _ in PRECISIONS))
    assert fitted.level_thresholds(1).tolist() == [NEVER]
    with pytest.raises(RuleError, match="held-out samples"):
        Several(precision=0.9).level_thresholds(1)


def test_a_restriction_leaves_only_nodes_above_allowed_classes() -> None:
    marginals = np.array([[0.9, 0.8, 0.7, 0.6, 0.8]])  # pet, vehicle, cat, dog, car
    posterior = Posterior([[0.3, 0.3, 0.4]], TOY, marginals=marginals).reweighted(np.array([True, False, False]))
    assert Several().sets(posterior) == [[2]]
    assert Several().sets(posterior.rows([0])) == [[2]]


def test_a_model_of_one_label_answers_with_the_nodes_above_a_half() -> None:
    assert Several().sets(Posterior([[0.6, 0.3, 0.1], [0.4, 0.3, 0.3]], TOY)) == [[2], [0]]


def test_it_is_stored_as_json() -> None:
    stored = Several(confidence=0.7, thresholds=(0.5,), at_precisions=((0.5,),))
    values = stored.to_dict() | {"thresholds": [0.5], "at_precisions": [[0.5]]}
    assert rule_from_dict(values) == stored


@pytest.mark.parametrize("name", ["confidence", "precision"])
def test_an_impossible_value_is_an_error(name: str) -> None:
    with pytest.raises(RuleError, match=f"expected a {name} above 0 and at most 1, got 1.5"):
        rule("several", **{name: 1.5})
