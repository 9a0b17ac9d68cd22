"""Crosswalks between two taxonomies."""

import numpy as np
from hypothesis import given

from hiercos import Taxonomy
from hiercos.taxonomy import Link, crosswalk, label_indices
from trees import taxonomies

OLD = Taxonomy.from_paths(
    [("pet", "cat"), ("pet", "dog"), ("pet", "bird"), ("plant", "rose"), ("plant", "tulip"), ("car",), ("bus",)]
)
NEW = Taxonomy.from_edges(
    [("pet", "cat"), ("pet", "finch"), ("pet", "parrot"), ("home", "dog"), ("flora", "tulip"), ("flora", "roses")]
)


def node(taxonomy: Taxonomy, name: str) -> int:
    return taxonomy.names.index(name)


def table(**links: str) -> dict[int, list[tuple[int, float]]]:
    return {
        node(OLD, old): [(node(NEW, name), 1.0) for name in names.split("_") if name] for old, names in links.items()
    }


def changes(links: dict[int, list[tuple[int, float]]]) -> dict[str, str]:
    found = crosswalk(OLD, NEW, links)
    return {OLD.names[link.old] if link.old >= 0 else NEW.names[link.new]: found.change(link) for link in found.links}


def test_each_old_node_has_one_change_and_new_nodes_are_listed() -> None:
    found = changes(table(bird="finch_parrot", plant="flora", dog="dog", car="home", bus="home"))
    assert found == {
        **{"pet": "same", "cat": "same", "dog": "moved", "bird": "split", "plant": "renamed"},
        **{"tulip": "same", "rose": "gone", "car": "merged", "bus": "merged", "roses": "new"},
    }


def test_the_children_of_a_linked_node_are_found_by_name_below_it() -> None:
    found = crosswalk(OLD, NEW, table(plant="flora"))
    assert Link(node(OLD, "tulip"), node(NEW, "tulip"), "path") in found.links
    assert changes({})["tulip"] == "new"  # the last row of that name: nothing links plant and flora


def test_ids_link_nodes_whatever_their_names() -> None:
    old = Taxonomy(names=("a", "b"), parents=(-1, -1), ids=("1", "2"))
    new = Taxonomy(names=("b", "c"), parents=(-1, -1), ids=("2", "1"))
    assert [(link.old, link.new, link.by) for link in crosswalk(old, new).links] == [(0, 1, "id"), (1, 0, "id")]


def test_weights_of_a_split_sum_to_one_and_a_proposal_has_a_score_alone() -> None:
    links = table(bird="finch_parrot")
    links[node(OLD, "bird")] = [(node(NEW, "finch"), 3.0), (node(NEW, "parrot"), 1.0)]
    proposal = Link(node(OLD, "rose"), node(NEW, "roses"), "name", score=0.7)
    rows = crosswalk(OLD, NEW, links, [proposal]).rows()
    assert [row["weight"] for row in rows if row["change"] == "split"] == [0.75, 0.25]
    (row,) = [row for row in rows if row["change"] == "proposed"]
    assert (row["old"], row["new"], row["weight"], row["score"]) == ("plant > rose", "flora > roses", None, 0.7)


def test_labels_follow_splits_to_the_lowest_node_above_all_and_merges_to_the_one_node() -> None:
    change = crosswalk(OLD, NEW, table(bird="finch_parrot", cat="cat_dog", car="home", bus="home")).matched
    names = ("bird", "cat", "bus", "car", "tulip")
    labels = label_indices([node(OLD, name) for name in names], OLD)
    wanted = [node(NEW, "pet"), -1, node(NEW, "home"), node(NEW, "home"), -1]
    assert change.new_labels(labels).tolist() == label_indices(wanted, NEW).tolist()


@given(taxonomies())
def test_a_taxonomy_is_the_same_as_itself(taxonomy: Taxonomy) -> None:
    found = crosswalk(taxonomy, taxonomy)
    assert [(link.old, link.new) for link in found.links] == [(each, each) for each in range(taxonomy.num_nodes)]
    assert {found.change(link) for link in found.links} == {"same"}
    np.testing.assert_array_equal(found.matched.old_nodes, np.arange(taxonomy.num_nodes))
