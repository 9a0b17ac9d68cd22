"""Several labels of a sample: as users write them, and the nodes that they make right."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hiercos import Taxonomy
from hiercos.errors import DataError, row_name
from hiercos.taxonomy import read_sample_labels, set_targets, single_labels
from trees import TOY, ancestor_sets, descendant_sets, graphs

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
    assert found.labels.tolist() == [8, 3, 1, 8]
    assert found.notes[0] == "toy.csv: 1 of 4 samples have several labels; only average precision counts them."


def test_samples_with_one_label_each_have_no_sets() -> None:
    found = read_sample_labels(["cat", "pet"], TOY, **READING)
    assert found.sets is None
    assert found.labels.tolist() == [0, 3]


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
    assert taken.labels.tolist() == [3, 1]
    assert taken.notes[0].startswith("toy.csv: 0 of 2 samples have several labels")
    assert single_labels(np.array([[2, 2]]), TOY).tolist() == [8]
