import numpy as np
from hypothesis import given, settings

from geometry.published import published_tree
from hiercos import Taxonomy
from hiercos.geometry.padded_levels import padded_levels
from losses.batches import padded_nodes
from trees import taxonomies


@settings(deadline=None, max_examples=60)
@given(taxonomy=taxonomies())
def test_columns_equal_a_loop_over_levels_and_nodes(taxonomy: Taxonomy) -> None:
    levels, nodes = padded_levels(taxonomy), padded_nodes(taxonomy)
    assert levels.sizes == tuple(len(level) for level in nodes)
    columns = [(level, node) for level, members in enumerate(nodes, start=1) for node in members]
    assert [columns[column] for column in levels.node_columns] == [
        (len(taxonomy.path(node)), node) for node in range(taxonomy.num_nodes)
    ]
    for label, leaf in enumerate(taxonomy.leaves):
        path = list(taxonomy.path(int(leaf)))
        path += [int(leaf)] * (taxonomy.height - len(path))
        assert [columns[column] for column in levels.class_columns[label]] == list(enumerate(path, start=1))
    for (level, node), parent in zip(columns[levels.sizes[0] :], levels.parents, strict=True):
        ended = len(taxonomy.path(node)) < level
        assert columns[parent] == (level - 1, node if ended else int(taxonomy.parents[node]))


@settings(deadline=None, max_examples=60)
@given(taxonomy=taxonomies())
def test_every_class_goes_down_from_parent_to_child(taxonomy: Taxonomy) -> None:
    levels = padded_levels(taxonomy)
    for above, below in zip(levels.class_columns.T[:-1], levels.class_columns.T[1:], strict=True):
        assert np.array_equal(levels.parents[below - levels.sizes[0]], above)


def test_the_padded_widths_of_tiered_imagenet_h_are_the_published_ones() -> None:
    levels = padded_levels(published_tree("tiered_imagenet_h"))
    assert levels.sizes == (2, 5, 21, 35, 86, 159, 270, 422, 510, 584, 607, 608)


def test_a_tree_of_even_depth_needs_no_padding() -> None:
    taxonomy = published_tree("cifar100")
    levels = padded_levels(taxonomy)
    assert levels.sizes == (2, 4, 8, 20, 100)
    assert levels.node_columns.tolist() == list(range(134))
    assert levels.class_columns[:, -1].tolist() == taxonomy.leaves.tolist()
