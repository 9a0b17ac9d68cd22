import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings

from hiercos import Taxonomy
from hiercos.errors import DataError, row_name
from hiercos.taxonomy import (
    label_indices,
    level_names,
    nodes_from_levels,
    nodes_of_labels,
    taxonomy_from_levels,
    taxonomy_of_labels,
)
from trees import TOY, taxonomies

LABELS = [["pet", "dog"], ["pet", "cat"], ["plant", ""], ["pet", "dog"]]


def taxonomy_of(labels: list[str]) -> Taxonomy:
    return taxonomy_of_labels(labels, source="a.csv", row_name=row_name)


def fault_of(labels: list[str]) -> str:
    with pytest.raises(DataError) as error:
        taxonomy_of(labels)
    return str(error.value)


def test_the_classes_are_the_distinct_paths_in_sorted_order() -> None:
    taxonomy = taxonomy_of(["pet > dog", "vehicle>car", "pet >cat", "pet > dog", "sun"])
    paths = [taxonomy.path_text(leaf) for leaf in taxonomy.leaves]
    assert paths == ["pet > cat", "pet > dog", "sun", "vehicle > car"]


def test_names_alone_are_no_paths() -> None:
    assert fault_of(["cat", "dog"]) == (
        "a.csv: the labels (such as 'cat') are not paths: "
        "expected a taxonomy (--taxonomy FILE), or labels such as 'a > b > c'"
    )


def test_paths_that_make_no_tree_are_named_with_their_rows() -> None:
    assert fault_of(["pet > dog", "pet", "pet > > cat"]) == (
        "a.csv: row 3: expected a name at every step of the path, got 'pet > > cat'"
    )


def test_a_path_that_continues_in_another_label_is_an_inner_node() -> None:
    assert taxonomy_of(["pet", "pet > dog", "root", "sun"]).names == ("pet", "sun", "dog")


@given(taxonomies())
def test_nodes_and_the_root_go_to_label_indices_and_back(taxonomy: Taxonomy) -> None:
    nodes = np.arange(-1, taxonomy.num_nodes)
    labels = label_indices(nodes, taxonomy)
    assert nodes_of_labels(labels, taxonomy).tolist() == nodes.tolist()
    classes = {int(leaf): label for label, leaf in enumerate(taxonomy.leaves)} | {
        -1: taxonomy.num_classes + len(nodes) - 1
    }
    assert labels.tolist() == [classes.get(node, taxonomy.num_classes + node) for node in nodes.tolist()]


def faults(labels: object) -> list[str]:
    with pytest.raises(DataError) as error:
        taxonomy_from_levels(labels)
    return list(error.value.faults)


@pytest.mark.parametrize("blank", ["", None, np.nan, " ", pd.NA, pd.NaT])
def test_the_distinct_rows_are_the_classes_in_sorted_order(blank: object) -> None:
    labels = np.array([[name or blank for name in row] for row in LABELS], dtype=object)
    taxonomy = taxonomy_from_levels(labels)
    assert [taxonomy.path_text(leaf) for leaf in taxonomy.leaves] == ["pet > cat", "pet > dog", "plant"]
    assert nodes_from_levels(labels, taxonomy).tolist() == taxonomy.leaves[[1, 0, 2, 1]].tolist()


def test_numbers_are_text() -> None:
    assert taxonomy_from_levels(np.array([[1, 10], [1, 20]])).names == ("1", "10", "20")


def test_every_fault_is_said_with_its_first_row() -> None:
    assert faults([["", "b"], ["", ""], ["", "b"], ["", "c"]]) == [
        "row 1: expected names from the left without a blank, got ['', 'b']",
        "row 4: expected names from the left without a blank, got ['', 'c']",
    ]
    assert faults([["", None], ["", ""]]) == ["expected a name in at least one row of the labels, got blanks only"]
    assert faults(["a", "b"]) == ["expected labels of shape (samples, levels), got shape (2,)"]


def test_a_row_that_is_no_class_is_said() -> None:
    with pytest.raises(DataError) as error:
        nodes_from_levels([["pet", "dog"], ["pet", "cow"], ["pet", ""], ["pet", "cow"]], TOY)
    assert error.value.faults == (
        "row 2: unknown label 'pet > cow'; the nearest known label is 'pet > dog'",
        "row 3: 'pet' is an inner node (it has children, 2 of them): expected a class, which is a leaf",
    )


def test_a_row_is_a_path_and_never_the_name_or_id_of_a_node() -> None:
    coded = Taxonomy.from_arrays(["pet", "cat"], [-1, 0], ids=["1", "2"])
    for label in ("cat", "2"):
        with pytest.raises(DataError, match=f"^y: row 1: unknown label '{label}'"):
            nodes_from_levels([[label, ""]], coded, source="y")


def test_a_row_may_end_at_an_inner_node_where_that_is_allowed() -> None:
    rows = [["pet", "dog"], ["pet", ""], ["vehicle", None], ["", ""]]
    assert nodes_from_levels(rows, TOY, inner=True).tolist() == [3, 0, 1, -1]
    assert taxonomy_from_levels(rows).class_names == ("dog", "vehicle")
    with pytest.raises(DataError, match=r"^row 1: unknown label 'cow'$"):
        nodes_from_levels([["cow", ""]], TOY, inner=True)


@settings(max_examples=50, deadline=None)
@given(taxonomies())
def test_nodes_go_there_and_back(taxonomy: Taxonomy) -> None:
    nodes = np.arange(taxonomy.num_nodes)
    assert nodes_from_levels(level_names(nodes, taxonomy), taxonomy, inner=True).tolist() == nodes.tolist()
