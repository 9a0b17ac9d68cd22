from collections.abc import Callable

import pytest

from hiercos import Taxonomy, TaxonomyError
from trees import TOY

PETS = [("pet", "cat"), ("pet", "dog"), ("vehicle", "car")]


def test_every_fault_of_the_paths_is_said_at_once() -> None:
    with pytest.raises(TaxonomyError) as error:
        Taxonomy.from_paths(
            [("a", "b"), (), ("a", ""), ("a", "b"), "ab", ("a", "b", "c"), ("d", 7)]  # type: ignore[list-item]
        )
    assert list(error.value.faults) == [
        "path 2: expected at least one name, got none",
        "path 3: the name at level 2 of 'a > ' is empty",
        "path 4: 'a > b' is already path 1",
        "path 5: expected a sequence of names, got the text 'ab'",
        "path 7: expected a name at level 2, got 7",
        "path 1: class 'b' is also an inner node: expected a leaf",
    ]


def test_the_same_name_under_two_parents_is_two_classes() -> None:
    taxonomy = Taxonomy.from_paths([("bird", "crane"), ("machine", "crane")])
    assert taxonomy.num_nodes == 4
    assert taxonomy.class_names == ("crane", "crane")


def test_classes_keep_the_order_of_the_paths() -> None:
    taxonomy = Taxonomy.from_paths([("b", "x", "y"), ("a",), ("b", "z")])
    assert taxonomy.class_names == ("y", "a", "z")


@pytest.mark.parametrize("build", [Taxonomy.from_paths, Taxonomy.from_edges, lambda _: Taxonomy.from_arrays([], [])])
def test_nothing_is_an_empty_tree(build: Callable[[list[tuple[str, str]]], Taxonomy]) -> None:
    with pytest.raises(TaxonomyError, match="the tree is empty"):
        build([])


@pytest.mark.parametrize(
    "edges",
    [
        PETS,
        [("", "pet"), ("", "vehicle"), *PETS],
        [("root", "pet"), ("root", "vehicle"), *PETS],
        [*PETS, ("root", "pet"), ("root", "vehicle")],
    ],
)
def test_the_root_may_be_left_out_blank_or_called_root(edges: list[tuple[str, str]]) -> None:
    assert Taxonomy.from_edges(edges) == TOY


def test_another_lone_top_is_a_node_unless_it_is_named_as_the_root() -> None:
    assert Taxonomy.from_edges([("thing", "cat"), ("thing", "dog")]).height == 2
    assert Taxonomy.from_edges([("thing", "cat"), ("thing", "dog")], root="thing").height == 1


def test_a_node_called_root_below_a_blank_parent_or_beside_others_is_a_node() -> None:
    assert Taxonomy.from_edges([("", "root"), ("root", "cat")]).height == 2
    assert Taxonomy.from_edges([("root", "cat"), ("other", "dog")]).names == ("root", "other", "cat", "dog")


def test_tops_and_classes_are_in_order_of_appearance() -> None:
    taxonomy = Taxonomy.from_edges([("a", "x"), ("b", "y"), ("a", "z")])
    assert taxonomy.names == ("a", "b", "x", "z", "y")
    assert taxonomy.class_names == ("x", "y", "z")


def test_every_fault_of_the_edges_is_said_at_once() -> None:
    with pytest.raises(TaxonomyError) as error:
        Taxonomy.from_edges(
            [
                ("", "a"),
                ("a", "b"),
                ("a", " "),
                ("a", "b"),
                ("c", "b"),
                ("lost", "d"),
                ("f", "e"),
                ("e", "f"),
                ("g", "g"),
            ]
        )
    assert list(error.value.faults) == [
        "edge 3: the child of 'a' is empty",
        "edge 4: 'a', 'b' is already edge 2",
        "edge 5: parent 'c' is never a child, though blank parents mark the top",
        "edge 6: parent 'lost' is never a child, though blank parents mark the top",
        "edge 7: 'e' is on a cycle, e > f > e",
        "edge 9: 'g' is on a cycle, g > g",
    ]
