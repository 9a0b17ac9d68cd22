import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hiercos import Taxonomy
from hiercos.errors import DataError, row_name
from hiercos.taxonomy import LabelReader, node_classes, read_sample_labels, set_targets, single_nodes
from trees import TOY, ancestor_sets, descendant_sets, graphs, taxonomies

CODED = Taxonomy.from_arrays(
    ["animal", "machine", "crane", "crane", "car"],
    [-1, -1, 0, 1, 1],
    ids=["A", "M", "A.10", "M.10", "06.10"],
)


def fault_of(taxonomy: Taxonomy, label: str, *, inner: bool = False) -> str:
    with pytest.raises(DataError) as error:
        LabelReader(taxonomy).read([label], source="a.csv", inner=inner)
    return str(error.value)


def classes_of(taxonomy: Taxonomy, labels: list[str]) -> list[int]:
    reader = LabelReader(taxonomy)
    return reader.classes(reader.read(labels, source="a.csv")).tolist()


@given(taxonomies())
def test_every_class_is_read_by_its_path_its_name_and_its_index(taxonomy: Taxonomy) -> None:
    reader, classes = LabelReader(taxonomy), np.arange(taxonomy.num_classes)
    paths = [taxonomy.path_text(leaf) for leaf in taxonomy.leaves]
    for labels in (paths, list(taxonomy.class_names), np.array(paths), classes.astype(np.uint8)):
        nodes = reader.read(labels, source="a.csv")
        assert nodes.tolist() == taxonomy.leaves.tolist()
        assert reader.classes(nodes).tolist() == classes.tolist()


@given(taxonomies())
def test_no_inner_node_is_read_as_a_class(taxonomy: Taxonomy) -> None:
    for node in np.flatnonzero(taxonomy.child_counts):
        assert "is an inner node" in fault_of(taxonomy, taxonomy.path_text(node))


def test_ids_are_text_and_are_read_before_names() -> None:
    assert classes_of(CODED, ["06.10", "A.10", " car ", "machine>crane"]) == [2, 0, 2, 1]


def test_a_path_of_one_step_is_not_confused_with_the_same_name_further_down() -> None:
    taxonomy = Taxonomy.from_paths([("fox",), ("dog", "fox")])
    assert classes_of(taxonomy, ["fox", "dog > fox"]) == [0, 1]


def test_a_class_is_found_by_name_though_an_inner_node_has_it_too() -> None:
    taxonomy = Taxonomy.from_paths([("fox", "fox"), ("dog", "wolf")])
    assert classes_of(taxonomy, ["fox"]) == [0]


def test_a_full_path_goes_before_the_name_of_a_class_where_paths_go_first() -> None:
    reader = LabelReader(Taxonomy.from_paths([("fox", "fox"), ("dog", "wolf")]))
    labels = ["fox", "fox > fox", "wolf", "dog"]
    assert reader.read(labels, source="a.csv", inner=True, paths_first=True).tolist() == [0, 2, 3, 1]
    assert reader.read(labels, source="a.csv", inner=True).tolist() == [2, 2, 3, 1]


def test_two_nodes_of_one_path_are_ambiguous_where_paths_go_first() -> None:
    taxonomy = Taxonomy.from_arrays(["crane", "crane"], [-1, -1], ids=["1", "2"])
    with pytest.raises(DataError, match="'crane' is the name of 2 classes"):
        LabelReader(taxonomy).read(["crane"], source="a.csv", inner=True, paths_first=True)


def test_a_name_that_holds_the_path_sign_is_still_found() -> None:
    taxonomy = Taxonomy.from_paths([("age", "> 60"), ("age", "<= 60")])
    assert classes_of(taxonomy, ["age > > 60", "> 60"]) == [0, 0]


@pytest.mark.parametrize(
    ("label", "message"),
    [
        ("catt", "a.csv: row 1: unknown label 'catt'; the nearest known label is 'cat'"),
        ("DOG", "a.csv: row 1: unknown label 'DOG'; the nearest known label is 'dog'"),
        ("pets > dog", "a.csv: row 1: unknown label 'pets > dog'; the nearest known label is 'pet > dog'"),
        ("zebra", "a.csv: row 1: unknown label 'zebra'"),
        (" ", "a.csv: row 1: the label is empty"),
        ("pet", "a.csv: row 1: 'pet' is an inner node (it has children, 2 of them): expected a class, which is a leaf"),
    ],
)
def test_a_label_that_is_no_class_is_named_with_its_row(label: str, message: str) -> None:
    assert fault_of(TOY, label) == message


def test_a_shared_name_lists_the_classes_that_have_it() -> None:
    assert fault_of(CODED, "crane") == (
        "a.csv: row 1: 'crane' is the name of 2 classes: expected the path or id of one of "
        "'animal > crane' (id 'A.10'); 'machine > crane' (id 'M.10')"
    )


def test_an_index_out_of_range_is_named_with_its_row() -> None:
    with pytest.raises(DataError) as error:
        LabelReader(TOY).read(np.array([0, 3, -1, 3]), source="a.npz")
    assert error.value.faults == (
        "a.npz: row 2: expected a class index from 0 to 2, got 3",
        "a.npz: row 3: expected a class index from 0 to 2, got -1",
    )


@pytest.mark.parametrize("labels", [np.zeros((2, 2), dtype=int), np.array([0.0, 1.0]), np.array([True])])
def test_labels_of_another_shape_or_type_are_refused(labels: np.ndarray) -> None:
    with pytest.raises(DataError, match=r"^a.npz: expected one label for each sample, a text or an integer, got"):
        LabelReader(TOY).read(labels, source="a.npz")


def test_the_same_mistake_is_told_once_and_twenty_are_shown() -> None:
    with pytest.raises(DataError) as error:
        LabelReader(TOY).read(["wrong"] * 50 + [f"wrong {number}" for number in range(30)], source="a.csv")
    assert len(error.value.faults) == 31
    assert str(error.value).splitlines()[-1] == "and 11 more faults"


def test_a_suggestion_is_a_path_where_its_name_is_not_unique() -> None:
    tree = Taxonomy.from_paths([("gui", "window"), ("tk", "window"), ("tk", "button")])
    for label, nearest in (("windw", "gui > window"), ("buton", "button")):
        with pytest.raises(DataError, match=f"; the nearest known label is '{nearest}'$"):
            LabelReader(tree).read([label], source="")
