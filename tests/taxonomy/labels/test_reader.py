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


def test_a_suggestion_shares_more_than_the_first_word_and_is_a_path_where_its_name_is_not_unique() -> None:
    taxonomy = Taxonomy.from_paths([("lung", "acute bronchitis"), ("lung", "other"), ("gut", "other")])
    reader = LabelReader(taxonomy)
    for text, end in (
        ("acute appendicitis", "acute appendicitis'$"),
        ("acute bronchits", "the nearest known label is 'acute bronchitis'$"),
        ("othr", "the nearest known label is '(lung|gut) > other'$"),
    ):
        with pytest.raises(DataError, match=end):
            reader.read([text], source="a.csv")


def test_suggestions_stay_cheap_with_very_many_classes() -> None:
    taxonomy = Taxonomy.from_paths([("all", f"product number {number}") for number in range(50_000)])
    reader, start = LabelReader(taxonomy), time.process_time()
    with pytest.raises(DataError, match="unknown label 'product namber 7'; the nearest known label is 'product"):
        reader.read(["product namber 7"], source="a.csv")
    assert time.process_time() - start < 5


def test_a_very_deep_chain_is_read() -> None:
    names = [f"n{number}" for number in range(10_000)]
    chain = Taxonomy.from_paths([names])
    assert classes_of(chain, [" > ".join(names)]) == [0]


@given(taxonomies())
def test_every_node_is_read_by_its_path_and_its_number_where_inner_nodes_are_allowed(taxonomy: Taxonomy) -> None:
    reader, nodes = LabelReader(taxonomy), np.arange(taxonomy.num_nodes)
    paths = [taxonomy.path_text(node) for node in nodes]
    assert reader.read(paths, source="a.csv", inner=True).tolist() == nodes.tolist()
    numbers = np.arange(taxonomy.num_classes + taxonomy.num_nodes)
    assert reader.read(numbers, source="a.npz", inner=True).tolist() == [*taxonomy.leaves, *nodes]


def test_labels_of_any_depth_are_refused_by_the_same_sentences() -> None:
    assert fault_of(TOY, "zebra", inner=True) == "a.csv: row 1: unknown label 'zebra'"
    assert fault_of(TOY, " ", inner=True) == "a.csv: row 1: the label is empty"
    twins = Taxonomy.from_paths([("left", "eye", "lid"), ("right", "eye", "pupil")])
    assert fault_of(twins, "eye", inner=True) == (
        "a.csv: row 1: 'eye' is the name of 2 nodes: expected the path or id of one of 'left > eye'; 'right > eye'"
    )
    with pytest.raises(DataError, match=r"a class index from 0 to 2, 3 to 7 for a node, or 8 for the root, got 9"):
        LabelReader(TOY).read(np.array([7, 9]), source="a.npz", inner=True)
    assert fault_of(TOY, "root") == "a.csv: row 1: unknown label 'root'"


def test_the_root_is_read_by_its_number_and_its_name_unless_a_node_is_called_so() -> None:
    assert LabelReader(TOY).read(np.array([8]), source="a.npz", inner=True).tolist() == [-1]
    assert LabelReader(TOY).read(["root", " root"], source="a.csv", inner=True).tolist() == [-1, -1]
    carrot = Taxonomy.from_paths([("root", "carrot"), ("fruit", "apple")])
    assert LabelReader(carrot).read(["root"], source="a.csv", inner=True).tolist() == [0]


def test_a_label_that_may_mean_a_class_means_it_though_inner_nodes_are_allowed() -> None:
    taxonomy = Taxonomy.from_paths([("fox", "fox"), ("dog", "wolf")])
    found = LabelReader(taxonomy).read(["fox", "dog"], source="a.csv", inner=True)
    assert [taxonomy.path_text(node) for node in found] == ["fox > fox", "dog"]


def test_an_inner_node_has_no_class() -> None:
    with pytest.raises(ValueError, match=r"^'pet' is an inner node: expected a class, which is a leaf$"):
        node_classes([2, 0], TOY)


READING = {"source": "toy.csv", "row_name": row_name}


