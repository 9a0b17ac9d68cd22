"""Labels as users write them (an id, a path, a name, a class index), one or several per sample, to nodes."""

import difflib
from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hiercos.errors import MOST_FAULTS, DataError, RowName, UnknownLabelError, listed, row_name
from hiercos.taxonomy.checks import same_form
from hiercos.taxonomy.operations import ancestor_sums, common_node, descendant_sums
from hiercos.taxonomy.tree import PATH_SIGN, AnyArray, IntArray, Taxonomy

ROOT_LABEL = "root"  # label of a sample that may be of any class, unless a node has this name
SET_SIGN = "|"  # between the labels of a sample
MOST_SHOWN = 3  # nodes of one name in a message
LIKE_WORD, LIKE_PHRASE = 0.6, 0.75  # similarity of a suggestion; phrases of a taxonomy share many words
MOST_CANDIDATES = 5000  # labels compared with an unknown one, so that a suggestion takes milliseconds


def label_indices(nodes: ArrayLike, taxonomy: Taxonomy) -> IntArray:
    """Nodes as label indices, same shape: the class index of a leaf, C + node for an inner node, C + N for the root.

    Data sets, losses and metrics take labels in this form, which leaves class indices unchanged.

    Example:
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> label_indices([4, 2, 0, -1], t).tolist()  # car, cat, pet, and the root
        [2, 0, 3, 8]
    """
    of_node = taxonomy.num_classes + np.arange(taxonomy.num_nodes + 1)  # the last entry is the root's, index -1
    of_node[taxonomy.leaves] = np.arange(taxonomy.num_classes)
    indices: IntArray = of_node[np.asarray(nodes, dtype=np.int64)]
    return indices


def nodes_of_labels(labels: ArrayLike, taxonomy: Taxonomy) -> IntArray:
    """Node of each label index, same shape: the inverse of `label_indices`, -1 for the root.

    Example:
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> nodes_of_labels([2, 0, 3, 8], t).tolist()
        [4, 2, 0, -1]
    """
    of_label = np.concatenate([taxonomy.leaves, np.arange(taxonomy.num_nodes), [-1]])
    nodes: IntArray = of_label[np.asarray(labels, dtype=np.int64)]
    return nodes


def node_classes(nodes: ArrayLike, taxonomy: Taxonomy) -> IntArray:
    """Class index of each node, same shape.

    Raises:
        ValueError: naming the first node that is not a class.

    Example:
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> node_classes([4, 2], t).tolist()
        [2, 0]
    """
    indices = label_indices(nodes, taxonomy)
    inner = indices[indices >= taxonomy.num_classes] - taxonomy.num_classes
    if inner.size:
        raise ValueError(f"{taxonomy.path_text(int(inner[0]))!r} is an inner node: expected a class, which is a leaf")
    return indices


def inner_label_notes(nodes: IntArray, taxonomy: Taxonomy, *, source: str) -> list[str]:
    """A note about how many nodes (M,) that label a source are inner ones or the root; none if all are classes."""
    inner = int((~np.isin(nodes, taxonomy.leaves)).sum())
    if not inner:
        return []
    return [
        f"{source}: {inner} of {len(nodes)} samples are labelled with an inner node; "
        "metrics of a ranking of the classes leave them out."
    ]


def path_parts(text: str) -> tuple[str, ...]:
    """Names of a path such as `a > b > c`, with any space around the separators, in NFC.

    Example:
        >>> path_parts("pet>  cat")
        ('pet', 'cat')
    """
    return tuple(part.strip() for part in same_form(text).split(PATH_SIGN))


