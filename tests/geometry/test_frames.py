import numpy as np
import pytest
import torch
from hypothesis import given, settings

from geometry.published import published_tree
from hiercos import Taxonomy
from hiercos.geometry.frames import (
    class_frame,
    decaying_similarities,
    height_similarities,
    node_heights,
    similarity_floor,
)
from trees import TOY, TOY17, taxonomies

PUBLISHED = {
    "fgvc_aircraft": (1.0, -0.6147, [0.544, 0.217, -0.018]),
    "cifar100": (2.0, -0.3057, [0.571, 0.284, 0.092, -0.038, -0.124]),
    "inaturalist19": (5.0, -0.0320, [0.474, 0.216, 0.090, 0.028, -0.002, -0.017, -0.024]),
    "tiered_imagenet_h": (
        3.0,
        -0.0795,
        [0.763, 0.578, 0.434, 0.322, 0.235, 0.167, 0.114, 0.073, 0.041, 0.016, -0.004, -0.019],
    ),
}
GRID = {"fgvc_aircraft": -0.6100, "cifar100": -0.3001, "inaturalist19": -0.0313, "tiered_imagenet_h": -0.0722}


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_exact_floor_is_the_published_one_and_just_below_the_grid_of_the_official_code(name: str) -> None:
    gamma, floor, _ = PUBLISHED[name]
    distances = published_tree(name).distance_matrix()
    decay = np.exp(-gamma * distances / distances.max())
    assert similarity_floor(decay) == pytest.approx(floor, abs=5e-5)
    assert similarity_floor(decay) < GRID[name]


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_cosines_are_the_published_ones_up_to_the_step_of_the_official_grid(name: str) -> None:
    gamma, floor, published = PUBLISHED[name]
    distances = np.arange(1, len(published) + 1)
    decay = np.exp(-gamma * distances / len(published))
    np.testing.assert_allclose((1 - GRID[name]) * decay + GRID[name], published, rtol=0, atol=6e-4)  # both rounded
    taxonomy = published_tree(name)
    similarities = decaying_similarities(taxonomy, gamma)
    ours = [similarities[taxonomy.distance_matrix() == distance].mean() for distance in distances]
    np.testing.assert_allclose(ours, (1 - floor) * decay + floor, rtol=0, atol=5e-5)


@settings(deadline=None, max_examples=50)
@given(taxonomy=taxonomies())
def test_the_floor_is_where_the_similarities_turn_singular(taxonomy: Taxonomy) -> None:
    eigenvalues = np.linalg.eigvalsh(decaying_similarities(taxonomy, 2.0))
    singular = 0.0 if taxonomy.num_classes > 1 else 1.0
    assert eigenvalues[0] == pytest.approx(singular, abs=1e-9)


@settings(deadline=None, max_examples=50)
@given(taxonomy=taxonomies())
def test_the_frame_has_the_prescribed_cosines_and_each_class_its_own_coordinate(taxonomy: Taxonomy) -> None:
    for similarities in (decaying_similarities(taxonomy, 3.0), height_similarities(taxonomy)):
        frame = class_frame(similarities).double()
        torch.testing.assert_close(frame @ frame.T, torch.tensor(similarities), rtol=0, atol=1e-6)
        assert (frame.diagonal() >= frame.amax(dim=1) - 1e-6).all()


def test_a_star_becomes_a_simplex() -> None:
    star = Taxonomy.from_paths([(name,) for name in "abcde"])
    expected = np.full((5, 5), -1 / 4)
    np.fill_diagonal(expected, 1)
    np.testing.assert_allclose(decaying_similarities(star, 1.0), expected, atol=1e-12)


def test_one_class_is_only_like_itself() -> None:
    chain = Taxonomy.from_paths([("a", "b", "c")])
    assert decaying_similarities(chain, 1.0).tolist() == [[1.0]]
    assert height_similarities(chain).tolist() == [[1.0]]
    assert class_frame(height_similarities(chain)).tolist() == [[1.0]]


def test_gamma_must_be_above_zero() -> None:
    with pytest.raises(ValueError, match="expected gamma above 0, got 0"):
        decaying_similarities(TOY, 0)


def test_similarity_falls_with_the_height_of_the_common_ancestor() -> None:
    assert height_similarities(TOY).tolist() == [[1, 0.5, 0], [0.5, 1, 0], [0, 0, 1]]


@settings(deadline=None, max_examples=50)
@given(taxonomy=taxonomies())
def test_height_similarities_equal_a_loop_over_pairs(taxonomy: Taxonomy) -> None:
    paths = [taxonomy.path(int(leaf)) for leaf in taxonomy.leaves]
    deepest = [max(len(path) for path in paths if node in path) for node in range(taxonomy.num_nodes)]
    heights = [deepest[node] - len(taxonomy.path(node)) for node in range(taxonomy.num_nodes)]
    assert node_heights(taxonomy).tolist() == heights
    expected = np.eye(taxonomy.num_classes)
    for one, first in enumerate(paths):
        for other, second in enumerate(paths):
            common = [node for node in first if node in second]
            height = heights[common[-1]] if common else taxonomy.height
            expected[one, other] = 1 - height / taxonomy.height
    np.testing.assert_allclose(height_similarities(taxonomy), expected)


def test_on_uneven_trees_the_height_of_a_subtree_counts_and_not_its_depth() -> None:
    # B2's classes C5 and C6 meet at B2, two levels above its deepest class; A2 meets them only at the root
    similarities = height_similarities(TOY17)
    c5, c6, a2 = (TOY17.class_names.index(name) for name in ("C5", "C6", "A2"))
    assert similarities[c5, c6] == 1 - 2 / 4
    assert similarities[c5, a2] == 0