@st.composite
def label_sets(draw: st.DrawFn, taxonomy: Taxonomy, count: int = 4) -> list[set[int]]:
    """Sets of nodes of any depth, some of them empty."""
    return [draw(st.sets(st.integers(0, taxonomy.num_nodes - 1), max_size=3)) for _ in range(count)]


def table_of(sets: list[set[int]]) -> np.ndarray:
    """The sets as rows, filled up with -1."""
    width = max(1, *map(len, sets))
    return np.array([[*sorted(own), *[-1] * (width - len(own))] for own in sets])


@settings(deadline=None)
@given(st.data())
def test_the_right_and_the_unknown_nodes_are_those_of_the_sets_of_ancestors(data: st.DataObject) -> None:
    taxonomy = data.draw(graphs())
    sets = data.draw(label_sets(taxonomy))
    right, known = set_targets(table_of(sets), taxonomy)
    above, below = ancestor_sets(taxonomy), descendant_sets(taxonomy)
    for row, own in enumerate(sets):
        expected = set().union(*(above[node] for node in own))
        unknown = set().union(*(below[node] for node in own)) - expected if own else set(range(taxonomy.num_nodes))
        assert set(np.flatnonzero(right[row])) == expected
        assert set(np.flatnonzero(~known[row])) == unknown


@pytest.mark.parametrize(
    "labels",
    [
        ["cat | vehicle > car", "pet", "dog", "root"],
        np.array([["cat", "car"], ["pet", ""], ["", "dog"], ["", " "]]),
        np.array([[0, 2], [3, -1], [-1, 1], [-1, -1]]),
        np.array([[0, 2], [3, -1], [-1, 1], [8, -1]]),  # C + N is the root
    ],
    ids=["texts", "array of texts", "indices", "index of the root"],
)
def test_several_labels_are_texts_with_a_bar_or_rows_of_an_array(labels: object) -> None:
    found = read_sample_labels(labels, TOY, **READING)
    assert found.sets is not None
    assert [{*row[row >= 0].tolist()} for row in found.sets] == [{2, 4}, {0}, {3}, set()]
    assert found.nodes.tolist() == [-1, 0, 3, -1]
    assert found.notes[0] == "toy.csv: 1 of 4 samples have several labels."


def test_samples_with_one_label_each_have_no_sets() -> None:
    found = read_sample_labels(["cat", "pet"], TOY, **READING)
    assert found.sets is None
    assert found.nodes.tolist() == [2, 0]


def test_a_node_whose_name_has_a_bar_is_one_label() -> None:
    taxonomy = Taxonomy.from_paths([("a | b",), ("a",), ("b",)])
    assert read_sample_labels(["a | b", "a"], taxonomy, **READING).sets is None
    assert read_sample_labels(["b | a", "a"], taxonomy, **READING).sets is not None


def test_a_wrong_label_among_several_is_named_with_its_row() -> None:
    with pytest.raises(DataError, match=r"toy.csv: row 2: unknown label 'cta'; the nearest known label is 'cat'"):
        read_sample_labels(["dog", "car | cta"], TOY, **READING)
    with pytest.raises(DataError, match="row 1: the label is empty"):
        read_sample_labels(["car | ", "dog | cat"], TOY, **READING)


def test_rows_are_taken_with_notes_of_their_own() -> None:
    found = read_sample_labels(["cat | car", "pet", "dog"], TOY, **READING)
    taken = found.take(np.array([1, 2]), TOY, source="toy.csv")
    assert taken.nodes.tolist() == [0, 3]
    assert taken.notes[0].startswith("toy.csv: 0 of 2 samples have several labels")
    assert single_nodes(np.array([[2, 2]])).tolist() == [-1]


def test_a_suggestion_is_a_path_where_its_name_is_not_unique() -> None:
    tree = Taxonomy.from_paths([("gui", "window"), ("tk", "window"), ("tk", "button")])
    for label, nearest in (("windw", "(gui|tk) > window"), ("buton", "button")):
        with pytest.raises(DataError, match=f"the nearest known label is '{nearest}'$"):
            LabelReader(tree).read([label], source="")
