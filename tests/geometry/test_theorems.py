"""The paper's claims about the space, as properties of random trees, and where they stop."""

from math import pi

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from geometry.spans import ideal_vectors, projections
from hiercos import Taxonomy
from hiercos.geometry import leaf_scores, level_scores
from hiercos.methods.heads import random_orthogonal
from hiercos.paper.subspaces import subspace_distance
from hiercos.taxonomy.distances import preference_ranks
from trees import TOY, taxonomies

UNEVEN = Taxonomy.from_paths([("a",), ("b", "d", "c1"), ("b", "e", "c2")])
seeds = st.integers(0, 2**16)


@st.composite
def even_taxonomies(draw: st.DrawFn) -> Taxonomy:
    """Random trees whose leaves all sit at one depth."""
    parents = [-1] * draw(st.integers(1, 3))
    level = range(len(parents))
    for _ in range(draw(st.integers(0, 3))):
        for node in level:
            parents += [node] * draw(st.integers(1, 3 if len(parents) < 25 else 1))
        level = range(level.stop, len(parents))
    return Taxonomy.from_arrays([str(node) for node in range(len(parents))], parents)


def dense_ranks(values: Tensor) -> list[list[int]]:
    """Rank of each value within its row, equal values sharing one."""
    return [np.unique(row, return_inverse=True)[1].tolist() for row in values.numpy()]


@settings(deadline=None)
@given(taxonomy=taxonomies(), seed=seeds)
def test_theorem_1_distances_of_ideal_vectors_order_the_classes_as_the_tree_does(taxonomy: Taxonomy, seed: int) -> None:
    distances = subspace_distance(ideal_vectors(taxonomy, seed), taxonomy)[:, taxonomy.leaves.tolist()]  # (C, C)
    assert dense_ranks(distances) == preference_ranks(taxonomy.distance_matrix()).tolist()
    assert distances.diagonal().tolist() == [0.0] * taxonomy.num_classes


@settings(deadline=None)
@given(taxonomy=taxonomies(), seed=seeds)
def test_theorem_1_scores_of_ideal_vectors_put_nearer_classes_higher(taxonomy: Taxonomy, seed: int) -> None:
    scores = leaf_scores(ideal_vectors(taxonomy, seed), taxonomy, squared=True)
    tree = torch.tensor(taxonomy.distance_matrix())
    nearer = tree[:, :, None] < tree[:, None, :]  # (C, C, C)
    higher = scores[:, :, None] > scores[:, None, :]
    assert torch.equal(nearer, higher)


def test_theorem_1_needs_every_coordinate_of_the_path() -> None:
    leaf_alone = torch.zeros(1, TOY.num_nodes)
    leaf_alone[0, TOY.leaves[0]] = 1.0  # a cat, and nothing on pet
    assert subspace_distance(leaf_alone, TOY)[0, TOY.leaves.tolist()].tolist() == [0.0, 1.0, 1.0]


@settings(deadline=None)
@given(taxonomy=taxonomies(), seed=seeds)
def test_proposition_1_levels_chosen_one_by_one_form_the_path_of_an_ideal_vector(taxonomy: Taxonomy, seed: int) -> None:
    z = ideal_vectors(taxonomy, seed)
    paths = taxonomy.path_table(taxonomy.leaves)  # (C, H), -1 where the class has no such level
    for level in range(1, taxonomy.height + 1):
        chosen = level_scores(z, taxonomy, level).argmax(dim=1).numpy() + taxonomy.level(level).start
        has_level = paths[:, level - 1] >= 0
        assert chosen[has_level].tolist() == paths[has_level, level - 1].tolist()


def test_proposition_1_does_not_reach_vectors_that_are_not_ideal() -> None:
    z = torch.tensor([[0.0, 0.0, 0.8, 0.8, 1.0]])  # a cat and a dog together outweigh the one car
    level_1 = level_scores(z, TOY, 1).argmax(dim=1)
    level_2 = level_scores(z, TOY, 2).argmax(dim=1) + TOY.level(2).start
    assert (TOY.names[level_1], TOY.names[level_2]) == ("pet", "car")


def test_proposition_1_says_nothing_below_a_leaf() -> None:
    a = torch.tensor([[1.0 if name == "a" else 0.0 for name in UNEVEN.names]])
    assert level_scores(a, UNEVEN, 2).tolist() == [[0.0, 0.0]]  # some node must win, and none is below a


@settings(deadline=None, max_examples=50)
@given(taxonomies())
def test_the_distance_of_one_class_to_the_subspaces_of_others_has_the_order_of_the_tree(taxonomy: Taxonomy) -> None:
    span = projections(taxonomy)[taxonomy.leaves.tolist()]  # (C, N, N)
    outside = torch.eye(taxonomy.num_nodes, dtype=torch.float64) - span
    distances = torch.einsum("jab,ibc->ijac", outside, span).square().sum(dim=(2, 3))  # |(I - P_j) P_i|^2
    assert dense_ranks(distances) == preference_ranks(taxonomy.distance_matrix()).tolist()


def squared_grassmannian_distances(taxonomy: Taxonomy, seed: int) -> Tensor:
    """Sum of the squared principal angles between the subspaces of every two classes, shape (C, C).

    The axes are turned at random first, so that the bases are dense and the angles come from a real SVD.
    """
    axes = random_orthogonal(taxonomy.num_nodes, torch.Generator().manual_seed(seed)).double()
    axes = torch.linalg.qr(axes)[0]  # orthonormal in float64
    bases = [axes[:, list(taxonomy.path(int(leaf)))] for leaf in taxonomy.leaves]  # (N, h) each
    distances = torch.zeros(len(bases), len(bases), dtype=torch.float64)
    for row, one in enumerate(bases):
        for column, other in enumerate(bases):
            cosines = torch.linalg.svdvals(one.T @ other).clamp(0, 1)
            distances[row, column] = cosines.arccos().square().sum()
    return distances


@settings(deadline=None, max_examples=25)
@given(taxonomy=even_taxonomies(), seed=seeds)
def test_squared_grassmannian_distance_is_proportional_to_tree_distance_where_leaves_share_a_depth(
    taxonomy: Taxonomy, seed: int
) -> None:
    expected = (pi / 2) ** 2 * torch.tensor(taxonomy.distance_matrix(), dtype=torch.float64)
    torch.testing.assert_close(squared_grassmannian_distances(taxonomy, seed), expected, rtol=1e-6, atol=1e-6)


def test_grassmannian_distance_can_reverse_the_order_of_a_tree_with_leaves_at_different_depths() -> None:
    """Two subspaces have as many angles as the smaller has axes, so a shallow class seems near to all."""
    a, c1, c2 = range(3)
    right_angles = squared_grassmannian_distances(UNEVEN, seed=0) / (pi / 2) ** 2
    tree = UNEVEN.distance_matrix()
    assert (tree[c1, c2], tree[c1, a]) == (2, 3)
    torch.testing.assert_close(right_angles[c1, [c2, a]], torch.tensor([2.0, 1.0], dtype=torch.float64))


def test_distance_between_subspaces_is_not_symmetric_where_leaves_sit_at_different_depths() -> None:
    equal = torch.zeros(3, UNEVEN.num_nodes)
    for label, leaf in enumerate(UNEVEN.leaves):
        equal[label, list(UNEVEN.path(int(leaf)))] = 1.0
    squares = subspace_distance(equal, UNEVEN)[:, UNEVEN.leaves.tolist()].square()
    torch.testing.assert_close(squares, torch.tensor([[0.0, 1, 1], [3, 0, 2], [3, 2, 0]]))
