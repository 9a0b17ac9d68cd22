"""The linear support vector machine: its answers, its sigmoid and its strength."""

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.svm import LinearSVC

from hiercos import Taxonomy
from hiercos.methods import METHODS, LabelledFeatures, MethodError
from hiercos.methods.linear.linear_svm import Sigmoid, margin_weights
from hiercos.methods.linear.logistic import held_out_loss, log_probabilities
from solving import data, solved
from trees import TOY, TOY17


@pytest.mark.parametrize("kind", [np.asarray, csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("taxonomy", [TOY, Taxonomy.from_paths([("a", "b"), ("a", "c")])], ids=["three", "two"])
def test_the_support_vector_head_answers_like_scikit_learn(taxonomy: Taxonomy, kind: Any) -> None:
    train, test = data(taxonomy, 120), data(taxonomy, 60, seed=1)
    loud = np.geomspace(0.1, 10, train.features.shape[1]).astype(np.float32)  # units of the features
    inputs, others = train.features * loud, test.features * loud
    model, _ = solved("linear-svm", taxonomy, LabelledFeatures(kind(inputs), train.labels), None)
    shift, scale = (inputs.mean(axis=0), inputs.std(axis=0) ** 0.5) if kind is np.asarray else (0.0, 1.0)
    norm = np.sqrt(np.square((inputs - shift) / scale).sum(axis=1).mean()) if kind is np.asarray else 1.0
    reference = LinearSVC(dual="auto", random_state=0).fit((inputs - shift) / scale / norm, train.labels)
    expected = reference.predict((others - shift) / scale / norm)
    assert (model.array_scores(kind(others)).argmax(axis=1) == expected).all()


@pytest.mark.parametrize("kind", [np.asarray, csr_matrix])
@pytest.mark.parametrize("classes", [2, 5, 16])
def test_a_class_without_samples_is_never_the_answer_of_the_support_vectors(kind: Any, classes: int) -> None:
    train = data(TOY17, 400)
    seen = train.rows(train.labels < classes)
    model, _ = solved("linear-svm", TOY17, LabelledFeatures(kind(seen.features), seen.labels), None)
    for factor in (1, 10, 100):
        answers = model.array_scores(kind(factor * train.features)).argmax(axis=1)
        assert answers.max() < classes


def test_an_absent_class_is_no_answer_to_samples_far_beyond_all_others() -> None:
    train = data(TOY17, 400)
    seen = train.rows(train.labels > 3)
    model, _ = solved("linear-svm", TOY17, seen, None)
    assert model.array_scores(10_000 * train.features).argmax(axis=1).min() > 3


def test_the_sigmoid_of_margins_has_the_smallest_log_loss_of_a_grid() -> None:
    generator = np.random.default_rng(0)
    labels = generator.integers(0, 4, size=300)
    margins = generator.normal(size=(300, 4)) + 1.5 * np.eye(4)[labels] - 1
    sigmoid, loss = Sigmoid.fit(margins, labels)
    probabilities = 1 / (1 + np.exp(-(sigmoid.slope * margins + sigmoid.shift)))
    assert np.allclose(sigmoid.scores(margins), np.log(probabilities))
    grid = [
        held_out_loss(Sigmoid(slope, shift).scores(margins), labels)
        for slope in np.geomspace(0.05, 50, 25)
        for shift in np.linspace(-8, 8, 33)
    ]
    assert min(grid) * (1 + 1e-4) >= loss >= 0.98 * min(grid)


def test_probabilities_of_a_linear_svm_are_its_sigmoids_over_their_sum() -> None:
    train, val = data(TOY17, 300), data(TOY17, 250, seed=1)
    model, _ = solved("linear-svm", TOY17, train, val)
    strength, sigmoid = model.solver.strength, model.solver.sigmoid
    weight, bias = margin_weights(train, strength, 17, seed=0)
    margins = val.features @ weight.numpy().T + bias.numpy()
    sigmoids = 1 / (1 + np.exp(-(sigmoid.slope * margins + sigmoid.shift)))
    expected = sigmoids / sigmoids.sum(axis=1, keepdims=True)
    assert np.allclose(np.exp(log_probabilities(model.array_scores(val.features))), expected, atol=1e-5)


def noisy_data(seed: int = 0) -> LabelledFeatures:
    """Samples of which a third have a wrong class, so that a strong penalty is best."""
    clean = data(TOY17, 170, seed=seed)
    return LabelledFeatures(clean.features, np.where(np.arange(170) % 3 == 0, (clean.labels + 1) % 17, clean.labels))


def test_the_strength_of_a_linear_svm_is_chosen_by_log_loss_on_enough_validation_samples() -> None:
    train, val = noisy_data(), data(TOY17, 400, seed=1)
    chosen, found = solved("linear-svm", TOY17, train, val)
    fixed, of_fixed = solved("linear-svm", TOY17, train, val, strength=1.0)
    few, of_few = solved("linear-svm", TOY17, train, val.rows(np.arange(400) < 199))
    assert (fixed.solver.strength, few.solver.strength) == (1.0, 1.0)
    assert chosen.solver.strength != 1.0
    assert (found.choice, of_fixed.choice, of_few.choice) == (f"C {chosen.solver.strength:g}", "", "")
    losses = [held_out_loss(model.array_scores(val.features), val.labels) for model in (chosen, fixed)]
    assert losses[0] < losses[1]


def test_a_linear_svm_that_is_solved_again_keeps_its_strength_and_sigmoid() -> None:
    model, _ = solved("linear-svm", TOY17, noisy_data(), data(TOY17, 400, seed=1))
    strength, sigmoid, others = model.solver.strength, model.solver.sigmoid, noisy_data(seed=2)
    assert strength != 1.0
    model.solve(others, None, seed=0)
    assert (model.solver.strength, model.solver.sigmoid) == (strength, sigmoid)
    weight, bias = margin_weights(others, strength, 17, seed=0)
    margins = others.features @ weight.numpy().T + bias.numpy()
    assert np.allclose(model.array_scores(others.features), sigmoid.scores(margins), atol=1e-4)


@pytest.mark.parametrize("strength", [0.0, -1.0])
def test_a_strength_that_is_not_above_0_is_refused(strength: float) -> None:
    with pytest.raises(MethodError, match="strength: expected a number above 0, got"):
        METHODS["linear-svm"](TOY17, in_features=2, strength=strength)
