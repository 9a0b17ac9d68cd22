"""Logistic regression along a tree or graph against scikit-learn, autograd and a slow reference."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression

from hiercos import Taxonomy
from hiercos.methods.linear.convex import PathProblem, Prior, Solution
from hiercos.methods.linear.logistic import choose_prior
from hiercos.methods.linear.problem_features import DenseFeatures, SparseFeatures, SparseSamples, problem_features
from hiercos.methods.solver import LabelledFeatures
from trees import TOY17, graphs, random_tree, taxonomies


def samples(taxonomy: Taxonomy, count: int = 60, width: int = 5, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    labels = generator.integers(0, taxonomy.num_classes, count)
    centres = generator.normal(size=(taxonomy.num_classes, width))
    return (centres[labels] + generator.normal(size=(count, width))).astype(np.float32), labels


def slow_value(taxonomy: Taxonomy, rows: np.ndarray, labels: np.ndarray, nodes: np.ndarray, bias: np.ndarray) -> float:
    """The objective with one loop per sample and class; nodes are (F, N), bias is (C,), or (M, C) with offsets."""
    return sum(
        np.log(sum(np.exp(score) for score in scores)) - scores[label]
        for row, label, biases in zip(rows, labels, np.broadcast_to(bias, (len(rows), bias.shape[-1])), strict=True)
        for scores in [
            [
                biases[place] + sum(row @ nodes[:, node] for node in taxonomy.ancestors.list(int(leaf)))
                for place, leaf in enumerate(taxonomy.leaves)
            ]
        ]
    )


def slow_solution(
    taxonomy: Taxonomy, rows: np.ndarray, labels: np.ndarray, prior: Prior, offsets: np.ndarray
) -> np.ndarray:
    """Class weights (F, C) at the optimum beside offsets (M, C), sought in the weights of the nodes by SciPy."""
    deviations = np.sqrt(prior.node_variances(taxonomy))
    width, nodes = rows.shape[1], taxonomy.num_nodes

    def value(flat: np.ndarray) -> float:
        weights = flat[: width * nodes].reshape(width, nodes)
        penalty = 0.5 * float(np.square(weights).sum())
        return slow_value(taxonomy, rows, labels, weights * deviations, flat[width * nodes :] + offsets) + penalty

    found = minimize(value, np.zeros(width * nodes + taxonomy.num_classes), method="BFGS", options={"gtol": 1e-4})
    weights = found.x[: width * nodes].reshape(width, nodes) * deviations
    return np.stack([weights[:, taxonomy.ancestors.list(int(leaf))].sum(axis=1) for leaf in taxonomy.leaves], axis=1)


@pytest.mark.parametrize("kind", [np.asarray, csr_matrix])
@settings(max_examples=8, deadline=None)
@given(taxonomy=taxonomies(7) | graphs(7), shared=st.sampled_from([0.0, 0.5, 0.9]), spread=st.sampled_from([0, 2]))
def test_the_solution_equals_a_slow_one(kind: Any, taxonomy: Taxonomy, shared: float, spread: int) -> None:
    features, labels = samples(taxonomy, 7, 3)
    offsets = spread * np.random.default_rng(1).normal(size=(7, taxonomy.num_classes))
    problem = PathProblem(problem_features(kind(features)), labels, taxonomy, offsets=offsets if spread else None)
    prior = Prior(4.0, shared)
    weight, bias = problem.layer(problem.solve(prior))
    scaled = ((torch.as_tensor(features) - problem.features.shift) / problem.features.scale).double().numpy()
    expected = slow_solution(taxonomy, scaled, labels, prior, offsets)
    np.testing.assert_allclose((weight * problem.features.scale).numpy().T, expected, atol=0.01)
    assert bias.shape == (taxonomy.num_classes,)


@pytest.mark.parametrize("scaling", [0.0, 0.5, 1.0])
def test_features_are_divided_by_a_power_of_their_deviations(scaling: float) -> None:
    features = np.random.default_rng(0).normal(size=(50, 4)) * [1.0, 4.0, 16.0, 0.0]
    found = DenseFeatures(features, scaling)
    centred = features - features.mean(axis=0)
    expected = centred[:, :3] / centred[:, :3].std(axis=0) ** scaling
    expected /= np.sqrt(np.square(expected).sum(axis=1).mean())
    np.testing.assert_allclose(found.rows[:, :3].numpy(), expected, rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(found.rows[:, 3].numpy(), 0)
    np.testing.assert_allclose(((torch.as_tensor(features) - found.shift) / found.scale).numpy(), found.rows, atol=1e-6)


@pytest.mark.parametrize(("loud", "scaling"), [("meaning", 0.0), ("noise", 1.0)])
def test_the_scaling_of_features_is_chosen_on_held_out_samples(loud: str, scaling: float) -> None:
    random = np.random.default_rng(0)
    labels = np.arange(400) % TOY17.num_classes
    meaning, noise = np.eye(17)[labels] + 0.3 * random.normal(size=(400, 17)), random.normal(size=(400, 100))
    features = np.hstack([meaning, 0.05 * noise] if loud == "meaning" else [0.05 * meaning, noise]).astype(np.float32)
    parts = [LabelledFeatures(features[part], labels[part]) for part in (slice(200), slice(200, 400))]
    prior, _ = choose_prior(*parts, TOY17, (0.5, 0.0), seed=0)
    assert prior.scaling == scaling
    for shares in ((0.5, 0.0), (0.0,)):
        prior, start = choose_prior(*parts, TOY17, shares, seed=0)
        problem = PathProblem(problem_features(parts[0].features, scaling), parts[0].labels, TOY17)
        assert problem.solve(prior, start).steps < problem.solve(prior).steps  # the start is meant for this scaling


@settings(max_examples=20, deadline=None)
@given(taxonomy=taxonomies(12) | graphs(12), shared=st.sampled_from([0.0, 0.5, 0.9]))
def test_objective_and_gradient_equal_those_of_a_slow_objective_and_autograd(taxonomy: Taxonomy, shared: float) -> None:
    features, labels = samples(taxonomy, 7, 3)
    problem, prior = PathProblem(problem_features(features), labels, taxonomy), Prior(4.0, shared)
    roots = torch.as_tensor(prior.node_variances(taxonomy)).float().sqrt()
    torch.manual_seed(0)
    coefficients, bias = torch.randn(taxonomy.num_classes, 3), torch.randn(taxonomy.num_classes)
    descent = problem.descent(prior, Solution(coefficients, bias, prior, 0))
    members = [torch.isin(torch.arange(taxonomy.num_nodes), above(taxonomy, leaf)) for leaf in taxonomy.leaves]
    nodes = (torch.stack(members).float().T @ coefficients) * roots[:, None]  # (N, F), over their deviations
    rows = torch.as_tensor((features - problem.features.shift.numpy()) / problem.features.scale.numpy())
    expected = slow_value(taxonomy, rows.numpy(), labels, (nodes * roots[:, None]).T.numpy(), bias.numpy())
    assert descent.loss == pytest.approx(expected / 7, rel=1e-5, abs=1e-6)
    nodes.requires_grad_()
    classes = torch.stack([(nodes * roots[:, None])[chosen].sum(dim=0) for chosen in members])  # (C, F)
    loss = torch.nn.functional.cross_entropy(rows @ classes.T + bias, torch.as_tensor(labels))
    (loss + 0.5 * nodes.square().sum() / 7).backward()
    found = (torch.stack(members).float().T @ descent.gradient.coefficients) * roots[:, None]
    torch.testing.assert_close(found, nodes.grad, rtol=1e-4, atol=1e-5)


def above(taxonomy: Taxonomy, leaf: np.integer) -> torch.Tensor:
    """Ancestors of a class and itself."""
    return torch.as_tensor(taxonomy.ancestors.list(int(leaf)))


@settings(max_examples=30, deadline=None)
@given(taxonomy=taxonomies() | graphs(), shared=st.floats(0, 0.95))
def test_every_class_has_the_same_variance(taxonomy: Taxonomy, shared: float) -> None:
    variances = Prior(3.0, shared).node_variances(taxonomy)
    totals = [sum(variances[node] for node in taxonomy.ancestors.list(int(leaf))) for leaf in taxonomy.leaves]
    np.testing.assert_allclose(totals, 3.0)
    assert (variances >= 0).all()


def test_without_a_share_it_is_the_logistic_regression_of_scikit_learn() -> None:
    features, labels = samples(TOY17, 200)
    scale = (features - features.mean(0)) / features.std(0) / np.sqrt(features.shape[1])
    reference = LogisticRegression(C=16.0, tol=1e-8, max_iter=2000).fit(scale, labels)
    problem, prior = PathProblem(problem_features(features), labels, TOY17), Prior(16.0)
    weight, bias = problem.layer(problem.solve(prior))
    found = (torch.as_tensor(features) @ weight.T + bias).softmax(dim=1).numpy()
    np.testing.assert_allclose(found, reference.predict_proba(scale), atol=2e-3)


def test_weights_count_like_repeated_samples() -> None:
    features, labels = samples(TOY17, 80)
    times = np.where(np.arange(80) < 30, 2, 1)
    inputs, prior = DenseFeatures(features), Prior(16.0, 0.5)
    problem = PathProblem(inputs, labels, TOY17, times.astype(float))
    weight, _ = problem.layer(problem.solve(prior))
    inputs.rows, inputs.count = inputs.rows.repeat_interleave(torch.as_tensor(times), dim=0), int(times.sum())
    repeated = PathProblem(inputs, np.repeat(labels, times), TOY17)
    torch.testing.assert_close(weight, repeated.layer(repeated.solve(prior))[0], rtol=0.01, atol=0.01)


def test_directions_of_sparse_features_are_the_samples_only_if_these_are_fewer() -> None:
    features, labels = samples(TOY17, 40, 60)
    features[features < 0.8] = 0
    prior = Prior(16.0, 0.5)
    found = problem_features(csr_matrix(features))
    assert isinstance(found, SparseSamples)
    assert not isinstance(problem_features(csr_matrix(features[:, :30])), SparseSamples)
    one, other = (PathProblem(each, labels, TOY17) for each in (found, SparseFeatures(csr_matrix(features))))
    layers = [problem.layer(problem.solve(prior)) for problem in (one, other)]
    torch.testing.assert_close(*(weight for weight, _ in layers), rtol=0.01, atol=0.01)
    torch.testing.assert_close(*(bias for _, bias in layers), rtol=0.01, atol=0.01)


@pytest.mark.parametrize("trials", [1, 2, 10])
def test_the_loss_of_every_step_is_that_at_its_length(trials: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hiercos.methods.linear.descent.TRIALS", trials)
    taxonomy = random_tree(2)
    features, labels = samples(taxonomy, 100)
    problem = PathProblem(problem_features(features), labels, taxonomy)
    descent = problem.descent(Prior(1.0, 0.5), None)
    losses = [descent.loss]
    while descent.step():
        assert descent.loss == pytest.approx(problem.value(descent.logits)[0], rel=1e-6)
        losses.append(descent.loss)
    assert losses[-1] < losses[0]
