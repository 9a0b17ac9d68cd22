"""One-vs-rest models of the nodes: their weights, samples and choices."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from sklearn.svm import LinearSVC

from blobs import FEATURES
from hiercos import Taxonomy
from hiercos.methods import LabelledFeatures, MethodError, Model
from hiercos.methods.linear.sibling_problems import SMALL, TOLERANCE
from hiercos.methods.one_vs_rest import USUAL_LINE, class_log_probabilities, independent_probabilities
from solving import solved
from trees import TOY, ancestor_sets, graphs, random_tree


def several(taxonomy: Taxonomy, count: int, seed: int = 0) -> LabelledFeatures:
    """Samples between two classes, or of one, and a few that are known to an inner node alone; sparse."""
    generator, above = np.random.default_rng(seed), ancestor_sets(taxonomy)
    sets = taxonomy.leaves[generator.integers(0, taxonomy.num_classes, size=(count, 2))]
    directions = np.random.default_rng(1234).normal(size=(taxonomy.num_nodes, FEATURES))
    centres = np.stack([directions[sorted(nodes)].sum(axis=0) for nodes in above])
    features = centres[sets].max(axis=1) + generator.normal(size=(count, FEATURES))
    features = features.astype(np.float32)
    sets[::3, 1] = -1
    inner = np.setdiff1d(np.arange(taxonomy.num_nodes), taxonomy.leaves)
    sets[::10, 0] = inner[np.arange(len(sets[::10])) % len(inner)]
    labels = np.full(count, taxonomy.num_classes + taxonomy.num_nodes)
    return LabelledFeatures(csr_matrix(np.where(np.abs(features) < 1, 0, features)), labels, sets=sets)


def slow_samples(node: int, sets: np.ndarray, taxonomy: Taxonomy) -> tuple[list[int], list[bool]]:
    """Samples for which all parents of a node are right and the node is known, and whether it is right, by sets."""
    above = ancestor_sets(taxonomy)
    rows, right = [], []
    for row, labels in enumerate(sets):
        own = {int(label) for label in labels if label >= 0}
        are_right = set().union(*(above[label] for label in own))
        is_known = node in are_right or not own & (above[node] - {node})
        if own and is_known and set(taxonomy.parent_lists.list(node)) <= are_right:
            rows.append(row)
            right.append(node in are_right)
    return rows, right


@pytest.mark.parametrize(
    "taxonomy", [TOY, random_tree(3, 14), Taxonomy.from_edges([("a", "c"), ("b", "c"), ("a", "d"), ("b", "e")])]
)
def test_the_weights_of_a_node_are_those_of_linear_svc_on_the_samples_of_all_its_parents(taxonomy: Taxonomy) -> None:
    train = several(taxonomy, 240)
    model, _ = solved("one-vs-rest", taxonomy, train, None, strength=0.5)
    assert train.sets is not None
    weights, biases = model.head.dense.numpy() / USUAL_LINE[0], model.head.bias.numpy() / USUAL_LINE[0]
    scale = np.float32(np.sqrt(train.features.multiply(train.features).sum() / len(train)))
    compared = 0
    for node in range(taxonomy.num_nodes):
        rows, right = slow_samples(node, train.sets, taxonomy)
        if len(set(right)) < 2:
            assert not weights[node].any()
            continue
        reference = LinearSVC(C=0.5, tol=TOLERANCE, dual=True, random_state=0).fit(train.features[rows] / scale, right)
        expected = np.where(np.abs(reference.coef_[0]) < SMALL, 0, reference.coef_[0])
        np.testing.assert_allclose(weights[node] * scale, expected, rtol=1e-3, atol=1e-4)
        np.testing.assert_allclose(biases[node], reference.intercept_[0], rtol=1e-3, atol=1e-4)
        compared += 1
    assert compared >= 4


@settings(deadline=None, max_examples=30)
@given(graphs(), st.integers(0, 1000))
def test_a_node_has_the_product_of_the_sigmoids_at_and_above_it(taxonomy: Taxonomy, seed: int) -> None:
    logits = torch.from_numpy(np.random.default_rng(seed).normal(size=(3, taxonomy.num_nodes)))
    found = independent_probabilities(logits, taxonomy)
    expected = torch.stack([logits.sigmoid()[:, sorted(above)].prod(dim=1) for above in ancestor_sets(taxonomy)], dim=1)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(class_log_probabilities(logits, taxonomy).exp(), expected[:, taxonomy.leaves.tolist()])


def test_strength_and_lines_are_chosen_on_held_out_samples_and_kept() -> None:
    train, val = several(TOY, 300), several(TOY, 200, seed=7)
    model, found = solved("one-vs-rest", TOY, train, val)
    assert found.choice.startswith("C ")
    usual, _ = solved("one-vs-rest", TOY, train, None)
    again = Model(TOY, train.features.shape[1], "one-vs-rest")
    again.solve_again(train, model, seed=0)
    assert torch.equal(again.head.bias, model.head.bias)
    assert torch.equal(again.head.dense, model.head.dense)
    assert not torch.equal(usual.head.bias, model.head.bias)


def test_a_strength_below_0_is_an_error() -> None:
    with pytest.raises(MethodError, match="strength: expected a number above 0"):
        Model(TOY, 3, "one-vs-rest", {"strength": -1.0})
