"""Heads that a solver fits: logistic regression, Gaussian, support vectors."""

from typing import Any

import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix
from scipy.stats import multivariate_normal
from sklearn.covariance import ledoit_wolf
from sklearn.svm import LinearSVC

from hiercos import Taxonomy
from hiercos.methods import LabelledFeatures, Model
from hiercos.methods.linear.convex import Prior
from hiercos.methods.linear.linear_svm import Sigmoid, margin_layer
from hiercos.methods.linear.logistic import SHARES, choose_prior, held_out_loss, log_probabilities
from hiercos.methods.solver import folds
from solving import data, no_member, solved
from trees import TOY, TOY17

FLAT = Taxonomy.from_paths([(name,) for name in "abc"])


@pytest.mark.parametrize("taxonomy", [TOY, TOY17, FLAT], ids=["toy", "toy17", "flat"])
@pytest.mark.parametrize("name", ["logistic", "tree-logistic", "gaussian", "linear-svm"])
def test_solved_heads_learn_the_classes(name: str, taxonomy: Taxonomy) -> None:
    train, test = data(taxonomy, 40 * taxonomy.num_classes), data(taxonomy, 200, seed=1)
    model, _ = solved(name, taxonomy, train, None)
    accuracy = (model.array_scores(test.features).argmax(axis=1) == test.labels).mean()
    centroid = nearest_centroid(train, test)
    assert accuracy > centroid - 0.1
    assert accuracy > 1.5 / taxonomy.num_classes


def nearest_centroid(train: LabelledFeatures, test: LabelledFeatures) -> float:
    means = np.stack([train.features[train.labels == label].mean(axis=0) for label in np.unique(train.labels)])
    distances = np.square(test.features[:, None] - means).sum(axis=2)
    return float((np.unique(train.labels)[distances.argmin(axis=1)] == test.labels).mean())


def test_the_gaussian_head_is_the_posterior_of_gaussians_with_one_covariance() -> None:
    train, test = data(TOY, 300), data(TOY, 50, seed=1)
    model, _ = solved("gaussian", TOY, train, None)
    mean, scale = model.standardize.mean.numpy(), model.standardize.scale.numpy()
    learned, asked = (train.features - mean) / scale, (test.features - mean) / scale
    means = np.stack([learned[train.labels == label].mean(axis=0) for label in range(3)])
    covariance, _ = ledoit_wolf(learned - means[train.labels], assume_centered=True)
    logs = np.stack(
        [
            multivariate_normal(means[label], covariance).logpdf(asked) + np.log((train.labels == label).mean())
            for label in range(3)
        ],
        axis=1,
    )
    found = torch.as_tensor(model.array_scores(test.features)).softmax(dim=1).numpy()
    np.testing.assert_allclose(found, torch.as_tensor(logs).softmax(dim=1).numpy(), atol=1e-4)


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
    model, found = solved("linear-svm", TOY17, train, val)
    strength, sigmoid = model.solver.strength, model.solver.sigmoid
    weight, bias = margin_layer(train, strength, model.head, seed=0)
    margins = val.features @ weight.numpy().T + bias.numpy()
    sigmoids = 1 / (1 + np.exp(-(sigmoid.slope * margins + sigmoid.shift)))
    expected = sigmoids / sigmoids.sum(axis=1, keepdims=True)
    assert np.allclose(np.exp(log_probabilities(model.array_scores(val.features))), expected, atol=1e-5)
    assert found.choice == f"C {strength:g}"


