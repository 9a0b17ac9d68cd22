import pytest

from hiercos import Taxonomy, TaxonomyError
from hiercos.taxonomy import NodeLists


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


def test_parents_of_lists_outside_the_nodes_are_named_too() -> None:
    with pytest.raises(TaxonomyError, match=r"^node 1 \('b'\): parent 2 is not a node$"):
        Taxonomy.from_arrays(["a", "b"], NodeLists.of([(), (0, 2)]))


def test_every_cycle_is_named() -> None:
    with pytest.raises(TaxonomyError) as error:
        Taxonomy.from_arrays(["a", "b", "c", "d", "e"], [-1, 2, 1, 2, 4])
    assert faults_of(error) == ["'b' is on a cycle, b > c > b", "'e' is on a cycle, e > e"]


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
