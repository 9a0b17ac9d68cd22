"""The operations and scores on graphs against sets of ancestors, and on trees against the passes over the levels."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from geometry.spans import normal
from hiercos import Taxonomy
from hiercos.geometry import (
    leaf_scores,
    level_scores,
    node_log_probabilities,
    node_probabilities,
    node_scores,
    sibling_log_softmax,
    tree_operations,
)
from hiercos.geometry.operations import _sparse_operations
from hiercos.paper.subspaces import subspace_dimensions, subspace_distance
from hiercos.taxonomy import TaxonomyError
from trees import TOY, ancestor_sets, descendant_sets, graphs, taxonomies

CPU = torch.device("cpu")
FISH = Taxonomy.from_edges([("water", "fish"), ("pet", "fish"), ("pet", "dog"), ("water", "ship")])


@settings(deadline=None)
@given(graphs(), st.integers(0, 2**16))
def test_every_operation_is_over_sets(taxonomy: Taxonomy, seed: int) -> None:
    values = normal(3, taxonomy.num_nodes, seed=seed)
    above, below = ancestor_sets(taxonomy), descendant_sets(taxonomy)
    operations = tree_operations(taxonomy, CPU)
    nodes = range(taxonomy.num_nodes)
    unrelated = [[other for other in nodes if other not in above[node] | below[node]] for node in nodes]
    for found, sets, slow in (
        (operations.ancestor_sums(values), above, lambda part: part.sum(dim=1)),
        (operations.descendant_sums(values), below, lambda part: part.sum(dim=1)),
        (operations.descendant_maxima(values), below, lambda part: part.amax(dim=1)),
        (operations.descendant_logsumexp(values), below, lambda part: part.logsumexp(dim=1)),
        (operations.unrelated_sums(values.abs()), unrelated, lambda part: part.abs().sum(dim=1)),
    ):
        expected = torch.stack([slow(values[:, sorted(own)]) for own in sets], dim=1)
        torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-9)
    labels = torch.arange(taxonomy.num_nodes)
    assert [set(row.nonzero().squeeze(1).tolist()) for row in operations.strictly_below(labels)] == [
        below[node] - {node} for node in nodes
    ]
    assert [set(row.nonzero().squeeze(1).tolist()) for row in operations.related(labels)] == [
        above[node] | below[node] for node in nodes
    ]


@settings(deadline=None)
@given(taxonomies(), st.integers(0, 2**16))
def test_on_trees_the_sparse_operations_equal_the_passes(taxonomy: Taxonomy, seed: int) -> None:
    values = normal(3, taxonomy.num_nodes, seed=seed).requires_grad_()
    passes, sparse = tree_operations(taxonomy, CPU), _sparse_operations(taxonomy, CPU)
    for name in ("ancestor_sums", "descendant_sums", "descendant_maxima", "descendant_logsumexp"):
        one, other = (getattr(each, name)(values) for each in (passes, sparse))
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-9)
        weights = normal(3, taxonomy.num_nodes, seed=seed + 1)
        gradients = [torch.autograd.grad((each * weights).sum(), values)[0] for each in (one, other)]
        torch.testing.assert_close(*gradients, rtol=1e-9, atol=1e-9)


@settings(deadline=None)
@given(graphs(), st.integers(0, 2**16))
def test_scores_are_projections_onto_the_axes_of_ancestors_and_descendants(taxonomy: Taxonomy, seed: int) -> None:
    z = normal(2, taxonomy.num_nodes, seed=seed)
    above, below = ancestor_sets(taxonomy), descendant_sets(taxonomy)
    related = [sorted(above[node] | below[node]) for node in range(taxonomy.num_nodes)]
    expected = torch.stack([z[:, own].norm(dim=1) for own in related], dim=1)
    torch.testing.assert_close(node_scores(z, taxonomy), expected)
    torch.testing.assert_close(leaf_scores(z, taxonomy), expected[:, taxonomy.leaves.copy()])
    outside = (z.square().sum(dim=1, keepdim=True) - expected.square()).clamp(min=0).sqrt()
    torch.testing.assert_close(subspace_distance(z, taxonomy), outside, rtol=1e-6, atol=1e-6)
    assert subspace_dimensions(taxonomy).tolist() == [len(own) for own in related]


def test_the_distance_of_a_vector_in_a_subspace_is_exactly_0() -> None:
    z = torch.tensor([[0.1, 0.2, 0.3, 0.0, 0.0]])  # water, pet and fish
    assert subspace_distance(z, FISH)[0, 2] == 0


@settings(deadline=None)
@given(graphs(), st.integers(0, 2**16))
def test_the_probability_of_a_node_is_that_of_its_set_of_classes(taxonomy: Taxonomy, seed: int) -> None:
    logits, below = normal(2, taxonomy.num_classes, seed=seed), descendant_sets(taxonomy)
    classes = logits.softmax(dim=1)
    sets = [np.isin(taxonomy.leaves, sorted(own)) for own in below]
    expected = torch.stack([classes[:, own].sum(dim=1) for own in sets], dim=1)
    torch.testing.assert_close(node_probabilities(classes, taxonomy), expected)
    torch.testing.assert_close(node_log_probabilities(logits, taxonomy).exp(), expected)


def test_a_probability_that_underflows_has_a_finite_log_and_gradient() -> None:
    logits = torch.tensor([[0.0, -5000.0, -5001.0]], requires_grad=True)  # fish, dog, ship
    logs = node_log_probabilities(logits, Taxonomy.from_edges([("a", "x"), ("a", "y"), ("b", "y"), ("b", "z")]))
    assert logs[0, 1].item() == pytest.approx(-5000, abs=1)  # b has y and z
    logs[0, 1].backward()
    assert logits.grad is not None
    assert logits.grad.isfinite().all()


def test_what_needs_levels_or_one_parent_is_refused() -> None:
    z = torch.ones(1, 5)
    with pytest.raises(TaxonomyError, match="scores of a level: expected a tree, got a graph with 1 node of several"):
        level_scores(z, FISH, 1)
    with pytest.raises(TaxonomyError, match="a softmax among siblings needs a tree"):
        sibling_log_softmax(z, FISH)
    assert level_scores(z, TOY, 1).shape == (1, 2)
