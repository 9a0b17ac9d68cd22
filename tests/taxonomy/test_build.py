import pytest

from hiercos import Taxonomy, TaxonomyError


def faults_of(error: pytest.ExceptionInfo[TaxonomyError]) -> list[str]:
    return list(error.value.faults)


def test_parents_and_leaves_outside_the_nodes_are_all_named() -> None:
    with pytest.raises(TaxonomyError) as error:
        Taxonomy.from_arrays(["a", "b", "c"], [-1, 7, -2], [0, -1, 3])
    assert faults_of(error) == [
        "node 1 ('b'): parent 7 is not a node",
        "node 2 ('c'): parent -2 is not a node",
        "class 1: leaf -1 is not a node",
        "class 2: leaf 3 is not a node",
    ]


def test_nodes_on_or_below_a_cycle_are_named() -> None:
    with pytest.raises(TaxonomyError) as error:
        Taxonomy.from_arrays(["a", "b", "c", "d"], [-1, 2, 1, 2])
    assert faults_of(error) == [
        f"node {node} ({name!r}) is on or below a cycle" for node, name in ((1, "b"), (2, "c"), (3, "d"))
    ]


def test_ids_move_with_their_nodes() -> None:
    taxonomy = Taxonomy.from_arrays(["cat", "pet"], [1, -1], ids=["c", "p"])
    assert (taxonomy.names, taxonomy.ids) == (("pet", "cat"), ("p", "c"))


@pytest.mark.parametrize("ids", [["1"], ["1", "2", "3"]])
def test_too_few_or_too_many_ids_are_refused(ids: list[str]) -> None:
    with pytest.raises(TaxonomyError, match=f"expected 2 ids, one for each name, got {len(ids)}"):
        Taxonomy.from_arrays(["a", "b"], [-1, -1], ids=ids)


def test_no_nodes_at_all_are_refused() -> None:
    with pytest.raises(TaxonomyError, match="the tree is empty"):
        Taxonomy.from_arrays([], [])
