"""Distances and cosines between embeddings and subspaces, against dense projections."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from geometry.spans import ideal_vectors, normal, projections, spanning_axes
from hiercos import Taxonomy
from hiercos.paper.subspaces import subspace_cosine, subspace_dimensions, subspace_distance
from trees import TOY, TOY17, taxonomies

seeds = st.integers(0, 2**16)


def projected(z: Tensor, taxonomy: Taxonomy, **switches: bool) -> Tensor:
    """Every embedding projected onto every subspace by its dense matrix, shape (B, N, N)."""
    return torch.einsum("vij,bj->bvi", projections(taxonomy, **switches), z)


def test_distances_of_a_vector_worked_by_hand() -> None:
    z = torch.tensor([[3.0, 1.0, 4.0, 0.0, 2.0]])  # pet, vehicle, cat, dog, car
    assert subspace_distance(z, TOY).square().tolist() == [pytest.approx([5.0, 25.0, 5.0, 21.0, 25.0])]


@settings(deadline=None, max_examples=30)
@given(taxonomy=taxonomies(), seed=seeds)
def test_subspace_distance_is_the_length_of_what_projection_removes(taxonomy: Taxonomy, seed: int) -> None:
    z = normal(3, taxonomy.num_nodes, seed=seed)
    expected = (z[:, None] - projected(z, taxonomy)).norm(dim=2)
    torch.testing.assert_close(subspace_distance(z, taxonomy), expected)


@pytest.mark.parametrize("ancestors", [True, False])
@settings(deadline=None, max_examples=30)
@given(taxonomy=taxonomies(), seed=seeds)
def test_subspace_cosine_is_that_of_the_dense_projection(taxonomy: Taxonomy, seed: int, ancestors: bool) -> None:
    z = normal(taxonomy.num_classes, taxonomy.num_nodes, seed=seed)
    labels = torch.arange(taxonomy.num_classes)
    own = projected(z, taxonomy, ancestors=ancestors)[labels, torch.tensor(taxonomy.leaves)]
    expected = torch.cosine_similarity(z, own, dim=1)
    torch.testing.assert_close(subspace_cosine(z, labels, taxonomy, ancestors=ancestors), expected)


def test_the_cosine_is_1_within_the_subspace_and_0_without_length() -> None:
    z, labels = ideal_vectors(TOY17, seed=0), torch.arange(TOY17.num_classes)
    torch.testing.assert_close(subspace_cosine(z, labels, TOY17), torch.ones(17, dtype=torch.float64))
    assert subspace_cosine(torch.zeros_like(z), labels, TOY17).tolist() == [0.0] * 17


@given(taxonomies())
def test_subspace_dimensions_count_the_spanning_axes(taxonomy: Taxonomy) -> None:
    expected = [len(spanning_axes(taxonomy, node)) for node in range(taxonomy.num_nodes)]
    assert subspace_dimensions(taxonomy).tolist() == expected
