import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decisions.distributions import random_probabilities
from hiercos import Taxonomy
from hiercos.decisions import Posterior, PosteriorError, prior_weights, rule
from trees import TOY, taxonomies


@settings(deadline=None)
@given(taxonomies(), st.integers(0, 1000))
def test_a_node_has_the_sum_of_the_classes_at_or_below_it(taxonomy: Taxonomy, seed: int) -> None:
    probabilities = random_probabilities(taxonomy, seed)
    expected = np.zeros((len(probabilities), taxonomy.num_nodes))
    for label, leaf in enumerate(taxonomy.leaves.tolist()):
        for node in taxonomy.path(leaf):
            expected[:, node] += probabilities[:, label]
    np.testing.assert_allclose(Posterior(probabilities, taxonomy).nodes, expected, atol=1e-12)


def test_scores_become_their_softmax_at_the_temperature() -> None:
    posterior = Posterior.from_scores([[2.0, 0.0, 1.0]], TOY, temperature=2.0)
    weights = np.exp([1.0, 0.0, 0.5])
    np.testing.assert_allclose(posterior.classes, [weights / weights.sum()])


@settings(deadline=None)
@given(taxonomies(), st.integers(0, 1000), st.floats(0.1, 10))
def test_logs_are_those_of_the_probabilities(taxonomy: Taxonomy, seed: int, temperature: float) -> None:
    scores = np.random.default_rng(seed).normal(size=(3, taxonomy.num_classes))
    found = Posterior.from_scores(scores, taxonomy, temperature=temperature).logs
    for row, logs in zip(scores.tolist(), found.tolist(), strict=True):
        total = math.fsum(math.exp(score / temperature) for score in row)
        assert logs == pytest.approx([score / temperature - math.log(total) for score in row], abs=1e-9)


def test_logs_of_probabilities_that_round_to_zero_are_finite() -> None:
    posterior = Posterior.from_scores([[0.0, -2000.0, -3000.0]], TOY)
    assert posterior.classes.tolist() == [[1.0, 0.0, 0.0]]
    assert posterior.logs.tolist() == [[0.0, -2000.0, -3000.0]]


def test_improbable_classes_keep_their_order() -> None:
    posterior = Posterior.from_scores(np.array([[0.0, -400.0, -401.0]], dtype=np.float32), TOY)
    assert posterior.classes[0, 1] > posterior.classes[0, 2] > 0


@settings(deadline=None)
@given(taxonomies(), st.integers(0, 1000), st.integers(1, 6))
def test_what_else_is_in_the_batch_changes_no_bit(taxonomy: Taxonomy, seed: int, size: int) -> None:
    scores = np.random.default_rng(seed).normal(size=(7, taxonomy.num_classes)).astype(np.float32)
    whole = Posterior.from_scores(scores, taxonomy, temperature=0.7)
    parts = [
        Posterior.from_scores(scores[start : start + size], taxonomy, temperature=0.7) for start in range(0, 7, size)
    ]
    assert np.array_equal(whole.nodes, np.concatenate([part.nodes for part in parts]))


def test_the_root_has_probability_one() -> None:
    posterior = Posterior([[0.5, 0.25, 0.25], [0.0, 0.0, 1.0]], TOY)
    assert posterior.of_nodes(np.array([-1, 1])).tolist() == [1.0, 1.0]
    assert posterior.of_nodes(np.array([0, 2])).tolist() == [0.75, 0.0]


@pytest.mark.parametrize(
    ("scores", "temperature", "message"),
    [
        ([[1.0, 2.0]], 1.0, r"shape \(M, 3\), got \(1, 2\)"),
        ([[1.0, 2.0, 3.0], [1.0, np.nan, 0.0]], 1.0, "row 2: a score is not a number"),
        ([[1.0, 2.0, 3.0], [-np.inf, np.inf, 0.0]], 1.0, "row 2: a score is infinite, expected a finite one"),
        ([[1.0, 2.0, 3.0]], 0.0, "expected a temperature above 0, got 0"),
        ([[1.0, 2.0, 3.0]], np.inf, "expected a temperature above 0, got inf"),
    ],
)
def test_scores_of_no_posterior_are_refused(scores: list[list[float]], temperature: float, message: str) -> None:
    with pytest.raises(PosteriorError, match=message):
        Posterior.from_scores(scores, TOY, temperature=temperature)


@settings(deadline=None)
@given(taxonomies(), st.integers(0, 1000), st.sampled_from([0.5, 1.0, 3.0]))
def test_a_prior_replaces_the_training_shares(taxonomy: Taxonomy, seed: int, temperature: float) -> None:
    generator = np.random.default_rng(seed)
    scores = generator.normal(size=(5, taxonomy.num_classes))
    prior, counts = generator.random(taxonomy.num_classes) + 0.1, generator.integers(1, 50, taxonomy.num_classes)
    weights = prior_weights(prior, counts)
    found = Posterior.from_scores(scores, taxonomy, temperature=temperature, class_weights=weights)
    plain = Posterior.from_scores(scores, taxonomy, temperature=temperature).classes
    for row, probabilities in enumerate(plain.tolist()):
        expected = [p * q / (n / counts.sum()) for p, q, n in zip(probabilities, prior, counts, strict=True)]
        np.testing.assert_allclose(found.classes[row], np.array(expected) / sum(expected), atol=1e-12)
    np.testing.assert_allclose(np.exp(found.logs), found.classes, atol=1e-12)


def test_the_training_shares_as_a_prior_change_nothing() -> None:
    scores, counts = [[1.0, 0.5, 0.0]], [7, 2, 1]
    weighted = Posterior.from_scores(scores, TOY, class_weights=prior_weights([0.7, 0.2, 0.1], counts))
    np.testing.assert_allclose(weighted.classes, Posterior.from_scores(scores, TOY).classes)


def test_under_equal_priors_the_likeliest_class_is_another() -> None:
    posterior = Posterior.from_scores([[1.0, 0.0, -1.0]], TOY, class_weights=prior_weights([1, 1, 1], [98, 1, 1]))
    assert rule("none")(posterior).classes.tolist() == [1]  # odds of e, and 98 times as many cats


@pytest.mark.parametrize(
    ("prior", "message"),
    [([1, 1], "expected a prior of each of the 3 classes, got 2"), ([1, 0, 1], "expected priors above 0")],
)
def test_priors_that_give_no_posterior_are_refused(prior: list[float], message: str) -> None:
    with pytest.raises(PosteriorError, match=message):
        prior_weights(prior, [1, 2, 3])
