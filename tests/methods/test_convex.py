"""Logistic regression along a tree or graph against scikit-learn, autograd and a slow reference."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression

from hiercos import Taxonomy
from hiercos.methods.convex import Inputs, PathProblem, Prior
from trees import TOY17, graphs, random_tree, taxonomies


def samples(taxonomy: Taxonomy, count: int = 60, width: int = 5, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    labels = generator.integers(0, taxonomy.num_classes, count)
    centres = generator.normal(size=(taxonomy.num_classes, width))
    return (centres[labels] + generator.normal(size=(count, width))).astype(np.float32), labels


def slow_value(taxonomy: Taxonomy, rows: np.ndarray, labels: np.ndarray, nodes: np.ndarray, bias: np.ndarray) -> float:
    """The objective with one loop per sample and class; nodes are (F, N), already divided by their deviation."""
    return sum(
        np.log(sum(np.exp(score) for score in scores)) - scores[label]
        for row, label in zip(rows, labels, strict=True)
        for scores in [
            [
                bias[place] + sum(row @ nodes[:, node] for node in taxonomy.ancestors.list(int(leaf)))
                for place, leaf in enumerate(taxonomy.leaves)
            ]
        ]
    )


@settings(max_examples=20, deadline=None)
@given(taxonomy=taxonomies(12) | graphs(12), shared=st.sampled_from([0.0, 0.5, 0.9]))
def test_the_objective_equals_a_slow_one_and_its_gradient_that_of_autograd(taxonomy: Taxonomy, shared: float) -> None:
    features, labels = samples(taxonomy, 7, 3)
    problem = PathProblem(Inputs(features), labels, taxonomy)
    roots = torch.as_tensor(Prior(4.0, shared).node_variances(taxonomy)).float().sqrt()
    torch.manual_seed(0)
    nodes = torch.randn(3, taxonomy.num_nodes, requires_grad=True)
    bias = torch.randn(taxonomy.num_classes, requires_grad=True)
    loss, slope, bias_slope = problem.value(nodes.detach(), bias.detach(), roots)
    expected = slow_value(
        taxonomy, problem.inputs.rows.numpy(), labels, (nodes * roots).detach().numpy(), bias.detach().numpy()
    )
    assert loss == pytest.approx((expected + 0.5 * float(nodes.detach().square().sum())) / 7, rel=1e-5)
    logits = problem.inputs.rows @ problem.class_weights(nodes, roots) + bias
    value = torch.nn.functional.cross_entropy(logits, torch.as_tensor(labels)) + 0.5 * nodes.square().sum() / 7
    value.backward()
    torch.testing.assert_close(slope, nodes.grad, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(bias_slope, bias.grad, rtol=1e-4, atol=1e-5)


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
    problem, prior = PathProblem(Inputs(features), labels, TOY17), Prior(16.0)
    weight, bias = problem.layer(problem.solve(prior), prior)
    found = (torch.as_tensor(features) @ weight.T + bias).softmax(dim=1).numpy()
    np.testing.assert_allclose(found, reference.predict_proba(scale), atol=2e-3)


def test_a_warm_start_ends_at_the_same_optimum() -> None:
    taxonomy = random_tree(1)
    features, labels = samples(taxonomy, 150)
    problem, prior = PathProblem(Inputs(features), labels, taxonomy), Prior(64.0, 0.5)
    cold = problem.solve(prior)
    warm = problem.solve(prior, problem.solve(Prior(4.0, 0.0)))
    one, other = (problem.layer(each, prior)[0] for each in (cold, warm))
    torch.testing.assert_close(one, other, rtol=0.02, atol=0.02)


def test_sparse_features_give_the_solution_of_the_same_dense_problem() -> None:
    features, labels = samples(TOY17, 120, 8)
    features[features < 0.8] = 0
    sparse = PathProblem(Inputs(csr_matrix(features)), labels, TOY17)
    rows = sparse.inputs.rows.to_dense()
    torch.testing.assert_close(rows * sparse.inputs.scale, torch.as_tensor(features))
    assert float(rows.square().sum(dim=1).mean()) == pytest.approx(1, rel=1e-5)
    nodes, bias = torch.randn(8, TOY17.num_nodes), torch.randn(TOY17.num_classes)
    roots = torch.ones(TOY17.num_nodes)
    loss, slope, _ = sparse.value(nodes, bias, roots)
    sparse.inputs.rows, sparse.inputs.columns = rows, rows.T
    again, dense_slope, _ = sparse.value(nodes, bias, roots)
    assert loss == pytest.approx(again, rel=1e-5)
    torch.testing.assert_close(slope, dense_slope, rtol=1e-4, atol=1e-5)


def test_weights_count_like_repeated_samples() -> None:
    features, labels = samples(TOY17, 80)
    twice = np.arange(80) < 30
    repeated = PathProblem(Inputs(features), labels, TOY17, np.where(twice, 2.0, 1.0))
    nodes, bias = torch.randn(5, TOY17.num_nodes), torch.randn(TOY17.num_classes)
    roots = torch.ones(TOY17.num_nodes)
    weighted = repeated.value(nodes, bias, roots)[0]
    once = PathProblem(Inputs(features), labels, TOY17).value(nodes, bias, roots)[0]
    half = PathProblem(Inputs(features), labels, TOY17, twice.astype(float)).value(nodes, bias, roots)[0]
    penalty = 0.5 * float(nodes.square().sum()) / 80
    assert weighted == pytest.approx(once + half - penalty, rel=1e-5)
