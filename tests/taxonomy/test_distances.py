import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hiercos import Taxonomy
from hiercos.taxonomy.distances import (
    common_depth_block,
    distance_block,
    hop_distance_block,
    pair_distances,
    preference_ranks,
    subtree_sizes,
)
from trees import TOY, TOY17, random_tree, taxonomies


def common_depth(taxonomy: Taxonomy, a: int, b: int) -> int:
    """The slow loop: how long two paths agree."""
    pairs = zip(taxonomy.path(int(taxonomy.leaves[a])), taxonomy.path(int(taxonomy.leaves[b])), strict=False)
    return sum(here == there for here, there in pairs)


def slow_distances(taxonomy: Taxonomy) -> list[list[int]]:
    classes = range(taxonomy.num_classes)
    return [[0 if a == b else taxonomy.height - common_depth(taxonomy, a, b) for b in classes] for a in classes]


@given(taxonomies())
def test_distances_are_height_less_the_length_of_the_common_path(taxonomy: Taxonomy) -> None:
    expected = slow_distances(taxonomy)
    assert taxonomy.distance_matrix().tolist() == expected
    classes = np.arange(taxonomy.num_classes)
    assert pair_distances(taxonomy, classes[:, None], classes).tolist() == expected


@given(taxonomies())
def test_common_depths_and_hops_count_the_edges_of_the_paths(taxonomy: Taxonomy) -> None:
    classes = range(taxonomy.num_classes)
    depths = taxonomy.depths[taxonomy.leaves]
    common = [[common_depth(taxonomy, a, b) for b in classes] for a in classes]
    hops = [[depths[a] + depths[b] - 2 * common[a][b] for b in classes] for a in classes]
    assert common_depth_block(taxonomy, classes).tolist() == common
    assert hop_distance_block(taxonomy, classes).tolist() == hops


@given(taxonomies(), st.data())
def test_a_block_has_the_rows_that_were_asked_for(taxonomy: Taxonomy, data: st.DataObject) -> None:
    labels = data.draw(st.lists(st.integers(0, taxonomy.num_classes - 1), max_size=5))
    block = distance_block(taxonomy, np.array(labels, dtype=np.int64))
    assert block.tolist() == [slow_distances(taxonomy)[label] for label in labels]


def test_pair_distances_keep_the_shape_even_when_empty() -> None:
    assert pair_distances(TOY, [[0, 1], [2, 0]], [[1, 1], [0, 0]]).tolist() == [[1, 0], [2, 0]]
    assert pair_distances(TOY, np.zeros((0, 3), dtype=int), np.zeros((0, 3), dtype=int)).shape == (0, 3)
    assert pair_distances(TOY, 0, 2) == 2


def test_pair_distances_agree_with_whole_rows_on_a_large_tree() -> None:
    taxonomy = random_tree(seed=3, count=3000)
    generator = np.random.default_rng(0)
    labels = generator.integers(taxonomy.num_classes, size=50)
    classes = generator.integers(taxonomy.num_classes, size=(50, 20))
    rows = distance_block(taxonomy, labels)
    assert (pair_distances(taxonomy, labels[:, None], classes) == np.take_along_axis(rows, classes, axis=1)).all()


def test_distances_of_the_example_with_17_classes() -> None:
    label = TOY17.class_names.index("D1")
    row = dict(zip(TOY17.class_names, distance_block(TOY17, [label])[0].tolist(), strict=True))
    assert [row[name] for name in ("D1", "D2", "D5", "C3", "D6", "C5", "A2")] == [0, 1, 2, 2, 3, 3, 4]


@given(st.lists(st.lists(st.integers(0, 9), min_size=4, max_size=4), min_size=1, max_size=4))
def test_ranks_count_the_smaller_distinct_distances_of_the_row(rows: list[list[int]]) -> None:
    expected = [[len({other for other in row if other < value}) for value in row] for row in rows]
    assert preference_ranks(rows).tolist() == expected


@given(taxonomies())
def test_a_subtree_has_every_node_whose_path_goes_through_its_top(taxonomy: Taxonomy) -> None:
    paths = [taxonomy.path(node) for node in range(taxonomy.num_nodes)]
    expected = [sum(node in path for path in paths) for node in range(taxonomy.num_nodes)]
    assert subtree_sizes(taxonomy).tolist() == expected
