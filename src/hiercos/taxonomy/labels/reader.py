"""Labels as users write them (an id, a path, a name, a class index), one or several per sample, to nodes."""

import difflib
from collections import defaultdict
from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hiercos.errors import MOST_FAULTS, DataError, RowName, UnknownLabelError, listed, row_name
from hiercos.taxonomy.checks import same_form
from hiercos.taxonomy.labels.paths import (
    ROOT_LABEL,
    inner_label_notes,
    label_indices,
    node_classes,
    nodes_of_labels,
    path_parts,
)
from hiercos.taxonomy.operations import ancestor_sums, descendant_sums
from hiercos.taxonomy.tree import PATH_SIGN, AnyArray, IntArray, Taxonomy

MOST_SHOWN = 3  # nodes of one name in a message
MOST_CANDIDATES = 5000  # labels compared with an unknown one, so that a suggestion takes milliseconds


class _LabelFault(NamedTuple):
    row: int
    sentence: str
    is_unknown: bool  # rather than empty, ambiguous or an inner node


class LabelReader:
    """Finds the node of a label: by id, by full path, or by name if the name is unique, compared in Unicode's NFC.

    They are tried in this order, so a full path is never ambiguous. Classes go before inner nodes: a label that
    matches both is the class, unless full paths go first (see `read`). Where inner nodes are allowed, "root" is the
    root unless a node is called so.

    Args:
        taxonomy: the tree.
        tree_name: name of the tree in messages about unknown labels, such as its file; "" to name none.

    Example:
        >>> toy = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> reader = LabelReader(toy)
        >>> nodes = reader.read(["car", "pet > dog"], source="toy.csv")
        >>> nodes.tolist(), reader.classes(nodes).tolist()
        ([4, 3], [2, 1])
        >>> reader.read(["pet"], source="toy.csv", inner=True).tolist()
        [0]
    """

    def __init__(self, taxonomy: Taxonomy, tree_name: str = "") -> None:
        self.taxonomy, self.tree_name = taxonomy, tree_name
        self._paths: _PathIndex | _GraphPaths = _PathIndex(taxonomy) if taxonomy.is_tree else _GraphPaths(taxonomy)
        self._leaves = frozenset(taxonomy.leaves.tolist())
        self._by_id: dict[str, list[int]] = defaultdict(list)
        self._by_name: dict[str, list[int]] = defaultdict(list)
        for node, name in enumerate(taxonomy.names):
            self._by_name[same_form(name.strip())].append(node)
        for node, code in enumerate(taxonomy.ids):
            if code.strip():
                self._by_id[same_form(code.strip())].append(node)

    def read(
        self,
        labels: Sequence[str] | AnyArray,
        *,
        source: str,
        row_name: RowName | None = row_name,
        inner: bool = False,
        paths_first: bool = False,
    ) -> IntArray:
        """Find the node of each label.

        Args:
            labels: M texts, or an array of M integers: class indices y < C or, where inner nodes are allowed, C + node
                for a node and C + N for the root.
            source: name of the data, for messages.
            row_name: function from the index of a sample to its name in messages; "row 1" for the first by default;
                None to name no sample.
            inner: whether labels may be inner nodes.
            paths_first: whether a text that is the full path of one node is that node, even if it is also the name of
                a class elsewhere; the full path of a node at the top is its name.

        Returns:
            Nodes, shape (M,); -1 for the root.

        Raises:
            UnknownLabelError: if a label is unknown or an index out of range; it lists all faults.
            DataError: for labels that are shared by several classes or nodes, empty, or inner nodes where these are
                not allowed. Each distinct label is listed once.
        """
        if isinstance(labels, np.ndarray) and (labels.ndim != 1 or labels.dtype.kind not in "iuUO"):
            raise DataError(
                f"{source}: expected one label for each sample, a text or an integer, "
                f"got labels of shape {labels.shape} and type {labels.dtype}"
            )
        if isinstance(labels, np.ndarray) and labels.dtype.kind in "iu":
            nodes, faults = self._from_indices(labels, inner=inner)
        else:
            texts = [str(label) for label in labels]
            nodes, faults = self._from_texts(texts, inner=inner, paths_first=paths_first)
        if faults:
            error = UnknownLabelError if any(fault.is_unknown for fault in faults) else DataError
            places = [f"{source}: {row_name(fault.row)}" if row_name else source for fault in faults]
            raise error(f"{place}: {fault.sentence}" for place, fault in zip(places, faults, strict=True))
        return nodes

    def parts(self, text: str, sign: str) -> list[str]:
        """Labels in a text that a sign separates; the text alone if it is a label itself or lacks the sign."""
        return [text] if sign not in text or self._nodes(text) else [part.strip() for part in text.split(sign)]

    def classes(self, nodes: IntArray) -> IntArray:
        """Class index of each node, same shape; see `node_classes`."""
        return node_classes(nodes, self.taxonomy)

    def _from_indices(self, values: AnyArray, *, inner: bool) -> tuple[IntArray, list[_LabelFault]]:
        count, end = self.taxonomy.num_classes, self.taxonomy.num_classes + self.taxonomy.num_nodes
        nodes = nodes_of_labels(np.arange(end + 1), self.taxonomy)
        known = nodes if inner else nodes[:count]
        others = f", {count} to {end - 1} for a node, or {end} for the root" if inner else ""
        expected = f"a class index from 0 to {count - 1}{others}"
        outside = np.flatnonzero((values < 0) | (values >= len(known)))
        _, first = np.unique(values[outside], return_index=True)
        faults = [
            _LabelFault(int(row), f"expected {expected}, got {values[row]}", is_unknown=True)
            for row in outside[np.sort(first)]
        ]
        return known[values.astype(np.int64).clip(0, len(known) - 1)], faults

    def _from_texts(
        self, texts: Sequence[str], *, inner: bool, paths_first: bool
    ) -> tuple[IntArray, list[_LabelFault]]:
        found = np.full(len(texts), -1, dtype=np.int64)
        known: dict[str, int] = {}
        faults: dict[str, _LabelFault] = {}  # by label: a repeated mistake is reported once
        for row, text in enumerate(texts):
            if text not in known and text not in faults:
                nodes = self._nodes(text, paths_first=paths_first) or (
                    [-1] if inner and text.strip() == ROOT_LABEL else []
                )
                if len(nodes) == 1 and (inner or nodes[0] in self._leaves):
                    known[text] = nodes[0]
                else:
                    sentence = self._fault(text, nodes, inner=inner, suggest=len(faults) < MOST_FAULTS)
                    faults[text] = _LabelFault(row, sentence, is_unknown=bool(text.strip()) and not nodes)
            found[row] = known.get(text, -1)
        return found, list(faults.values())

    def _nodes(self, text: str, *, paths_first: bool = False) -> list[int]:
        """Classes that match the text by id, else by path, else by name; else the inner nodes that match.

        With `paths_first`, the node of this path before classes of this name, if there is exactly one.
        """
        label = same_form(text.strip())
        matches = (self._by_id.get(label, []), self._paths.nodes(label), self._by_name.get(label, []))
        if paths_first and not matches[0] and len(matches[1]) == 1:
            return matches[1]
        for nodes in matches:
            if leaves := [node for node in nodes if node in self._leaves]:
                return leaves
        return next((nodes for nodes in matches if nodes), [])

    def _fault(self, text: str, nodes: Sequence[int], *, inner: bool, suggest: bool) -> str:
        if not text.strip():
            return "the label is empty"
        if nodes and (inner or nodes[0] in self._leaves):
            kind = "classes" if nodes[0] in self._leaves else "nodes"
            shown = listed(map(self._description, nodes), MOST_SHOWN, "; ")
            return f"{text!r} is the name of {len(nodes)} {kind}: expected the path or id of one of {shown}"
        if nodes:
            children = int(self.taxonomy.child_counts[nodes[0]])
            return f"{text!r} is an inner node (it has children, {children} of them): expected a class, which is a leaf"
        nearest = self._nearest(text, inner=inner) if suggest else None
        place = f": not in {self.tree_name}" if self.tree_name else ""
        return f"unknown label {text!r}{place}" + (f"; the nearest known label is {nearest!r}" if nearest else "")

    def _description(self, node: int) -> str:
        code = self.taxonomy.ids[node] if self.taxonomy.ids else ""
        return repr(self.taxonomy.path_text(node)) + (f" (id {code!r})" if code else "")

    def _nearest(self, text: str, *, inner: bool) -> str | None:
        """The name, id or path of a class, or of any node, most similar to the text, ignoring case; None for none."""
        wanted, taxonomy = text.strip().casefold(), self.taxonomy
        nodes = range(taxonomy.num_nodes) if inner else taxonomy.leaves.tolist()
        if PATH_SIGN in text:
            labels = [taxonomy.path_text(node) for node in nodes[:MOST_CANDIDATES]]
        else:
            labels = [taxonomy.names[node] for node in nodes] + [taxonomy.ids[node] for node in nodes if taxonomy.ids]
        folded = {label.casefold(): label for label in labels}
        candidates = list(folded)
        if len(candidates) > MOST_CANDIDATES:
            candidates = list(islice((label for label in folded if label[:1] == wanted[:1]), MOST_CANDIDATES))
        close = difflib.get_close_matches(wanted, candidates, n=1)
        return folded[close[0]] if close else None


