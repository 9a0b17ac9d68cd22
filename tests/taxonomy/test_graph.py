import dataclasses

import pytest
from hypothesis import given, settings

from hiercos import Taxonomy
from hiercos.taxonomy import (
    LabelReader,
    NodeLists,
    TaxonomyError,
    taxonomy_facts,
    tree_lines,
)
from trees import ancestor_sets, graphs, taxonomies

FISH = Taxonomy.from_edges([("water", "fish"), ("pet", "fish"), ("pet", "dog"), ("water", "ship")])


def test_several_parents_make_a_graph_with_the_classes_in_order() -> None:
    assert (FISH.is_tree, FISH.several_parents, FISH.class_names) == (False, 1, ("fish", "dog", "ship"))
    assert (FISH.num_nodes, FISH.height, FISH.most_ancestors) == (5, 2, 3)
    assert [[FISH.names[above] for above in FISH.ancestors.list(leaf)] for leaf in FISH.leaves] == [
        ["water", "pet", "fish"],
        ["pet", "dog"],
        ["water", "ship"],
    ]
    assert FISH.distance_matrix().tolist() == [[0, 2, 2], [2, 0, 3], [2, 3, 0]]
    assert "1 nodes with several parents" in repr(FISH)


def test_what_needs_a_tree_is_refused_in_one_sentence() -> None:
    for needs in (
        lambda: FISH.parents,
        lambda: FISH.path(2),
        lambda: FISH.path_table([2]),
    ):
        with pytest.raises(TaxonomyError, match=r"expected a tree, got a graph in which 1 of 5 nodes have several"):
            needs()
    with pytest.raises(
        TaxonomyError, match=r"a\.csv: this format holds trees, got a graph with 1 node of several parents"
    ):
        FISH.write("a.csv")
    with pytest.raises(AttributeError, match="'Taxonomy' object has no attribute 'wrong'"):
        _ = FISH.wrong


@settings(deadline=None)
@given(graphs())
def test_levels_are_longest_paths_and_ancestors_are_sets(taxonomy: Taxonomy) -> None:
    above = ancestor_sets(taxonomy)
    depths = [0] * taxonomy.num_nodes
    for node in range(taxonomy.num_nodes):
        depths[node] = 1 + max((depths[parent] for parent in taxonomy.parent_lists.list(node)), default=0)
    assert taxonomy.depths.tolist() == depths == sorted(depths)
    assert [set(taxonomy.ancestors.list(node).tolist()) for node in range(taxonomy.num_nodes)] == above
    assert taxonomy.ancestor_counts.tolist() == [len(own) for own in above]
    assert taxonomy == dataclasses.replace(taxonomy) if taxonomy.is_tree else taxonomy.several_parents > 0


@settings(deadline=None)
@given(taxonomies())
def test_a_tree_given_as_lists_of_parents_is_the_same_tree(taxonomy: Taxonomy) -> None:
    lists = NodeLists.of([] if parent < 0 else [parent] for parent in taxonomy.parents)
    again = Taxonomy.from_arrays(taxonomy.names, lists, taxonomy.leaves)
    assert again == taxonomy
    assert again.is_tree
    assert taxonomy.ancestor_counts is taxonomy.depths
    assert taxonomy.most_ancestors == taxonomy.height


@settings(deadline=None)
@given(graphs())
def test_labels_are_read_by_any_path(taxonomy: Taxonomy) -> None:
    reader = LabelReader(taxonomy)
    for node in range(taxonomy.num_nodes):
        path, above = [node], taxonomy.parent_lists.list(node)
        while len(above):
            path.append(int(above[-1]))
            above = taxonomy.parent_lists.list(path[-1])
        texts = [" > ".join(taxonomy.names[step] for step in reversed(path)), taxonomy.path_text(node)]
        assert reader.read(texts, source="a.csv", inner=True).tolist() == [node, node]


def test_a_graph_is_shown_with_each_node_below_all_its_parents() -> None:
    assert list(tree_lines(FISH, depth=2, children=2)) == [
        "├── water (2 classes)",
        "│   ├── fish",
        "│   └── ship",
        "└── pet (2 classes)",
        "    ├── fish",
        "    └── dog",
    ]
    assert list(tree_lines(FISH, depth=1, children=1)) == ["├── water (2 classes) …", "└── … 1 more (2 classes)"]
    assert taxonomy_facts(FISH).several_parents == 1


@pytest.mark.parametrize(
    ("parents", "fault"),
    [
        ([(), (2, 0), (0,)], "from_arrays takes any numbering"),
        ([(), (0,), (), (1, 2)], "from_arrays takes any numbering"),  # the third node is of level 1
        ([(), (), (0, 1), (0, 1)], "2 nodes under 'a' are called 'c'"),
    ],
)
def test_a_graph_with_faults_is_refused(parents: list[tuple[int, ...]], fault: str) -> None:
    with pytest.raises(TaxonomyError, match=fault):
        Taxonomy(("a", "b", "c", "c")[: len(parents)], NodeLists.of(parents))
