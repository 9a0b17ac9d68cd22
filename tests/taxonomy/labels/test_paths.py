import numpy as np
import pytest
from hypothesis import given

from hiercos import Taxonomy
from hiercos.errors import DataError, row_name
from hiercos.taxonomy import label_indices, nodes_of_labels, taxonomy_of_labels
from trees import taxonomies


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
    assert label_indices(taxonomy.leaves, taxonomy).tolist() == list(range(taxonomy.num_classes))