class PathIndex:
    """Finds nodes by their path, in a graph by any of their paths.

    A name that contains the separator is split into several steps, so that its path as text is still found.
    """

    def __init__(self, taxonomy: Taxonomy) -> None:
        self._steps: dict[tuple[Any, str], list[Any]] = defaultdict(list)  # (place, name) -> places one step below
        lists = taxonomy.parent_lists
        tops = np.flatnonzero(np.diff(lists.starts) == 0).tolist()
        edges = zip(lists.nodes.tolist(), lists.owners.tolist(), strict=True)
        for parent, node in [*((-1, top) for top in tops), *edges]:
            place: Any = parent  # a node, or a place within its child's name
            *before, last = path_parts(taxonomy.names[node])
            for part in before:
                within = (place, part)
                if within not in self._steps[within]:
                    self._steps[within].append(within)
                place = within
            self._steps[place, last].append(node)

    def nodes(self, text: str) -> list[int]:
        """Nodes that have a path equal to the text."""
        places: list[Any] = [-1]
        for part in path_parts(text):
            places = [below for place in places for below in self._steps.get((place, part), ())]
        return [place for place in dict.fromkeys(places) if isinstance(place, int)]


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
        self._paths = PathIndex(taxonomy)
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
            source: name of the data, for messages; "" for no name.
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
            matches = self._nodes_by_path_first if paths_first else self._nodes
            nodes, faults = self._from_texts([str(label) for label in labels], matches, inner=inner)
        return _checked(nodes, faults, source, row_name)

    def read_paths(
        self, paths: Sequence[str], *, source: str, row_name: RowName = row_name, inner: bool = False
    ) -> IntArray:
        """Find the node of each path; as `read`, but names and ids do not count, and "" is the root.

        Raises:
            DataError: as by `read`.
        """
        nodes, faults = self._from_texts(paths, self._nodes_of_path, inner=inner)
        return _checked(nodes, faults, source, row_name)

    def unusable(self, labels: Sequence[str] | AnyArray) -> list[bool]:
        """Whether `read` refuses each label where inner nodes are allowed, M texts or integers."""
        if isinstance(labels, np.ndarray) and labels.dtype.kind in "iu":
            _, faults = self._from_indices(labels, inner=True)
        else:
            _, faults = self._from_texts([str(label) for label in labels], self._nodes, inner=True)
        refused = {str(labels[fault.row]) for fault in faults}
        return [str(label) in refused for label in labels]

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
        self, texts: Sequence[str], matches: Callable[[str], list[int]], *, inner: bool
    ) -> tuple[IntArray, list[_LabelFault]]:
        found = np.full(len(texts), -1, dtype=np.int64)
        known: dict[str, int] = {}
        faults: dict[str, _LabelFault] = {}  # by label: a repeated mistake is reported once
        for row, text in enumerate(texts):
            if text not in known and text not in faults:
                nodes = matches(text) or ([-1] if inner and text.strip() == ROOT_LABEL else [])
                if len(nodes) == 1 and (inner or nodes[0] in self._leaves):
                    known[text] = nodes[0]
                else:
                    sentence = self._fault(text, nodes, inner=inner, suggest=len(faults) < MOST_FAULTS)
                    faults[text] = _LabelFault(row, sentence, is_unknown=bool(text.strip()) and not nodes)
            found[row] = known.get(text, -1)
        return found, list(faults.values())

    def _nodes(self, text: str) -> list[int]:
        """Classes that match the text by id, else by path, else by name; else the inner nodes that match."""
        label = same_form(text.strip())
        matches = (self._by_id.get(label, []), self._paths.nodes(label), self._by_name.get(label, []))
        for nodes in matches:
            if leaves := [node for node in nodes if node in self._leaves]:
                return leaves
        return next((nodes for nodes in matches if nodes), [])

    def _nodes_by_path_first(self, text: str) -> list[int]:
        """The node of this path before classes of this name, if there is exactly one, else as `_nodes`."""
        nodes = [] if same_form(text.strip()) in self._by_id else self._paths.nodes(text)
        return nodes if len(nodes) == 1 else self._nodes(text)

    def _nodes_of_path(self, text: str) -> list[int]:
        """Classes with this path, else inner nodes; the root for an empty one."""
        nodes = self._paths.nodes(text) if text else [-1]
        return [node for node in nodes if node in self._leaves] or nodes

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
            folded = {(label := taxonomy.path_text(node)).casefold(): label for node in nodes[:MOST_CANDIDATES]}
        else:
            folded = {taxonomy.ids[node].casefold(): taxonomy.ids[node] for node in nodes if taxonomy.ids}
            folded |= {taxonomy.names[node].casefold(): taxonomy.short_text(node) for node in nodes}
        candidates = list(folded)
        if len(candidates) > MOST_CANDIDATES:
            candidates = list(islice((label for label in folded if label[:1] == wanted[:1]), MOST_CANDIDATES))
        close = difflib.get_close_matches(wanted, candidates, n=1, cutoff=LIKE_PHRASE if " " in wanted else LIKE_WORD)
        found = folded[close[0]] if close else None
        (node, *others) = self._by_name.get(found or "", [-1])
        return self.taxonomy.path_text(node) if others else found


def _checked(nodes: IntArray, faults: Sequence[_LabelFault], source: str, row_name: RowName | None) -> IntArray:
    """The nodes, or an error with every fault and its place."""
    if not faults:
        return nodes
    error = UnknownLabelError if any(fault.is_unknown for fault in faults) else DataError
    rows = (row_name(fault.row) if row_name else "" for fault in faults)
    raise error(
        ": ".join(part for part in (source, row, fault.sentence) if part)
        for row, fault in zip(rows, faults, strict=True)
    )


