"""Taxonomies from arrays in any numbering: renumber the nodes breadth-first, or report every fault."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hiercos.options import check_choice
from hiercos.taxonomy.checks import TaxonomyError, shape_faults
from hiercos.taxonomy.describe import counted
from hiercos.taxonomy.graph import NodeLists, entries_of, level_order, longest_depths, offsets
from hiercos.taxonomy.tree import PATH_SEPARATOR, IntArray, Taxonomy

PARENTS = ("all", "first", "shortest", "one")  # parents that are kept of a node with several
ONE_PARENT_HINT = "expected one (--parents shortest or first, in Python parents='shortest', keeps one of each)"


@dataclass
class NodeTable:
    """Unchecked nodes in any order, collected while a file is parsed: node i is entry i of each list.

    Attributes:
        names: name of each node.
        ids: id of each node, "" for none.
        parents: parent of each node, -1 for the root; it may come before or after its children.
        labels: class index of each leaf that has one in the file, else None.
        marks: position of each node in its file, in the parser's own form; None if unknown.
        further: further parents of each node that has several.
    """

    names: list[str] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    labels: list[Any] = field(default_factory=list)
    marks: list[Any] = field(default_factory=list)
    further: dict[int, Sequence[int]] = field(default_factory=dict)

    def add(self, parent: int, name: str, given_id: str = "", label: Any = None, mark: Any = None) -> int:
        """Append a node and return its index."""
        self.names.append(name)
        self.ids.append(given_id)
        self.parents.append(parent)
        self.labels.append(label)
        self.marks.append(mark)
        return len(self.names) - 1

    def quoted_path(self, node: int) -> str:
        """Path of a node in quotes, for messages; "the top" for the root."""
        names = []
        while node >= 0:
            names.append(self.names[node])
            node = self.parents[node]
        return repr(PATH_SEPARATOR.join(reversed(names))) if names else "the top"

    def tree(self, faults: Sequence[str], where: Callable[[Any], str] | None = None) -> Taxonomy:
        """Build the taxonomy, classes in the order of their labels, or of the nodes if there are no labels.

        Args:
            faults: faults found while parsing.
            where: function from a mark to its position as text, for messages; None if nodes have no marks.

        Raises:
            TaxonomyError: for these faults, labels that do not number the classes 0…C-1, and nodes that do not form
                a tree.
        """
        all_faults = list(faults) or ([] if where is None else list(self._duplicate_faults(where)))
        leaves = self._class_order(all_faults)
        if all_faults:
            raise TaxonomyError(all_faults)
        return tree_from_arrays(self.names, self._parent_lists() or self.parents, leaves, ids=self.ids)

    def _parent_lists(self) -> NodeLists | None:
        """All parents of each node; None if no node has several."""
        if not self.further:
            return None
        first = ([] if parent < 0 else [parent] for parent in self.parents)
        return NodeLists.of([*own, *self.further.get(node, ())] for node, own in enumerate(first))

    def _duplicate_faults(self, where: Callable[[Any], str]) -> Iterator[str]:
        first: dict[tuple[int, str, str], int] = {}
        for node, key in enumerate(zip(self.parents, self.names, self.ids, strict=True)):
            if (original := first.setdefault(key, node)) != node:
                here, there = where(self.marks[node]), where(self.marks[original])
                shown = f"{self.names[node]!r} under {self.quoted_path(self.parents[node])}"
                yield f"{here}: {shown} is already {there}: expected distinct names, or ids"

    def _class_order(self, faults: list[str]) -> list[int]:
        inner = {*self.parents, *(parent for own in self.further.values() for parent in own)}
        leaves = [node for node in range(len(self.names)) if node not in inner]
        if all(label is None for label in self.labels):
            return leaves
        by_label: dict[int, int] = {}
        for leaf in leaves:
            label = self.labels[leaf]
            if type(label) is not int or not 0 <= label < len(leaves):
                faults.append(f"{self.quoted_path(leaf)}: expected a class from 0 to {len(leaves) - 1}, got {label!r}")
            elif by_label.setdefault(label, leaf) != leaf:
                faults.append(f"{self.quoted_path(leaf)}: class {label} is already {self.quoted_path(by_label[label])}")
        return [by_label[label] for label in sorted(by_label)]


def tree_from_arrays(
    names: Sequence[str], parents: ArrayLike | NodeLists, leaves: ArrayLike | None = None, *, ids: Sequence[str] = ()
) -> Taxonomy:
    """Renumber the nodes breadth-first, siblings in input order; see `Taxonomy` for the arguments.

    Without `leaves`, the classes are the childless nodes in input order.
    """
    if isinstance(parents, NodeLists):
        return _graph_from_lists(names, parents, leaves, ids)
    parent = np.asarray(parents, dtype=np.int64)
    if faults := shape_faults(names, parent, ids):
        raise TaxonomyError(faults)
    childless = np.flatnonzero(np.bincount(parent[parent >= 0], minlength=len(parent)) == 0)
    classes = childless if leaves is None else np.asarray(leaves, dtype=np.int64)
    if faults := _range_faults(names, parent, classes):
        raise TaxonomyError(faults)
    order = breadth_first(parent)
    if len(order) < len(parent):
        unreached = np.setdiff1d(np.arange(len(parent)), order)
        raise TaxonomyError(f"node {node} ({names[node]!r}) is on or below a cycle" for node in unreached)
    new_index = np.empty(len(parent) + 1, dtype=np.int64)  # the last entry is the root's: -1 stays -1
    new_index[order], new_index[-1] = np.arange(len(order)), -1
    return Taxonomy(
        names=tuple(names[node] for node in order.tolist()),
        parents=new_index[parent[order]],
        leaves=new_index[classes],
        ids=tuple(ids[node] for node in order.tolist()) if ids else (),
    )


def _graph_from_lists(
    names: Sequence[str], parents: NodeLists, leaves: ArrayLike | None, ids: Sequence[str]
) -> Taxonomy:
    """Renumber the nodes level by level, see `level_order`; the parents of a node keep their order."""
    if faults := shape_faults(names, parents.starts[1:], ids):
        raise TaxonomyError(faults)
    childless = np.flatnonzero(np.bincount(parents.nodes, minlength=len(names)) == 0)
    classes = childless if leaves is None else np.asarray(leaves, dtype=np.int64)
    order = level_order(parents, longest_depths(parents, names))
    new_index = np.empty(len(order), dtype=np.int64)
    new_index[order] = np.arange(len(order))
    counts = np.diff(parents.starts)
    return Taxonomy(
        names=tuple(names[node] for node in order.tolist()),
        parents=NodeLists(offsets(counts[order]), new_index[entries_of(parents, order)]),  # type: ignore[arg-type]
        leaves=new_index[classes],
        ids=tuple(ids[node] for node in order.tolist()) if ids else (),
    )


def kept_parents(taxonomy: Taxonomy, choice: str) -> Taxonomy:
    """A taxonomy in which every node keeps one parent; classes that lost all children follow the others.

    Args:
        taxonomy: the graph; a tree is returned unchanged.
        choice: "first" for the first parent, "shortest" for the first of those nearest to the root by the shortest
            path, "one" to raise an error for nodes with several parents, "all" to keep all of them.

    Raises:
        TaxonomyError: for "one", naming every node with several parents.

    Example:
        >>> t = Taxonomy.from_edges([("a", "b"), ("b", "c"), ("", "a"), ("", "x"), ("x", "c"), ("c", "d")])
        >>> trees = [kept_parents(t, choice) for choice in ("first", "shortest")]
        >>> [tree.path_text(tree.names.index("d")) for tree in trees]
        ['a > b > c > d', 'x > c > d']
    """
    check_choice("parents", choice, PARENTS)
    if taxonomy.is_tree or choice == "all":
        return taxonomy
    lists = taxonomy.parent_lists
    if choice == "one":
        raise TaxonomyError(several_parents_faults(taxonomy))
    nearest = _shortest_depths(lists) if choice == "shortest" else np.zeros(taxonomy.num_nodes, dtype=np.int64)
    parents = [
        int(above[np.argmin(nearest[above])]) if len(above) else -1
        for above in map(lists.list, range(taxonomy.num_nodes))
    ]
    childless = np.flatnonzero(np.bincount([parent for parent in parents if parent >= 0], minlength=len(parents)) == 0)
    new_classes = childless[~np.isin(childless, taxonomy.leaves)]
    return tree_from_arrays(taxonomy.names, parents, np.append(taxonomy.leaves, new_classes), ids=taxonomy.ids)


def check_tree(taxonomy: Taxonomy, what: str) -> None:
    """Raise a `TaxonomyError` unless a taxonomy is a tree, which `what` needs."""
    check_is_taxonomy(taxonomy)
    if not taxonomy.is_tree:
        several = counted(taxonomy.several_parents, "node", "nodes")
        raise TaxonomyError(f"{what}: expected a tree, got a graph with {several} of several parents")


def check_is_taxonomy(value: object) -> None:
    """Raise a `TypeError` for a value that is not a `Taxonomy`, such as a list of paths.

    Example:
        >>> check_is_taxonomy([("pet", "cat"), ("pet", "dog")])
        Traceback (most recent call last):
        TypeError: taxonomy: expected a Taxonomy, got a list; Taxonomy.from_paths or from_edges builds one
    """
    if not isinstance(value, Taxonomy):
        kind = type(value).__name__
        raise TypeError(f"taxonomy: expected a Taxonomy, got a {kind}; Taxonomy.from_paths or from_edges builds one")


def several_parents_faults(taxonomy: Taxonomy) -> Iterator[str]:
    """A sentence about every node with several parents."""
    for node in np.flatnonzero(np.diff(taxonomy.parent_lists.starts) > 1).tolist():
        above = [repr(taxonomy.names[parent]) for parent in taxonomy.parent_lists.list(node)]
        yield f"{taxonomy.names[node]!r} has {len(above)} parents, {', '.join(above)}; {ONE_PARENT_HINT}"


def _shortest_depths(parents: NodeLists) -> IntArray:
    """Length of each node's shortest path from the root, shape (N,); nodes are numbered parents first."""
    depths = np.ones(len(parents.starts) - 1, dtype=np.int64)
    for node in range(len(depths)):
        if len(above := parents.list(node)):
            depths[node] = 1 + depths[above].min()
    return depths


def _range_faults(names: Sequence[str], parents: IntArray, classes: IntArray) -> list[str]:
    count = len(parents)
    orphans = np.flatnonzero((parents < -1) | (parents >= count)).tolist()
    absent = np.flatnonzero((classes < 0) | (classes >= count)).tolist()
    return [f"node {node} ({names[node]!r}): parent {parents[node]} is not a node" for node in orphans] + [
        f"class {label}: leaf {classes[label]} is not a node" for label in absent
    ]


def breadth_first(parents: IntArray) -> IntArray:
    """Nodes reachable from the root (not on or below a cycle), level by level, siblings in index order."""
    by_parent = np.argsort(parents, kind="stable")
    starts = np.searchsorted(parents[by_parent], np.arange(-1, len(parents) + 1))  # children of the root, then of nodes
    level = by_parent[starts[0] : starts[1]]
    levels = [level]
    while len(level):
        first, counts = starts[level + 1], starts[level + 2] - starts[level + 1]
        offsets = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        level = by_parent[np.repeat(first, counts) + offsets]
        levels.append(level)
    return np.concatenate(levels)
