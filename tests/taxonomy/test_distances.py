from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from hiercos import Taxonomy
from hiercos.taxonomy.distances import (
    common_depth_block,
    decay_weights,
    distance_block,
    distance_counts,
    hop_distance_block,
    pair_distances,
    preference_ranks,
    preferred_ranks,
    rank_profiles,
    reversed_disorder,
    subtree_sizes,
)
from trees import TOY, TOY17, random_tree, taxonomies

D1 = TOY17.class_names.index("D1")


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


def test_the_weights_of_the_papers_example_are_its_fractions() -> None:
    profiles = rank_profiles(distance_counts(TOY17, [D1]))
    preferred = preferred_ranks(profiles)
    weights = decay_weights(profiles, preferred)
    assert preferred[0].tolist() == [0, 1, 1, 1, 2, 2, *[3] * 7, *[4] * 4]
    text = "1 1/2 5/12 1/3 1/4 3/16 1/8 13/112 3/28 11/112 5/56 9/112 1/14 1/16 3/64 1/32 1/64"
    np.testing.assert_allclose(weights[0], [float(Fraction(part)) for part in text.split()], rtol=1e-15)
    np.testing.assert_allclose(reversed_disorder(preferred, weights), [3953 / 448], rtol=1e-15)


@settings(deadline=None)
@given(taxonomies())
def test_counts_and_preferred_ranks_are_those_of_the_distance_matrix(taxonomy: Taxonomy) -> None:
    distances = taxonomy.distance_matrix()
    counts = distance_counts(taxonomy, np.arange(taxonomy.num_classes))
    assert counts.tolist() == [np.bincount(row, minlength=taxonomy.height + 1).tolist() for row in distances]
    assert preferred_ranks(rank_profiles(counts)).tolist() == np.sort(preference_ranks(distances), axis=1).tolist()
