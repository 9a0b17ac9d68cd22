"""Parts of a small graph: a cat is a pet and a hunter, a dog a pet, an owl a hunter."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hiercos import Taxonomy, TaxonomyError
from hiercos.errors import FaultsError
from hiercos.taxonomy import kept_parents, part_above, part_below
from trees import TOY, ancestor_sets, graphs

EDGES = ["animal pet", "animal hunter", "pet cat", "hunter cat", "pet dog", "hunter owl"]
ANIMALS = Taxonomy.from_edges([(above, name) for above, name in map(str.split, EDGES)])


def node(name: str) -> int:
    return ANIMALS.names.index(name)


def paths(taxonomy: Taxonomy) -> list[str]:
    return [taxonomy.path_text(leaf) for leaf in taxonomy.leaves]


def test_below_a_node_only_parents_below_it_count() -> None:
    assert paths(part_below(ANIMALS, node("hunter"))) == ["cat", "owl"]
    below = kept_parents(part_below(ANIMALS, node("animal")), "first")
    assert paths(below) == ["pet > cat", "pet > dog", "hunter > owl"]
    assert part_below(ANIMALS, -1) is ANIMALS
    with pytest.raises(TaxonomyError, match="'dog' has no children: expected a node with others below it"):
        part_below(ANIMALS, node("dog"))


def test_given_classes_keep_their_order_and_bring_only_their_ancestors() -> None:
    assert paths(part_above(ANIMALS, [node("owl"), node("dog")])) == ["animal > hunter > owl", "animal > pet > dog"]
    part = part_above(ANIMALS, [node("owl"), node("cat")])
    assert (part.class_names, part.is_tree) == (("owl", "cat"), False)


def test_every_node_that_cannot_be_a_class_is_said() -> None:
    with pytest.raises(TaxonomyError) as error:
        part_above(ANIMALS, [node("pet"), node("owl"), node("owl"), -1, node("cat")])
    assert error.value.faults == (
        "class 1: 'animal > pet' is also an inner node: expected a leaf",
        "class 3: 'animal > hunter > owl' is already class 2",
        "class 4: expected a node below the root",
    )


@settings(max_examples=50, deadline=None)
@given(graphs(), st.data())
def test_parts_hold_the_descendants_or_the_ancestors_and_the_edges_between_them(
    taxonomy: Taxonomy, data: st.DataObject
) -> None:
    above = ancestor_sets(taxonomy)
    labels = data.draw(st.lists(st.integers(0, taxonomy.num_classes - 1), min_size=1, unique=True))
    leaves = taxonomy.leaves[labels].tolist()
    part = part_above(taxonomy, leaves)
    assert part.class_names == tuple(taxonomy.names[leaf] for leaf in leaves)
    top = data.draw(st.integers(0, taxonomy.num_nodes - 1))
    inside = {below for below in range(taxonomy.num_nodes) if top in above[below]} - {top}
    parts = [(part, set().union(*(above[leaf] for leaf in leaves)))]
    parts += [(part_below(taxonomy, top), inside)] if inside else []
    for found, nodes in parts:
        assert sorted(found.names) == sorted(taxonomy.names[own] for own in nodes)
        for own in nodes:
            expected = [taxonomy.names[up] for up in taxonomy.parent_lists.list(own).tolist() if up in nodes]
            kept = found.parent_lists.list(found.names.index(taxonomy.names[own]))
            assert [found.names[up] for up in kept] == expected


@settings(max_examples=50, deadline=None)
@given(graphs())
def test_every_node_keeps_its_first_parent(taxonomy: Taxonomy) -> None:
    tree = kept_parents(taxonomy, "first")
    assert sorted(tree.names) == sorted(taxonomy.names)
    for own, name in enumerate(tree.names):
        above = taxonomy.parent_lists.list(taxonomy.names.index(name))
        parent = int(tree.parents[own])
        assert (taxonomy.names[above[0]] if len(above) else None) == (tree.names[parent] if parent >= 0 else None)
    assert np.isin(taxonomy.class_names, tree.class_names).all()


def test_another_choice_of_parents_is_refused() -> None:
    with pytest.raises(FaultsError, match="expected parents to be one of all, first, shortest, one, got 'last'"):
        kept_parents(ANIMALS, "last")


@pytest.mark.parametrize(("choice", "path"), [("first", "a > b > c > d"), ("shortest", "x > c > d")])
def test_one_parent_of_each_node_may_be_kept(tmp_path: Path, choice: str, path: str) -> None:
    graph = Taxonomy.from_edges([("", "a"), ("a", "b"), ("b", "c"), ("", "x"), ("x", "c"), ("c", "d")])
    tree = kept_parents(graph, choice)
    assert tree.is_tree
    assert tree.path_text(int(tree.leaves[0])) == path
    graph.write(tmp_path / "graph.json")
    assert Taxonomy.read(tmp_path / "graph.json", parents=choice) == tree
    assert kept_parents(TOY, choice) is TOY
    assert kept_parents(graph, "all") is graph
    with pytest.raises(
        TaxonomyError, match=r"graph.json: 'c' has 2 parents, 'b', 'x'; expected one \(--parents shorte"
    ):
        Taxonomy.read(tmp_path / "graph.json", parents="one")