def test_the_strength_of_a_linear_svm_is_chosen_by_log_loss_on_enough_validation_samples() -> None:
    noisy = data(TOY17, 170)
    noisy = LabelledFeatures(noisy.features, np.where(np.arange(170) % 3 == 0, (noisy.labels + 1) % 17, noisy.labels))
    val = data(TOY17, 400, seed=1)
    chosen, _ = solved("linear-svm", TOY17, noisy, val)
    fixed, _ = solved("linear-svm", TOY17, noisy, val, strength=1.0)
    few, _ = solved("linear-svm", TOY17, noisy, val.rows(np.arange(400) < 199))
    assert (fixed.solver.strength, few.solver.strength) == (1.0, 1.0)
    assert chosen.solver.strength != 1.0
    losses = [held_out_loss(model.array_scores(val.features), val.labels) for model in (chosen, fixed)]
    assert losses[0] < losses[1]


def test_a_linear_svm_that_is_solved_again_keeps_its_strength_and_sigmoid() -> None:
    train, val = data(TOY17, 300), data(TOY17, 250, seed=1)
    model, _ = solved("linear-svm", TOY17, train, val)
    before, scores = model.solver.sigmoid, model.array_scores(val.features)
    model.solve(train, None, seed=0, train_member=no_member)
    assert model.solver.sigmoid == before
    assert np.allclose(model.array_scores(val.features), scores, atol=1e-5)


def test_weights_of_older_linear_svms_score_by_margins() -> None:
    train = data(TOY17, 300)
    model, _ = solved("linear-svm", TOY17, train, None)
    older = Model(TOY17, train.features.shape[1], "linear-svm", {})
    older.load_state_dict({name: value for name, value in model.state_dict().items() if "has_sigmoid" not in name})
    margins = train.features @ model.head.weight.detach().numpy().T + model.head.bias.detach().numpy()
    assert np.allclose(older.array_scores(train.features), margins, atol=1e-4)


def test_the_tree_is_ignored_where_it_misleads_and_used_where_it_helps() -> None:
    generator = np.random.default_rng(0)
    tree = Taxonomy.from_paths([(f"group {place // 5}", f"class {place}") for place in range(20)])
    groups = generator.normal(size=(4, 30)) * 3
    helpful = np.repeat(groups, 5, axis=0) + generator.normal(size=(20, 30))

    def drawn(centres: np.ndarray, count: int) -> LabelledFeatures:
        labels = np.arange(count) % 20
        noise = generator.normal(size=(count, 30)) * 3
        return LabelledFeatures((centres[labels] + noise).astype(np.float32), labels)

    prior, _ = choose_prior(drawn(helpful, 60), drawn(helpful, 2000), tree, (0.0, 0.5, 0.8), seed=0)
    assert prior.shared > 0


@pytest.mark.parametrize(
    ("kind", "shares", "expected"),
    [
        (np.asarray, SHARES, Prior(4096, 0.8, 0.0)),
        (np.asarray, (0.0,), Prior(4096, 0.0, 0.0)),
        (lambda features: features * np.array([1, 1, 1, 1, 1000]), SHARES, Prior(4096, 0.8, 0.5)),
        (csr_matrix, SHARES, Prior(16384, 0.8)),
    ],
)
def test_one_sample_of_each_class_without_validation_has_a_fixed_prior(kind: Any, shares: Any, expected: Prior) -> None:
    features = np.random.default_rng(0).normal(size=(17, 5)).astype(np.float32)
    train = LabelledFeatures(kind(features), np.arange(17))
    assert choose_prior(train, None, TOY17, shares, seed=0) == (expected, None)


def test_folds_hold_out_every_sample_once_and_spread_the_classes() -> None:
    labels = np.repeat([0, 1, 2], [10, 5, 1])
    masks = folds(labels, 5, seed=3)
    assert np.stack(masks).sum(axis=0).tolist() == [1] * 16
    assert [int((labels[mask] == 0).sum()) for mask in masks] == [2] * 5


def test_sparse_and_dense_features_give_the_same_scores() -> None:
    train = data(TOY17, 300)
    model, _ = solved("logistic", TOY17, train, None)
    sparse = csr_matrix(train.features)
    np.testing.assert_allclose(model.array_scores(sparse), model.array_scores(train.features), rtol=1e-4, atol=1e-4)
