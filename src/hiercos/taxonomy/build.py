"""Taxonomies from arrays in any numbering: bring the nodes into breadth-first order, or say every fault."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hiercos.taxonomy.checks import TaxonomyError, shape_faults
from hiercos.taxonomy.tree import PATH_SEPARATOR, IntArray, Taxonomy


@dataclass
class FoundNodes:
    """Node i has the i-th entry of each list; -1 is the root.

    Attributes:
        names: the name of each.
        ids: the id of each, "" for none.
        parents: the parent of each, which stands before it or not.
        labels: the class number of each leaf that is given one, None for the others; nothing of it is checked yet.
        marks: where each stands in its file, in the words of its reader; None where that is not known.
    """

    names: list[str] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    labels: list[Any] = field(default_factory=list)
    marks: list[Any] = field(default_factory=list)

    def add(self, parent: int, name: str, given_id: str = "", label: Any = None, mark: Any = None) -> int:
        """A new node, the last one."""
        self.names.append(name)
        self.ids.append(given_id)
        self.parents.append(parent)
        self.labels.append(label)
        self.marks.append(mark)
        return len(self.names) - 1

    def place(self, node: int) -> str:
        """The path of a node, for messages."""
        names = []
        while node >= 0:
            names.append(self.names[node])
            node = self.parents[node]
        return repr(PATH_SEPARATOR.join(reversed(names))) if names else "the top"

    def tree(self, faults: Sequence[str], where: Callable[[Any], str] | None = None) -> Taxonomy:
        """The taxonomy; its classes are in the order of their numbers, or of the nodes where there are none.

        Args:
            faults: those found so far.
            where: the place that a mark means, for messages; None where nodes have no marks.

        Raises:
            TaxonomyError: for the faults found so far, numbers that are no order of the classes, and whatever makes
                the nodes no tree.
        """
        every = list(faults) or ([] if where is None else list(self._twin_faults(where)))
        leaves = self._class_order(every)
        if every:
            raise TaxonomyError(every)
        return tree_from_arrays(self.names, self.parents, leaves, ids=self.ids)

    def _twin_faults(self, where: Callable[[Any], str]) -> Iterator[str]:
        first: dict[tuple[int, str, str], int] = {}
        for node, key in enumerate(zip(self.parents, self.names, self.ids, strict=True)):
            if (twin := first.setdefault(key, node)) != node:
                here, there = where(self.marks[node]), where(self.marks[twin])
                shown = f"{self.names[node]!r} under {self.place(self.parents[node])}"
                yield f"{here}: {shown} is already {there}: expected distinct names, or ids"

    def _class_order(self, faults: list[str]) -> list[int]:
        inner = set(self.parents)
        leaves = [node for node in range(len(self.names)) if node not in inner]
        if all(label is None for label in self.labels):
            return leaves
        by_label: dict[int, int] = {}
        for leaf in leaves:
            label = self.labels[leaf]
            if type(label) is not int or not 0 <= label < len(leaves):
                faults.append(f"{self.place(leaf)}: expected a class from 0 to {len(leaves) - 1}, got {label!r}")
            elif by_label.setdefault(label, leaf) != leaf:
                faults.append(f"{self.place(leaf)}: class {label} is already {self.place(by_label[label])}")
        return [by_label[label] for label in sorted(by_label)]


def tree_from_arrays(
    names: Sequence[str], parents: ArrayLike, leaves: ArrayLike | None = None, *, ids: Sequence[str] = ()
) -> Taxonomy:
    """Renumber the nodes breadth-first, siblings in the order given; see `Taxonomy` for the arguments.

    Without `leaves`, the classes are the childless nodes in the order given.
    """
    parent = np.asarray(parents, dtype=np.int64)
    if faults := shape_faults(names, parent, ids):
        raise TaxonomyError(faults)
    childless = np.flatnonzero(np.bincount(parent[parent >= 0], minlength=len(parent)) == 0)
    classes = childless if leaves is None else np.asarray(leaves, dtype=np.int64)
    if faults := _range_faults(names, parent, classes):
        raise TaxonomyError(faults)
    order = breadth_first(parent)
    if len(order) < len(parent):
        lost = np.setdiff1d(np.arange(len(parent)), order)
        raise TaxonomyError(f"node {node} ({names[node]!r}) is on or below a cycle" for node in lost)
    place = np.empty(len(parent) + 1, dtype=np.int64)  # the last entry is the root's: -1 stays -1
    place[order], place[-1] = np.arange(len(order)), -1
    return Taxonomy(
        names=tuple(names[node] for node in order.tolist()),
        parents=place[parent[order]],
        leaves=place[classes],
        ids=tuple(ids[node] for node in order.tolist()) if ids else (),
    )


def _range_faults(names: Sequence[str], parents: IntArray, classes: IntArray) -> list[str]:
    count = len(parents)
    orphans = np.flatnonzero((parents < -1) | (parents >= count)).tolist()
    absent = np.flatnonzero((classes < 0) | (classes >= count)).tolist()
    return [f"node {node} ({names[node]!r}): parent {parents[node]} is not a node" for node in orphans] + [
        f"class {label}: leaf {classes[label]} is not a node" for label in absent
    ]


def breadth_first(parents: IntArray) -> IntArray:
    """The nodes that hang on the root, level by level and siblings in index order; others are left out."""
    by_parent = np.argsort(parents, kind="stable")
    starts = np.searchsorted(parents[by_parent], np.arange(-1, len(parents) + 1))  # of the root, then each node
    level = by_parent[starts[0] : starts[1]]
    levels = [level]
    while len(level):
        first, counts = starts[level + 1], starts[level + 2] - starts[level + 1]
        offsets = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        level = by_parent[np.repeat(first, counts) + offsets]
        levels.append(level)
    return np.concatenate(levels)