class SampleLabels(NamedTuple):
    """Labels of M samples."""

    nodes: IntArray  # node of each sample's label, shape (M,); -1, the root, for a sample with several labels
    # nodes of the labels of each sample, shape (M, K), -1 for none; None if every sample has one label
    sets: IntArray | None
    notes: tuple[str, ...]  # sentences for the user about inner nodes and several labels
    # nodes of which each sample has one, shape (M, K), -1 for none, and no node at all where the label is known; None
    # if all are
    candidates: IntArray | None = None

    def take(self, rows: IntArray, taxonomy: Taxonomy, *, source: str) -> "SampleLabels":
        """Labels at these rows, with notes of their own."""
        sets, candidates = (None if table is None else table[rows] for table in (self.sets, self.candidates))
        return SampleLabels(self.nodes[rows], sets, _notes(self.nodes[rows], sets, taxonomy, source), candidates)


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
    """
    reader = LabelReader(taxonomy, tree_name)
    several = _split(labels, reader)
    if several is None:
        nodes, sets = reader.read(labels, source=source, row_name=row_name, inner=True), None
    else:
        values, rows, columns = several
        sets = np.full((len(labels), int(columns.max(initial=0)) + 1), -1, dtype=np.int64)
        sets[rows, columns] = reader.read(
            values, source=source, row_name=lambda place: row_name(int(rows[place])), inner=True
        )
        nodes = single_nodes(sets)
    return SampleLabels(nodes, sets, _notes(nodes, sets, taxonomy, source))


def unusable_labels(labels: Sequence[str] | AnyArray, taxonomy: Taxonomy) -> dict[int, str]:
    """Labels that `read_sample_labels` refuses, by the row of the sample; the last one where there are several."""
    reader = LabelReader(taxonomy)
    values, rows, _ = _split(labels, reader) or (labels, np.arange(len(labels)), None)
    places = np.flatnonzero(reader.unusable(values))
    return {int(rows[place]): str(values[place]) for place in places.tolist()}


def read_candidates(
    labels: Sequence[str], candidates: Sequence[str], taxonomy: Taxonomy, *, source: str, row_name: RowName
) -> SampleLabels:
    """Labels of samples of which some are known to be one of a few candidates, such as `a | b`.

    The label of such a sample is not read: it is the deepest node at or above all of its candidates.

    Args:
        labels: M labels, see `read_sample_labels`.
        candidates: candidates of each sample, "" where its label is known.
    """
    rows = np.array([row for row, text in enumerate(candidates) if text.strip()], dtype=np.int64)
    cells = [candidates[row] for row in rows]
    found = read_sample_labels(cells, taxonomy, source=source, row_name=lambda place: row_name(int(rows[place])))
    texts = [ROOT_LABEL if candidates[row].strip() else label for row, label in enumerate(labels)]
    known = read_sample_labels(texts, taxonomy, source=source, row_name=row_name)
    if known.sets is not None:
        raise DataError(f"{source}: expected samples with one label beside those with candidates, got several labels")
    sets = found.nodes[:, None] if found.sets is None else found.sets
    table = np.full((len(labels), sets.shape[1]), -1)
    table[rows] = sets
    known.nodes[rows] = [common_node(nodes[nodes >= 0].tolist(), taxonomy) for nodes in sets]
    count = int(((sets >= 0).sum(axis=1) > 1).sum())
    note = f"{source}: {count} samples have several candidate labels; each is learned as one, drawn by its probability."
    return SampleLabels(known.nodes, None, (note, *_notes(known.nodes, None, taxonomy, source)), table)


def _split(
    labels: Sequence[str] | AnyArray, reader: LabelReader
) -> tuple[Sequence[str] | AnyArray, IntArray, IntArray] | None:
    """All labels one after the other, with their rows and columns; None if each sample has one label."""
    if isinstance(labels, np.ndarray) and labels.ndim == 2 and labels.dtype.kind in "iuUO":
        present = labels >= 0 if labels.dtype.kind in "iu" else np.char.strip(labels.astype(str)) != ""
        rows, columns = np.nonzero(present)
        return labels[present], rows, columns
    if isinstance(labels, np.ndarray) and labels.dtype.kind not in "UO":
        return None
    parts = {text: reader.parts(text, SET_SIGN) for text in {str(label) for label in labels}}
    if all(len(each) == 1 for each in parts.values()):
        return None
    lists = [parts[str(label)] for label in labels]
    rows = np.repeat(np.arange(len(lists)), [len(each) for each in lists])
    columns = np.concatenate([np.arange(len(each)) for each in lists])
    return [part for each in lists for part in each], rows, columns


def _notes(nodes: IntArray, sets: IntArray | None, taxonomy: Taxonomy, source: str) -> tuple[str, ...]:
    if sets is None:
        return tuple(inner_label_notes(nodes, taxonomy, source=source))
    several = (sets >= 0).sum(axis=1) > 1
    note = f"{source}: {several.sum()} of {len(sets)} samples have several labels."
    return (note, *inner_label_notes(nodes[~several], taxonomy, source=source))


def single_nodes(sets: IntArray) -> IntArray:
    """Node of each sample with one label, and -1, the root, for the others: (M, K) to (M,).

    Example:
        >>> single_nodes(np.array([[2, -1], [2, 4], [0, -1], [-1, -1]])).tolist()
        [2, -1, 0, -1]
    """
    nodes: IntArray = np.where((sets >= 0).sum(axis=1) == 1, sets.max(axis=1, initial=-1), -1)
    return nodes


def set_targets(sets: IntArray, taxonomy: Taxonomy) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
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
    return right, (right | ~below) & (sets.max(axis=1, initial=-1) >= 0)[:, None]
