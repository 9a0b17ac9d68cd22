"""Labels as people write them (a code, a path, a name) to class indices."""

import difflib
from collections import defaultdict
from collections.abc import Sequence
from itertools import islice

import numpy as np

from hiercos.errors import MOST_FAULTS, DataError, RowName, row_name
from hiercos.taxonomy.tree import PATH_SEPARATOR, AnyArray, IntArray, Taxonomy

MOST_CANDIDATES = 5000  # labels compared with an unknown one: a suggestion is worth milliseconds, not seconds
PATH_SIGN = PATH_SEPARATOR.strip()


def path_parts(text: str) -> tuple[str, ...]:
    """The names of a path such as `a > b > c`, with any space around the signs.

    Example:
        >>> path_parts("pet>  cat")
        ('pet', 'cat')
    """
    return tuple(part.strip() for part in text.split(PATH_SIGN))


class LabelReader:
    """Finds the class a label means: by id, by full path, or by name where only one class has it.

    They are tried in this order, so a path written out is never ambiguous.

    Args:
        taxonomy: the tree whose classes the labels name.

    Example:
        >>> toy = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> LabelReader(toy).read(["car", "pet > dog"], source="toy.csv").tolist()
        [2, 1]
    """

    def __init__(self, taxonomy: Taxonomy) -> None:
        self.taxonomy = taxonomy
        self._paths = _PathIndex(taxonomy)
        self._class_of = {int(leaf): label for label, leaf in enumerate(taxonomy.leaves)}
        self._by_id: dict[str, list[int]] = defaultdict(list)
        self._by_name: dict[str, list[int]] = defaultdict(list)
        for node, name in enumerate(taxonomy.names):
            self._by_name[name.strip()].append(node)
        for node, code in enumerate(taxonomy.ids):
            if code.strip():
                self._by_id[code.strip()].append(node)

    def read(self, labels: Sequence[str] | AnyArray, *, source: str, row_name: RowName = row_name) -> IntArray:
        """The class of each label.

        Args:
            labels: M texts, or an array of M integers that are class indices already.
            source: the name of the data in messages.
            row_name: what messages call the sample at an index; "row 1" for the first by default.

        Returns:
            Class indices, shape (M,).

        Raises:
            DataError: for each distinct label that is unknown, shared by several classes, empty, an inner
                node, or an index out of range.
        """
        if isinstance(labels, np.ndarray) and (labels.ndim != 1 or labels.dtype.kind not in "iuUO"):
            raise DataError(
                f"{source}: expected one label for each sample, a text or an integer, "
                f"got labels of shape {labels.shape} and type {labels.dtype}"
            )
        if isinstance(labels, np.ndarray) and labels.dtype.kind in "iu":
            classes, faults = self._from_indices(labels)
        else:
            classes, faults = self._from_texts([str(label) for label in labels])
        if faults:
            raise DataError(f"{source}: {row_name(row)}: {fault}" for row, fault in faults)
        return classes

    def _from_indices(self, values: AnyArray) -> tuple[IntArray, list[tuple[int, str]]]:
        last = self.taxonomy.num_classes - 1
        outside = np.flatnonzero((values < 0) | (values > last))
        _, first = np.unique(values[outside], return_index=True)
        return values.astype(np.int64), [
            (int(row), f"expected a class index from 0 to {last}, got {values[row]}") for row in outside[np.sort(first)]
        ]

    def _from_texts(self, texts: Sequence[str]) -> tuple[IntArray, list[tuple[int, str]]]:
        classes = np.full(len(texts), -1, dtype=np.int64)
        known: dict[str, int] = {}
        faults: dict[str, tuple[int, str]] = {}  # by label: the same mistake is told once
        for row, text in enumerate(texts):
            if text not in known and text not in faults:
                nodes = self._nodes(text)
                if len(nodes) == 1 and nodes[0] in self._class_of:
                    known[text] = self._class_of[nodes[0]]
                else:
                    faults[text] = (row, self._fault(text, nodes, suggest=len(faults) < MOST_FAULTS))
            classes[row] = known.get(text, -1)
        return classes, list(faults.values())

    def _nodes(self, text: str) -> list[int]:
        """The classes the text may mean, by id, else by path, else by name; else the inner nodes it may mean."""
        label = text.strip()
        meanings = (self._by_id.get(label, []), self._paths.nodes(label), self._by_name.get(label, []))
        for nodes in meanings:
            if leaves := [node for node in nodes if node in self._class_of]:
                return leaves
        return next((nodes for nodes in meanings if nodes), [])

    def _fault(self, text: str, nodes: Sequence[int], *, suggest: bool) -> str:
        if not text.strip():
            return "the label is empty"
        if nodes and nodes[0] in self._class_of:
            classes = "; ".join(self._description(node) for node in nodes[:MOST_FAULTS])
            return f"{text!r} is the name of {len(nodes)} classes: expected the path or id of one of {classes}"
        if nodes:
            children = int(self.taxonomy.child_counts[nodes[0]])
            return f"{text!r} is an inner node (it has children, {children} of them): expected a class, which is a leaf"
        nearest = self._nearest(text) if suggest else None
        return f"unknown label {text!r}" + (f"; the nearest known label is {nearest!r}" if nearest else "")

    def _description(self, node: int) -> str:
        code = self.taxonomy.ids[node] if self.taxonomy.ids else ""
        return repr(self.taxonomy.path_text(node)) + (f" (id {code!r})" if code else "")

    def _nearest(self, text: str) -> str | None:
        """The class name, id or path most like the text, letter case aside; None if none is like it."""
        wanted = text.strip().casefold()
        if PATH_SIGN in text:
            labels = [self.taxonomy.path_text(int(leaf)) for leaf in self.taxonomy.leaves[:MOST_CANDIDATES]]
        else:
            ids = [self.taxonomy.ids[leaf] for leaf in self.taxonomy.leaves] if self.taxonomy.ids else []
            labels = [*self.taxonomy.class_names, *ids]
        folded = {label.casefold(): label for label in labels}
        candidates = list(folded)
        if len(candidates) > MOST_CANDIDATES:
            candidates = list(islice((label for label in folded if label[:1] == wanted[:1]), MOST_CANDIDATES))
        close = difflib.get_close_matches(wanted, candidates, n=1)
        return folded[close[0]] if close else None


class _PathIndex:
    """Finds nodes by path, one step at a time: O(N) memory however deep the tree.

    A name that itself holds the path sign is several steps, so that its path as text still leads to it.
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
        """The nodes whose path reads like the text."""
        place = 0
        for part in path_parts(text):
            place = self._steps.get((place, part), -1)
        return self._at.get(place, [])
