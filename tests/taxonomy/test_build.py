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
    with pytest.raises(TaxonomyError, match=r"^node 1 \('b'\): parent 2 is not a node$"):
        Taxonomy.from_arrays(["a", "b"], NodeLists.of([(), (0, 2)]))


def test_every_cycle_is_named_and_a_long_one_shortened() -> None:
    with pytest.raises(TaxonomyError) as error:
        Taxonomy.from_arrays(["a", "b", "c", "d", "e"], [-1, 2, 1, 2, 4])
    assert faults_of(error) == ["'b' is on a cycle, b > c > b", "'e' is on a cycle, e > e"]
    with pytest.raises(TaxonomyError, match=r"^edge 1: 'b' is on a cycle, b > c > a > b$"):
        Taxonomy.from_edges([("a", "b"), ("b", "c"), ("x", "c"), ("c", "a")])
    rings = NodeLists.of([*(((node - 1) % 8,) for node in range(8)), (9,), (8, 3)])  # and one below the other
    with pytest.raises(TaxonomyError) as error:
        Taxonomy.from_arrays([f"n{node}" for node in range(10)], rings)
    assert faults_of(error) == ["'n0' is on a cycle, n0 > n1 > n2 > n3 > … > n0", "'n8' is on a cycle, n8 > n9 > n8"]


def test_ids_move_with_their_nodes() -> None:
    taxonomy = Taxonomy.from_arrays(["cat", "pet"], [1, -1], ids=["c", "p"])
    assert (taxonomy.names, taxonomy.ids) == (("pet", "cat"), ("p", "c"))
