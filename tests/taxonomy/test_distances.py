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
from trees import TOY, TOY17, ancestor_sets, descendant_sets, graphs, random_tree, slow_distances, taxonomies

D1 = TOY17.class_names.index("D1")


@settings(deadline=None)
@given(taxonomies() | graphs())
def test_distances_count_shared_ancestors(taxonomy: Taxonomy) -> None:
    expected, classes = slow_distances(taxonomy), np.arange(taxonomy.num_classes)
    assert taxonomy.distance_matrix().tolist() == expected
    assert pair_distances(taxonomy, classes[:, None], classes).tolist() == expected
    above = ancestor_sets(taxonomy)
    sets = [above[leaf] for leaf in taxonomy.leaves]
    assert common_depth_block(taxonomy, classes).tolist() == [[len(one & other) for other in sets] for one in sets]
    assert hop_distance_block(taxonomy, classes).tolist() == [[len(one ^ other) for other in sets] for one in sets]


@settings(deadline=None)
@given(taxonomies() | graphs())
def test_counts_and_preferred_ranks_are_those_of_the_distance_matrix(taxonomy: Taxonomy) -> None:
    distances, width = taxonomy.distance_matrix(), taxonomy.most_ancestors + 1
    counts = distance_counts(taxonomy, np.arange(taxonomy.num_classes))
    assert counts.tolist() == [np.bincount(row, minlength=width).tolist() for row in distances]
    assert preferred_ranks(rank_profiles(counts)).tolist() == np.sort(preference_ranks(distances), axis=1).tolist()


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


@given(taxonomies() | graphs())
def test_the_size_of_a_subtree_counts_its_nodes(taxonomy: Taxonomy) -> None:
    assert subtree_sizes(taxonomy).tolist() == [len(own) for own in descendant_sets(taxonomy)]


def test_the_weights_of_the_papers_example_are_its_fractions() -> None:
    profiles = rank_profiles(distance_counts(TOY17, [D1]))
    preferred = preferred_ranks(profiles)
    weights = decay_weights(profiles, preferred)
    assert preferred[0].tolist() == [0, 1, 1, 1, 2, 2, *[3] * 7, *[4] * 4]
    text = "1 1/2 5/12 1/3 1/4 3/16 1/8 13/112 3/28 11/112 5/56 9/112 1/14 1/16 3/64 1/32 1/64"
    np.testing.assert_allclose(weights[0], [float(Fraction(part)) for part in text.split()], rtol=1e-15)
    np.testing.assert_allclose(reversed_disorder(preferred, weights), [3953 / 448], rtol=1e-15)
