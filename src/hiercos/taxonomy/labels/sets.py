"""Several labels of one sample: sets of nodes, as rows of a table that is filled up with -1."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hiercos.errors import RowName
from hiercos.taxonomy.labels.paths import inner_label_notes, label_indices
from hiercos.taxonomy.labels.reader import LabelReader
from hiercos.taxonomy.operations import ancestor_sums, descendant_sums
from hiercos.taxonomy.tree import AnyArray, IntArray, Taxonomy

SET_SIGN = "|"  # between the labels of a sample


class SampleLabels(NamedTuple):
    """Labels of M samples.

    Attributes:
        labels: label index of each sample, shape (M,); the root's for a sample with several labels.
        sets: nodes of the labels of each sample, shape (M, K), -1 for none; None if every sample has one label.
        notes: sentences for the user about inner nodes and several labels.
    """

    labels: IntArray
    sets: IntArray | None
    notes: tuple[str, ...]

    def take(self, rows: IntArray, taxonomy: Taxonomy, *, source: str) -> "SampleLabels":
        """Labels at these rows, with notes of their own."""
        sets = None if self.sets is None else self.sets[rows]
        return SampleLabels(self.labels[rows], sets, _notes(self.labels[rows], sets, taxonomy, source))


def read_sample_labels(
    labels: Sequence[str] | AnyArray, taxonomy: Taxonomy, *, source: str, row_name: RowName
) -> SampleLabels:
    """Labels as users write them, one or several of each sample, see `LabelReader`.

    Several labels are a text such as `a | b`, unless a node is called so, or a row of a 2-D array of texts or integers,
    in which "" and -1 stand for none.

    Args:
        labels: M texts, an array of M integers, or an array of shape (M, K).
        taxonomy: the tree or graph.
        source: name of the data, for messages.
        row_name: function from the index of a sample to its name in messages.

    Raises:
        DataError: see `LabelReader.read`.
    """
    reader = LabelReader(taxonomy)
    several = _split(labels, reader)
    if several is None:
        found, sets = label_indices(reader.read(labels, source=source, row_name=row_name, inner=True), taxonomy), None
    else:
        values, rows, columns = several
        nodes = reader.read(values, source=source, row_name=lambda place: row_name(int(rows[place])), inner=True)
        sets = np.full((len(labels), int(columns.max(initial=0)) + 1), -1, dtype=np.int64)
        sets[rows, columns] = nodes
        found = single_labels(sets, taxonomy)
    return SampleLabels(found, sets, _notes(found, sets, taxonomy, source))


class _SplitLabels(NamedTuple):
    values: list[str] | AnyArray  # all labels, one after the other
    rows: IntArray
    columns: IntArray


def _split(labels: Sequence[str] | AnyArray, reader: LabelReader) -> _SplitLabels | None:
    """Every label of every sample with its row and column; None if each sample has one label."""
    if isinstance(labels, np.ndarray) and labels.ndim == 2 and labels.dtype.kind in "iuUO":
        present = labels >= 0 if labels.dtype.kind in "iu" else np.char.strip(labels.astype(str)) != ""
        rows, columns = np.nonzero(present)
        return _SplitLabels(labels[present], rows, columns)
    if isinstance(labels, np.ndarray) and labels.dtype.kind not in "UO":
        return None
    parts = {text: reader.parts(text, SET_SIGN) for text in {str(label) for label in labels}}
    if all(len(each) == 1 for each in parts.values()):
        return None
    lists = [parts[str(label)] for label in labels]
    rows = np.repeat(np.arange(len(lists)), [len(each) for each in lists])
    columns = np.concatenate([np.arange(len(each)) for each in lists])
    return _SplitLabels([part for each in lists for part in each], rows, columns)


def _notes(labels: IntArray, sets: IntArray | None, taxonomy: Taxonomy, source: str) -> tuple[str, ...]:
    if sets is None:
        return tuple(inner_label_notes(labels, taxonomy, source=source))
    several = (sets >= 0).sum(axis=1) > 1
    note = f"{source}: {several.sum()} of {len(sets)} samples have several labels; only average precision counts them."
    return (note, *inner_label_notes(labels[~several], taxonomy, source=source))


def single_labels(sets: IntArray, taxonomy: Taxonomy) -> IntArray:
    """Label index of each sample with one label, and the root's for the others: (M, K) to (M,).

    Example:
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> single_labels(np.array([[2, -1], [2, 4], [0, -1], [-1, -1]]), t).tolist()  # cat, two labels, pet, none
        [0, 8, 3, 8]
    """
    nodes = np.where((sets >= 0).sum(axis=1) == 1, sets.max(axis=1, initial=-1), -1)
    return label_indices(nodes, taxonomy)


class SetTargets(NamedTuple):
    """Nodes of sets of labels; see `set_targets`."""

    right: NDArray[np.bool_]
    known: NDArray[np.bool_]


def set_targets(sets: IntArray, taxonomy: Taxonomy) -> SetTargets:
    """Nodes that are right, and nodes of which it is known whether they are, for sets of labels.

    Right is a node at or above a label. Unknown are nodes strictly below a label that are not right themselves, and all
    nodes of a sample without labels.

    Args:
        sets: nodes of the labels of each sample, -1 for none, shape (M, K).
        taxonomy: the tree or graph.

    Returns:
        Masks `right` and `known`, shape (M, N) each.

    Example:
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> right, known = set_targets(np.array([[0, 4]]), t)  # some pet, and a car
        >>> right.astype(int).tolist(), known.astype(int).tolist()
        ([[1, 1, 0, 0, 1]], [[1, 1, 0, 0, 1]])
    """
    own = np.zeros((len(sets), taxonomy.num_nodes + 1))
    np.put_along_axis(own, sets, 1.0, axis=1)  # the last column is for -1
    right = descendant_sums(own[:, :-1], taxonomy) > 0
    below = ancestor_sums(own[:, :-1], taxonomy) > 0
    return SetTargets(right, (right | ~below) & (sets.max(axis=1, initial=-1) >= 0)[:, None])
