from pathlib import Path

import networkx
import pytest
from hypothesis import given, settings

from hiercos import Taxonomy, TaxonomyError
from hiercos.taxonomy.formats.networkx_graph import from_networkx, to_networkx
from taxonomy_files import faults_of, read_text
from trees import TOY, graphs, taxonomies


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
@given(taxonomies() | graphs())
def test_what_goes_out_comes_back_the_same(taxonomy: Taxonomy) -> None:
    again = from_networkx(to_networkx(taxonomy))
    assert again == taxonomy or not taxonomy.is_tree
    assert again.distance_matrix().tolist() == taxonomy.distance_matrix().tolist()


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
    assert faults(networkx.DiGraph([("a", "b"), ("b", "a")])) == ["'a' is on a cycle, a > b > a"]
    assert faults(networkx.DiGraph()) == ["the tree is empty: expected at least one node under the root"]
    same = networkx.DiGraph([(0, 1), (0, 2)])
    networkx.set_node_attributes(same, {1: "x", 2: "x"}, "name")
    assert faults(same) == ["2 nodes under '0' are called 'x': expected distinct names, or ids"]


HEADER = "format-version: 1.2\nontology: toy\n"


def stanza(given_id: str, name: str, *lines: str, kind: str = "Term") -> str:
    return "\n".join(["", f"[{kind}]", f"id: {given_id}", f"name: {name}", *lines, ""])


TEXT = HEADER + "".join(
    [
        stanza("T:1", "pet"),
        stanza("T:2", "cat", "is_a: T:1 ! pet", "relationship: part_of T:4"),
        stanza("T:3", "dodo", "is_obsolete: true"),
        stanza("T:4", "vehicle, old", 'def: "A thing" []'),
        stanza("T:5", "car", 'is_a: T:4 {source="x"} ! vehicle'),
        stanza("part_of", "part of", kind="Typedef"),
    ]
)


def test_terms_are_nodes_by_their_ids_and_only_is_a_makes_a_parent(tmp_path: Path) -> None:
    taxonomy = read_text(tmp_path, "toy.obo", TEXT)
    assert taxonomy.names == ("pet", "vehicle, old", "cat", "car")
    assert taxonomy.ids == ("T:1", "T:4", "T:2", "T:5")
    assert taxonomy.class_names == ("cat", "car")


def test_a_file_without_a_header_is_read_in_silence(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    taxonomy = read_text(tmp_path, "toy.obo", TEXT.removeprefix(HEADER).lstrip())
    assert taxonomy == read_text(tmp_path, "whole.obo", TEXT)
    assert caplog.records == []


def test_a_term_with_several_parents_makes_a_graph_or_keeps_one(tmp_path: Path) -> None:
    text = TEXT + stanza("T:6", "toy car", "is_a: T:5", "is_a: T:1")
    graph = read_text(tmp_path, "toy.obo", text)
    assert (graph.is_tree, graph.several_parents) == (False, 1)
    with pytest.raises(TaxonomyError, match=r"toy.obo: 'toy car' has 2 parents, 'car', 'pet'; expected one"):
        Taxonomy.read(tmp_path / "toy.obo", parents="one")
    taxonomy = Taxonomy.read(tmp_path / "toy.obo", parents="first")
    assert taxonomy.path_text(taxonomy.ids.index("T:6")) == "vehicle, old > car > toy car"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (TEXT + stanza("T:2", "cat"), ["id 'T:2' is that of 2 terms: expected it once"]),
        (
            TEXT + stanza("T:6", "moa", "is_a: T:3") + stanza("T:7", "x", "is_a: X:9"),
            [
                "T:6 ('moa') is below T:3, which is not a term of the file",
                "T:7 ('x') is below X:9, which is not a term of the file",
            ],
        ),
        (TEXT + stanza("T:6", "x", "is_a: T:7") + stanza("T:7", "y", "is_a: T:6"), ["'x' is on a cycle, x > y > x"]),
        (HEADER, ["expected terms ([Term]), got none"]),
        (HEADER + "\n[Term]\nno tag\n", ["not OBO that obonet can read (Tag-value pair parsing failed for: no tag)"]),
        (HEADER + "\n[Term]\nname: x\n", ["not OBO that obonet can read ('id')"]),
    ],
)
def test_terms_that_make_no_taxonomy_are_refused(tmp_path: Path, text: str, expected: list[str]) -> None:
    assert faults_of(tmp_path, "toy.obo", text) == expected
