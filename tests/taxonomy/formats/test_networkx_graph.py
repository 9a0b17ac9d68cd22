import networkx
import pytest
from hypothesis import given, settings

from hiercos import Taxonomy, TaxonomyError
from hiercos.taxonomy.formats.networkx_graph import from_networkx, to_networkx
from trees import TOY, taxonomies


def faults(graph: networkx.Graph) -> list[str]:
    with pytest.raises(TaxonomyError) as error:
        from_networkx(graph)
    return list(error.value.faults)


def test_a_taxonomy_is_an_arborescence_with_names_ids_and_classes() -> None:
    graph = to_networkx(Taxonomy.from_arrays(["pet", "cat", "dog"], [-1, 0, 0], [2, 1], ids=["", "", "d1"]))
    assert networkx.is_arborescence(graph)
    assert list(graph.edges) == [(-1, 0), (0, 1), (0, 2)]
    assert dict(graph.nodes) == {
        -1: {"name": "root"},
        0: {"name": "pet"},
        1: {"name": "cat", "class": 1},
        2: {"name": "dog", "id": "d1", "class": 0},
    }


def test_ancestors_are_found_by_networkx() -> None:
    graph = to_networkx(TOY)
    assert networkx.lowest_common_ancestor(graph, 2, 3) == 0  # cat and dog are pets
    assert networkx.lowest_common_ancestor(graph, 2, 4) == -1


@settings(max_examples=50, deadline=None)
@given(taxonomies())
def test_what_goes_out_comes_back_the_same(taxonomy: Taxonomy) -> None:
    assert from_networkx(to_networkx(taxonomy)) == taxonomy


def test_a_lone_top_called_root_comes_back_too() -> None:
    taxonomy = Taxonomy.from_arrays(["root", "a"], [-1, 0], ids=["", "1"])
    assert from_networkx(to_networkx(taxonomy)) == taxonomy


@pytest.mark.parametrize(
    "edges",
    [
        [("pet", "cat"), ("pet", "dog"), ("vehicle", "car")],
        [("root", "pet"), ("root", "vehicle"), ("pet", "cat"), ("pet", "dog"), ("vehicle", "car")],
    ],
)
def test_a_graph_of_names_is_read_whether_or_not_it_has_a_root(edges: list[tuple[str, str]]) -> None:
    taxonomy = from_networkx(networkx.DiGraph(edges))
    assert [taxonomy.path_text(leaf) for leaf in taxonomy.leaves] == ["pet > cat", "pet > dog", "vehicle > car"]


def test_other_lone_tops_are_nodes_and_other_nodes_are_text() -> None:
    assert from_networkx(networkx.DiGraph([(0, 1), (0, (2, 3))])).names == ("0", "1", "(2, 3)")
    single = networkx.DiGraph()
    single.add_node("root")
    assert from_networkx(single).names == ("root",)


def test_what_is_no_tree_is_said() -> None:
    assert faults(networkx.Graph([("a", "b")])) == [
        "expected a directed graph, edges from parent to child, got an undirected one"
    ]
    assert faults(networkx.DiGraph([("a", "b"), ("b", "c"), ("c", "b")])) == ["'b' is on a cycle, b > c > b"]
    assert faults(networkx.DiGraph([("a", "b"), ("b", "a")])) == [
        "node 0 ('a') is on or below a cycle",
        "node 1 ('b') is on or below a cycle",
    ]
    assert faults(networkx.DiGraph()) == ["the tree is empty: expected at least one node under the root"]
    same = networkx.DiGraph([(0, 1), (0, 2)])
    networkx.set_node_attributes(same, {1: "x", 2: "x"}, "name")
    assert faults(same) == ["2 nodes under '0' are called 'x': expected distinct names, or ids"]
