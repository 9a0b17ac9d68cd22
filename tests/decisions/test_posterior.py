import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import cross_entropy

from decisions.distributions import random_probabilities
from hiercos import Taxonomy
from hiercos.decisions import RULES, Posterior, PosteriorError, fit_factor, fit_temperature, prior_weights, rule
from hiercos.decisions.posterior import softmax
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
        ([[1.0, 2.0, 3.0]], 1e-320, r"expected a temperature from 1e-30 to 1e\+30, got 1e-320"),
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


def samples(seed: int, rows: int, temperature: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Scores, and labels drawn from their softmax at some temperature."""
    generator = torch.Generator().manual_seed(seed)
    scores = 3 * torch.randn(rows, 6, generator=generator)
    labels = torch.multinomial((scores / temperature).softmax(dim=1), 1, generator=generator).squeeze(1)
    return scores, labels


@pytest.mark.parametrize("temperature", [0.3, 1.0, 2.5, 40.0])
def test_the_temperature_that_made_the_labels_is_found(temperature: float) -> None:
    scores, labels = samples(0, 200_000, temperature)
    assert fit_temperature(scores, labels) == pytest.approx(temperature, rel=0.15 if temperature > 10 else 0.02)


@settings(deadline=None)
@given(st.integers(0, 1000), st.integers(1, 40), st.sampled_from([0.01, 0.5, 2.0, 100.0]))
def test_the_fit_is_never_less_likely_than_any_temperature_of_a_grid(seed: int, rows: int, scale: float) -> None:
    scores, labels = samples(seed, rows, scale)
    fitted = smoothed_loss(scores, labels, fit_temperature(scores, labels))
    for temperature in (1e-3, 0.1, 0.5, 1.0, 2.0, 10.0, 1e3):
        assert fitted <= smoothed_loss(scores, labels, temperature) + 1e-12


def smoothed_loss(scores: torch.Tensor, labels: torch.Tensor, temperature: float) -> float:
    """Slowly: the loss of all labels, and of one more sample, the mean of all, whose label is every class in turn."""
    logits = scores.double() / temperature
    classes = [cross_entropy(logits, torch.full_like(labels, label)).item() for label in range(scores.shape[1])]
    return (len(scores) * cross_entropy(logits, labels).item() + sum(classes) / len(classes)) / len(scores)


@pytest.mark.parametrize("rows", [3, 30, 3000])
def test_samples_that_are_all_right_get_the_confidence_of_one_more_that_may_be_any_class(rows: int) -> None:
    scores, labels = torch.eye(3).repeat(rows // 3, 1), torch.arange(3).repeat(rows // 3)
    confidence = softmax(scores.numpy(), fit_temperature(scores, labels))[0, 0]
    assert confidence == pytest.approx((rows + 1 / 3) / (rows + 1), abs=1e-6)


def test_scores_that_are_always_wrong_get_the_hottest_temperature() -> None:
    assert fit_temperature(torch.eye(3), torch.tensor([1, 2, 0])) == pytest.approx(1e3)


def test_constant_scores_leave_the_temperature_at_one() -> None:
    assert fit_temperature(torch.full((4, 3), 7.0), torch.tensor([0, 1, 2, 0])) == 1.0


def test_the_size_of_the_parts_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    scores, labels = samples(1, 500, 2.0)
    whole = fit_temperature(scores, labels)
    monkeypatch.setattr("hiercos.decisions.posterior.CHUNK", 600)
    assert fit_temperature(scores, labels) == pytest.approx(whole, rel=1e-9)


@pytest.mark.parametrize(
    ("scores", "labels", "message"),
    [
        (torch.empty(0, 3), torch.empty(0, dtype=torch.long), "at least one sample"),
        (torch.ones(2, 3), torch.tensor([0]), "expected 2 labels"),
        (torch.ones(2, 3), torch.tensor([0, 3]), "row 1: expected a class from 0 to 2, got label 3"),
        (torch.tensor([[0.0, 1.0], [0.0, torch.nan]]), torch.tensor([0, 1]), "row 1: expected finite scores"),
    ],
)
def test_what_has_no_likelihood_is_refused(scores: torch.Tensor, labels: torch.Tensor, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fit_temperature(scores, labels)


@settings(deadline=None, max_examples=40)
@given(taxonomies(), st.integers(0, 1000))
def test_only_the_rule_none_orders_by_an_order_of_its_own(taxonomy: Taxonomy, seed: int) -> None:
    scores, order = np.random.default_rng(seed).normal(size=(2, 4, taxonomy.num_classes))
    plain, both = Posterior.from_scores(scores, taxonomy), Posterior.from_scores(scores, taxonomy, order=order)
    np.testing.assert_array_equal(both.classes, plain.classes)
    np.testing.assert_array_equal(rule("none").ranking(both), order)
    np.testing.assert_array_equal(rule("none")(both).classes, order.argmax(axis=1))
    for name in sorted(set(RULES) - {"none", "costs", "darts", "unknown"}):
        np.testing.assert_array_equal(rule(name)(both).nodes, rule(name)(plain).nodes)
        np.testing.assert_array_equal(rule(name).ranking(both), rule(name).ranking(plain))
    np.testing.assert_array_equal(rule("auto")(both).classes, scores.argmax(axis=1))


def test_an_order_is_restricted_cut_into_batches_and_left_out_under_other_weights() -> None:
    posterior = Posterior.from_scores(
        [[3.0, 2.0, 1.0]] * 3, TOY, order=[[1.0, 2.0, 3.0], [3.0, 2.0, 1.0], [1.0, 3.0, 2.0]]
    )
    assert rule("none")(posterior).classes.tolist() == [2, 0, 1]
    pets = posterior.within([0])
    assert rule("none")(pets).classes.tolist() == [1, 0, 1]
    assert rule("none").ranking(pets)[:, 2].tolist() == [-np.inf] * 3
    assert np.concatenate([rule("none")(part).classes for part in posterior.batches(2)]).tolist() == [2, 0, 1]
    assert rule("none")(posterior.reweighted([1.0, 1.0, 20.0])).classes.tolist() == [2, 2, 2]
    assert rule("none")(posterior.reweighted([0.5, 0.5, 0.5])).classes.tolist() == [0, 0, 0]
    weighted = Posterior.from_scores([[3.0, 2.0, 1.0]], TOY, order=[[1.0, 2.0, 3.0]], class_weights=[1.0, 9.0, 1.0])
    assert rule("none")(weighted).classes.tolist() == [1]
    with pytest.raises(PosteriorError, match="a score is not a number"):
        Posterior.from_scores([[3.0, 2.0, 1.0]], TOY, order=[[1.0, np.nan, 3.0]])


@settings(deadline=None)
@given(st.integers(0, 1000), st.integers(1, 60), st.sampled_from([0.5, 2.0]), st.sampled_from([0.0, -1.5, 3.0]))
def test_the_fit_of_a_factor_is_never_less_likely_than_any_of_a_grid(
    seed: int, rows: int, scale: float, shift: float
) -> None:
    scores, labels = samples(seed, rows, scale)
    constants = torch.rand(6, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    scores = scores - shift * constants
    temperature, factor = fit_factor(scores, constants, labels)
    if temperature == pytest.approx(1e3):  # uninformative scores
        assert factor == 0
        return
    first = fit_temperature(scores, labels)

    def loss(factor: float, temperature: float) -> float:
        prior = (factor * first / temperature) ** 2 / 2 / rows
        return smoothed_loss(scores + factor * constants, labels, temperature) + prior

    fitted = loss(factor, temperature)
    for other in (-4.0, -0.5, 0.0, 0.5, 2.0, 8.0, factor - 0.05, factor + 0.05):
        for hot in (0.3, 1.0, 3.0, temperature, 0.98 * temperature, 1.02 * temperature):
            assert fitted <= loss(other, hot) + 1e-9


@settings(deadline=None)
@given(st.integers(0, 1000), st.sampled_from([1, 4, 16]))
def test_a_few_random_labels_do_not_move_the_factor_far(seed: int, rows: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    scores, constants = torch.randn(rows, 6, generator=generator), torch.rand(6, generator=generator)
    _, factor = fit_factor(scores, constants, torch.randint(6, (rows,), generator=generator))
    assert abs(factor) < 2


def test_the_factor_that_made_the_labels_is_found() -> None:
    scores, labels = samples(0, 200_000, 2.0)
    constants = torch.tensor([0.0, 1.0, 0.0, 2.0, 0.5, 1.0])
    temperature, factor = fit_factor(scores - 1.5 * constants, constants, labels)
    assert (temperature, factor) == (pytest.approx(2.0, rel=0.02), pytest.approx(1.5, rel=0.05))


def test_equal_constants_have_no_factor() -> None:
    scores, labels = samples(1, 100, 2.0)
    assert fit_factor(scores, np.full(6, 0.9), labels) == (fit_temperature(scores, labels), 0.0)
