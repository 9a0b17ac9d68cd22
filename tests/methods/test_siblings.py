"""One-vs-rest models at inner nodes: their weights, probabilities, virtual nodes and choices."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from sklearn.svm import LinearSVC

from blobs import FEATURES
from hiercos import Taxonomy
from hiercos.encoders import VectorSamples, launched
from hiercos.methods import METHODS, LabelledFeatures, MethodError, Model
from hiercos.methods.linear import sibling_problems
from hiercos.methods.linear.logistic import held_out_loss
from hiercos.methods.linear.sibling_problems import SMALL, TOLERANCE, SiblingProblem
from hiercos.methods.siblings import USUAL_INVERSE
from hiercos.model import Classifier, ModelError, class_scores
from solving import data, solved
from trees import TOY, TOY17, taxonomies

WIDE_TREE = Taxonomy.from_paths([("goods", f"class {number}") for number in range(60)] + [("services",)])


def sparse(rows: LabelledFeatures) -> LabelledFeatures:
    """The same samples without their smaller values."""
    return LabelledFeatures(csr_matrix(np.where(np.abs(rows.features) < 1, 0, rows.features)), rows.labels)


def node_weights(model: Model) -> tuple[np.ndarray, np.ndarray]:
    """Weights (K, F) and biases (K,) of the margins, before the temperature."""
    head = model.head
    return head.dense.numpy() / USUAL_INVERSE, head.bias.numpy() / USUAL_INVERSE


def test_the_weights_of_every_node_are_those_of_linear_svc_on_the_rows_below_its_parent() -> None:
    train = sparse(data(TOY17, 300))
    model, _ = solved("siblings", TOY17, train, None, strength=0.5)
    weights, biases = node_weights(model)
    scale = np.sqrt(train.features.multiply(train.features).sum() / 300)
    paths = TOY17.path_table(TOY17.leaves[train.labels])
    compared = 0
    for parent in {*TOY17.parents.tolist()}:
        children = np.flatnonzero(TOY17.parents == parent)
        own = paths[:, TOY17.depths[children[0]] - 1]
        rows = np.flatnonzero(np.isin(own, children))
        if len(children) == 1:
            assert not weights[children].any()
            continue
        reference = LinearSVC(C=0.5, tol=TOLERANCE, dual=True, random_state=0)
        reference.fit(train.features[rows] / np.float32(scale), own[rows])
        expected, bias = reference.coef_, reference.intercept_
        if len(children) == 2:
            expected, bias = np.concatenate([-expected, expected]), np.concatenate([-bias, bias])
        expected = np.where(np.abs(expected) < SMALL, 0, expected)
        assert 0 < (expected == 0).sum() + (parent != -1) < expected.size
        np.testing.assert_allclose(weights[children] * scale, expected, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(biases[children], bias, rtol=1e-4, atol=1e-5)
        compared += 1
    assert compared == 6


def test_weights_of_dense_features_are_those_of_linear_svc_on_features_divided_by_the_root_of_their_deviation() -> None:
    train = data(TOY, 90)
    model, _ = solved("siblings", TOY, train, None, strength=0.5)
    weights, biases = node_weights(model)
    inputs = (train.features - train.features.mean(axis=0)) / train.features.std(axis=0) ** 0.5
    inputs /= np.sqrt(np.square(inputs).sum(axis=1).mean())
    reference = LinearSVC(C=0.5, tol=TOLERANCE, dual=True, random_state=0).fit(inputs, train.labels == 2)
    expected = reference.decision_function(inputs)  # of vehicles
    margins = train.features @ weights.T + biases
    np.testing.assert_allclose(margins[:, 1], expected, atol=1e-3)
    np.testing.assert_allclose(margins[:, 0], -expected, atol=1e-3)


@pytest.mark.parametrize("change", [np.asarray, csr_matrix])
def test_probabilities_are_products_of_softmaxes_of_siblings_along_the_path(change: Any) -> None:
    train = data(TOY17, 200)
    train = LabelledFeatures(change(train.features), train.labels)
    model, _ = solved("siblings", TOY17, train, None)
    head = model.head
    margins = data(TOY17, 40, seed=1).features @ head.dense.T.numpy() + head.bias.numpy()
    expected = np.ones((40, 17))
    for label, leaf in enumerate(TOY17.leaves):
        for node in TOY17.path(int(leaf)):
            family = np.flatnonzero(TOY17.parents == TOY17.parents[node])
            expected[:, label] *= np.exp(margins[:, node]) / np.exp(margins[:, family]).sum(axis=1)
    scores = model.array_scores(change(data(TOY17, 40, seed=1).features))
    np.testing.assert_allclose(np.exp(scores), expected, atol=1e-6)


@settings(max_examples=40, deadline=None)
@given(
    taxonomy=taxonomies(), kind=st.sampled_from(["dense", "sparse"]), rows=st.integers(1, 40), seed=st.integers(0, 9)
)
def test_probabilities_of_any_tree_and_labels_sum_to_one_and_are_coherent(
    taxonomy: Taxonomy, kind: str, rows: int, seed: int
) -> None:
    generator = np.random.default_rng(seed)
    features = (generator.normal(size=(rows, 6)) * (generator.random((rows, 6)) < 0.6)).astype(np.float32)
    labels = generator.integers(0, taxonomy.num_classes + taxonomy.num_nodes, size=rows)
    inputs = features if kind == "dense" else csr_matrix(features)
    model, _ = solved("siblings", taxonomy, LabelledFeatures(inputs, labels), None)
    outputs = torch.from_numpy(model.array_scores(inputs))
    assert torch.isfinite(outputs).all()
    torch.testing.assert_close(outputs.exp().sum(dim=1), torch.ones(rows))
    nodes = model.node_scores(model.class_scores(outputs)).numpy()
    for parent in range(taxonomy.num_nodes):
        children = np.flatnonzero(taxonomy.parents == parent)
        if len(children):
            np.testing.assert_allclose(nodes[:, children].sum(axis=1), nodes[:, parent], atol=1e-5)


def test_labels_at_inner_nodes_teach_the_models_above_them_and_no_other() -> None:
    train = data(TOY17, 300)
    node = TOY17.names.index("B1")
    below = np.array([node in TOY17.path(int(leaf)) for leaf in TOY17.leaves])[train.labels]
    vague = below & (np.arange(300) % 2 == 0)
    labels = np.where(vague, TOY17.num_classes + node, train.labels)
    mixed, _ = solved("siblings", TOY17, LabelledFeatures(train.features, labels), None)
    full, _ = solved("siblings", TOY17, train, None)
    expected, found = (model.head.dense for model in (full, mixed))
    above = [*np.flatnonzero(np.isin(TOY17.parents, [-1, TOY17.names.index("A1"), TOY17.names.index("B2")]))]
    inside = [*np.flatnonzero(TOY17.parents == node)]
    assert torch.equal(found[above], expected[above])
    assert not torch.allclose(found[inside], expected[inside])


@pytest.mark.parametrize("change", [np.asarray, csr_matrix])
def test_a_class_without_rows_is_never_the_answer(change: Any) -> None:
    train = data(TOY17, 400)
    seen = train.rows(train.labels > 3)
    model, _ = solved("siblings", TOY17, LabelledFeatures(change(seen.features), seen.labels), None)
    for factor in (1, 100, 10_000):
        assert model.array_scores(change(factor * train.features)).argmax(axis=1).min() > 3


def wide_data(count: int = 600) -> LabelledFeatures:
    train = data(WIDE_TREE, count)
    return LabelledFeatures(csr_matrix(train.features), train.labels)


@pytest.mark.parametrize("change", [csr_matrix.toarray, csr_matrix])
def test_a_wide_node_is_split_by_virtual_nodes_that_no_output_shows(
    monkeypatch: pytest.MonkeyPatch, change: Any
) -> None:
    train = wide_data()
    train = LabelledFeatures(change(train.features), train.labels)
    whole, _ = solved("siblings", WIDE_TREE, train, None)
    assert whole.head.tree is WIDE_TREE
    monkeypatch.setattr(sibling_problems, "MOST_PRODUCTS", 10_000)
    split, _ = solved("siblings", WIDE_TREE, train, None)
    tree = split.head.tree
    assert tree.num_nodes > WIDE_TREE.num_nodes
    assert np.bincount(tree.parents + 1).max() <= sibling_problems.WIDE
    assert [name in WIDE_TREE.names for name in split.taxonomy.names].count(False) == 0
    for model in (whole, split):
        scores = model.array_scores(train.features)
        assert scores.shape == (600, 61)
        np.testing.assert_allclose(np.exp(scores).sum(axis=1), 1, atol=1e-5)
        assert (scores.argmax(axis=1) == train.labels).mean() > 0.5


def test_virtual_nodes_have_the_temperature_of_the_nodes_that_they_group(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sibling_problems, "MOST_PRODUCTS", 1_000)
    monkeypatch.setattr(sibling_problems, "WIDE", 4)
    problem = SiblingProblem(wide_data(), WIDE_TREE, 0)
    levels = problem.levels[problem.places]
    assert set(levels[WIDE_TREE.num_nodes :]) == {1}
    assert (levels[: WIDE_TREE.num_nodes] == WIDE_TREE.depths - 1).all()
    assert problem.tree.height > 3  # groups within groups


def test_children_that_no_clustering_can_part_are_split_evenly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sibling_problems, "MOST_PRODUCTS", 1)
    equal = LabelledFeatures(csr_matrix(np.ones((600, 3), np.float32)), np.arange(600) % 61)
    problem = SiblingProblem(equal, WIDE_TREE, 0)
    assert np.bincount(problem.tree.parents + 1).max() <= sibling_problems.WIDE


def test_children_that_are_solved_in_parts_have_the_weights_of_all_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sibling_problems, "TOLERANCE", 1e-6)
    train = data(WIDE_TREE, 600)
    whole, _ = solved("siblings", WIDE_TREE, train, None)
    monkeypatch.setattr(sibling_problems, "MOST_COEFFICIENTS", 7 * FEATURES)
    parts, _ = solved("siblings", WIDE_TREE, train, None)
    torch.testing.assert_close(parts.head.dense, whole.head.dense, rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(parts.head.bias, whole.head.bias, rtol=1e-3, atol=1e-3)


def test_a_sample_of_weight_two_counts_like_two(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sibling_problems, "TOLERANCE", 1e-6)
    train = data(TOY, 60)
    weights = np.where(np.arange(60) % 3 == 0, 2.0, 1.0).astype(np.float32)
    rows = np.repeat(np.arange(60), weights.astype(int))
    problems = [
        SiblingProblem(LabelledFeatures(csr_matrix(train.features), train.labels, weights), TOY, 0),
        SiblingProblem(LabelledFeatures(csr_matrix(train.features[rows]), train.labels[rows]), TOY, 0),
    ]
    problems[1].features *= problems[1].scaled.scale[0] / problems[0].scaled.scale[0]
    first, second = (problem.assembled(problem.solve(problem.families, 1.0)) for problem in problems)
    np.testing.assert_allclose(first.matrix.toarray(), second.matrix.toarray(), atol=2e-3)


@pytest.mark.parametrize("change", [np.asarray, csr_matrix])
def test_a_stored_model_has_the_same_bits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Any) -> None:
    monkeypatch.setattr(sibling_problems, "MOST_PRODUCTS", 10_000)
    train = wide_data()
    train = LabelledFeatures(change(train.features.toarray()), train.labels)
    model, _ = solved("siblings", WIDE_TREE, train, None)
    Classifier(model, None).save(tmp_path)
    found = Classifier.load(tmp_path).model
    assert found.head.tree.num_nodes > WIDE_TREE.num_nodes
    assert all(torch.equal(value, found.state_dict()[name]) for name, value in model.state_dict().items())
    assert (found.array_scores(train.features) == model.array_scores(train.features)).all()


@pytest.mark.parametrize(
    ("name", "value"),
    [("columns", 61 + 1), ("columns", -1), ("starts", 10**6), ("starts", -1), ("parents", 61), ("parents", -2)],
)
def test_stored_weights_that_do_not_fit_are_refused(tmp_path: Path, name: str, value: int) -> None:
    model, _ = solved("siblings", WIDE_TREE, wide_data(), None)
    getattr(model.head, name)[3] = value
    Classifier(model, None).save(tmp_path)
    with pytest.raises(ModelError, match="the parts of the model do not fit together"):
        Classifier.load(tmp_path)


@pytest.mark.parametrize("change", [torch.from_numpy, csr_matrix])
def test_the_scores_of_a_row_are_the_same_to_the_bit_whatever_shares_its_batch(change: Any) -> None:
    train = wide_data() if change is csr_matrix else data(WIDE_TREE, 600)
    model, _ = solved("siblings", WIDE_TREE, train, None)
    features = data(WIDE_TREE, 300, seed=1).features
    together = class_scores(launched("cpu"), model, VectorSamples(change(features)))
    for row in (0, 17, 299):
        alone = class_scores(launched("cpu"), model, VectorSamples(change(features[[row]])))
        assert torch.equal(alone[0], together[row])


def noisy(count: int, seed: int = 0) -> LabelledFeatures:
    """Sparse samples of which a third have a wrong class."""
    clean = sparse(data(TOY17, count, seed=seed))
    return LabelledFeatures(clean.features, np.where(np.arange(count) % 3 == 0, (clean.labels + 1) % 17, clean.labels))


def test_strength_and_temperatures_have_the_smallest_log_loss_on_validation_and_are_kept() -> None:
    train, val = noisy(340), noisy(500, seed=1)
    model, found = solved("siblings", TOY17, train, val)
    assert found.choice == f"C {model.solver.strength:g}"
    losses = {}
    for strength in (0.125, model.solver.strength, 16.0):
        other, said = solved("siblings", TOY17, train, val, strength=strength)
        losses[strength] = held_out_loss(other.array_scores(val.features), val.labels)
        assert said.choice == ""
    assert min(losses, key=losses.__getitem__) == model.solver.strength
    own = losses[model.solver.strength]
    for level in model.solver.inverses:
        for factor in (0.7, 1.4):
            other, _ = solved("siblings", TOY17, train, val, strength=model.solver.strength)
            other.solver.inverses[level] *= factor
            other.solve(train, None, seed=0)
            assert held_out_loss(other.array_scores(val.features), val.labels) > own
    again = Model(TOY17, FEATURES, "siblings")
    again.solve_again(noisy(200, seed=2), model, seed=0)
    assert (again.solver.strength, again.solver.inverses) == (model.solver.strength, model.solver.inverses)


def test_the_strength_is_chosen_on_some_inner_nodes_where_all_would_take_long(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = SiblingProblem(noisy(340), TOY17, 0)
    chosen, others = problem.sample(10**9)
    assert (len(chosen), others) == (7, [])
    chosen, others = problem.sample(0)
    assert (len(chosen), len(others)) == (1, 6)
    monkeypatch.setattr("hiercos.methods.siblings.MOST_TO_CHOOSE", 10_000)
    model, found = solved("siblings", TOY17, noisy(340), noisy(500, seed=1))
    assert found.choice.startswith("C ")
    assert model.head.seen.all()
    assert set(model.solver.inverses) == {0, 1, 2, 3}


@pytest.mark.parametrize("strength", [0.0, -1.0])
def test_a_strength_that_is_not_above_0_is_refused(strength: float) -> None:
    with pytest.raises(MethodError, match="strength: expected a number above 0, got"):
        METHODS["siblings"](TOY17, in_features=2, strength=strength)
