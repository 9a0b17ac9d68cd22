import pytest

from hiercos import Taxonomy, TaxonomyError


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


def test_no_paths_are_an_empty_tree() -> None:
    with pytest.raises(TaxonomyError, match="the tree is empty"):
        Taxonomy.from_paths([])
