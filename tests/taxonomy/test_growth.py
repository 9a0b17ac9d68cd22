import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from hiercos import Taxonomy
from hiercos.taxonomy import label_indices, taxonomy_change
from trees import TOY, graphs, taxonomies

OLD = Taxonomy(("pet", "vehicle", "cat", "dog", "car"), (-1, -1, 0, 0, 1), ids=("p", "v", "c", "d", "k"))
NEW = Taxonomy.from_arrays(
    ["animal", "vehicle", "cat", "ship", "car", "plant", "oak"],
    [-1, -1, 0, 1, 0, -1, 5],
    ids=["p", "v", "c", "", "k", "", "o"],
)


def names(nodes: np.ndarray, taxonomy: Taxonomy) -> set[str]:
    return {taxonomy.names[node] for node in nodes}


def test_nodes_are_matched_by_id_then_by_path_and_the_rest_is_told() -> None:
    change = taxonomy_change(OLD, NEW)
    assert names(change.added, NEW) == {"ship", "plant", "oak"}
    assert names(change.renamed, NEW) == {"animal"}
    assert names(change.moved, NEW) == {"car"}
    assert names(change.dropped, OLD) == {"dog"}
    assert change.lines() == [
        "matched: 4 nodes",
        "added: 3 nodes (plant; vehicle > ship; plant > oak)",
        "renamed: 1 node (animal)",
        "moved: 1 node (animal > car)",
        "dropped: 1 node (pet > dog)",
    ]


def test_old_labels_become_new_ones_and_dropped_nodes_their_parents() -> None:
    change = taxonomy_change(OLD, NEW)
    old = label_indices([2, 3, 4, 1, -1], OLD)  # cat, dog, car, vehicle and the root
    expected = [
        NEW.names.index("cat"),
        NEW.names.index("animal"),
        NEW.names.index("car"),
        NEW.names.index("vehicle"),
        -1,
    ]
    assert change.new_labels(old).tolist() == label_indices(expected, NEW).tolist()


def test_an_added_node_has_the_nearest_old_ancestor() -> None:
    change = taxonomy_change(OLD, NEW)
    nearest = {NEW.names[node]: change.nearest_old(node) for node in change.added}
    assert nearest == {"ship": OLD.names.index("vehicle"), "plant": -1, "oak": -1}


@settings(deadline=None, max_examples=40)
@given(st.one_of(taxonomies(), graphs()))
def test_a_taxonomy_matches_itself(taxonomy: Taxonomy) -> None:
    change = taxonomy_change(taxonomy, taxonomy)
    assert change.old_nodes.tolist() == change.new_nodes.tolist() == list(range(taxonomy.num_nodes))
    assert not len(change.moved) + len(change.renamed) + len(change.added) + len(change.dropped)


def test_without_ids_a_node_is_its_path() -> None:
    change = taxonomy_change(TOY, Taxonomy.from_paths([("pet", "dog"), ("vehicle", "cat")]))
    assert names(change.added, change.new) == {"cat"}
    assert names(change.dropped, TOY) == {"cat", "car"}