class _PathIndex:
    """Prefix tree of the paths: O(N) memory at any depth.

    A name that contains the separator is split into several steps, so that its path as text is still found.
    """

    def __init__(self, taxonomy: Taxonomy) -> None:
        self._steps: dict[tuple[int, str], int] = {}
        self._at: dict[int, list[int]] = defaultdict(list)
        places: list[int] = []
        for node, (name, parent) in enumerate(zip(taxonomy.names, taxonomy.parents, strict=True)):
            place = 0 if parent < 0 else places[parent]
            for part in path_parts(name):
                place = self._steps.setdefault((place, part), len(self._steps) + 1)
            places.append(place)
            self._at[place].append(node)

    def nodes(self, text: str) -> list[int]:
        """Nodes whose path equals the text."""
        place = 0
        for part in path_parts(text):
            place = self._steps.get((place, part), -1)
        return self._at.get(place, [])


class _GraphPaths:
    """Search of paths in a graph, from the top down: a node may have very many paths, so they are not listed."""

    def __init__(self, taxonomy: Taxonomy) -> None:
        self._names = [name.strip() for name in taxonomy.names]
        self._tops = np.flatnonzero(np.diff(taxonomy.parent_lists.starts) == 0).tolist()
        self._children = taxonomy.parent_lists.reversed()

    def nodes(self, text: str) -> list[int]:
        """Nodes that have a path equal to the text."""
        found: list[int] = []
        for place, part in enumerate(path_parts(text)):
            below = (child for node in found for child in self._children.list(node).tolist()) if place else self._tops
            found = list(dict.fromkeys(node for node in below if self._names[node] == part))
        return found


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
    labels: Sequence[str] | AnyArray, taxonomy: Taxonomy, *, source: str, row_name: RowName, tree_name: str = ""
) -> SampleLabels:
    """Labels as users write them, one or several of each sample, see `LabelReader`.

    Several labels are a text such as `a | b`, unless a node is called so, or a row of a 2-D array of texts or integers,
    in which "" and -1 stand for none.

    Args:
        labels: M texts, an array of M integers, or an array of shape (M, K).
        taxonomy: the tree or graph.
        source: name of the data, for messages.
        row_name: function from the index of a sample to its name in messages.
        tree_name: name of the tree in messages, see `LabelReader`.

    Raises:
        DataError: see `LabelReader.read`.
    """
    reader = LabelReader(taxonomy, tree_name)
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
