import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from hiercos import Taxonomy
from hiercos.taxonomy import ancestor_sums, descendant_maxima, descendant_sums, families, node_values
from trees import ancestor_sets, descendant_sets, graphs, taxonomies

random_values = given(taxonomy=taxonomies() | graphs(), seed=st.integers(0, 2**16))


@settings(deadline=None, max_examples=50)
@random_values
def test_sums_and_maxima_equal_those_over_sets_of_relatives(taxonomy: Taxonomy, seed: int) -> None:
    values = np.random.default_rng(seed).normal(size=(3, taxonomy.num_nodes))
    ancestors, descendants = ancestor_sets(taxonomy), descendant_sets(taxonomy)
    for operation, relatives, combine in (
        (ancestor_sums, ancestors, np.sum),
        (descendant_sums, descendants, np.sum),
        (descendant_maxima, descendants, np.max),
    ):
        expected = [combine(values[:, sorted(relatives[node])], axis=1) for node in range(taxonomy.num_nodes)]
        np.testing.assert_allclose(operation(values, taxonomy), np.stack(expected, axis=1), rtol=1e-12, atol=1e-12)


@settings(deadline=None, max_examples=30)
@random_values
def test_a_row_does_not_depend_on_the_rest_of_the_batch(taxonomy: Taxonomy, seed: int) -> None:
    values = np.random.default_rng(seed).normal(size=(5, taxonomy.num_nodes))
    for operation in (ancestor_sums, descendant_sums, descendant_maxima):
        whole = operation(values, taxonomy)
        for row in range(5):
            assert np.array_equal(operation(values[row : row + 1], taxonomy)[0], whole[row])


@settings(deadline=None, max_examples=30)
@given(taxonomies())
def test_values_of_classes_stand_at_their_leaves(taxonomy: Taxonomy) -> None:
    values = np.arange(2.0 * taxonomy.num_classes).reshape(2, -1)
    nodes = node_values(values, taxonomy, empty=-7.0)
    assert np.array_equal(nodes[:, taxonomy.leaves], values)
    assert (np.delete(nodes, taxonomy.leaves, axis=1) == -7).all()


@settings(deadline=None, max_examples=30)
@given(taxonomies())
def test_the_children_of_a_parent_begin_where_its_family_starts(taxonomy: Taxonomy) -> None:
    for level in range(2, taxonomy.height + 1):
        nodes = taxonomy.level(level)
        parents, starts = families(taxonomy, nodes)
        assert parents.tolist() == sorted(set(taxonomy.parents[nodes].tolist()))
        assert taxonomy.parents[nodes][starts].tolist() == parents.tolist()
