"""Taxonomies from nodes in any numbering: renumber them level by level, or report every fault."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hiercos.taxonomy.checks import TaxonomyError, same_form, shape_faults
from hiercos.taxonomy.describe import counted
from hiercos.taxonomy.graph import NodeLists, cycle_text, cycles, entries_of, level_order, longest_depths, offsets
from hiercos.taxonomy.tree import PATH_SEPARATOR, IntArray, Taxonomy, check_is_taxonomy


@dataclass
class NodeTable:
    """Unchecked nodes in any order, collected while an input is read: node i is entry i of each list."""

    # function from a place to its text in messages; None if nodes have no places
    where: Callable[[Any], str] | None = None
    names: list[str] = field(default_factory=list)  # name of each node
    ids: list[str] = field(default_factory=list)  # id of each node, "" for none
    # parents of each node, none just under the root; they may come before or after their children
    parents: list[list[int]] = field(default_factory=list)
    labels: list[Any] = field(default_factory=list)  # class index of each leaf that has one in the input, else None
    places: list[Any] = field(default_factory=list)  # position of each node in the input, in the reader's own form

    def add(
        self, parents: Sequence[int], name: str, given_id: str = "", *, label: Any = None, place: Any = None
    ) -> int:
        """Append a node and return its index; -1 among the parents is the root."""
        self.names.append(name)
        self.ids.append(given_id)
        self.parents.append([parent for parent in parents if parent >= 0])
        self.labels.append(label)
        self.places.append(place)
        return len(self.names) - 1

    def inner_nodes(self) -> set[int]:
        """Nodes that have children."""
        return {parent for own in self.parents for parent in own}

    def quoted_path(self, node: int) -> str:
        """Path of first parents of a node in quotes, for messages; "the top" for the root."""
        names = []
        while node >= 0:
            names.append(self.names[node])
            node = next(iter(self.parents[node]), -1)
        return repr(PATH_SEPARATOR.join(reversed(names))) if names else "the top"

    def tree(self, faults: Sequence[str], leaves: Sequence[int] | None = None) -> Taxonomy:
        """Build the taxonomy.

        Args:
            leaves: node of each class; by default in the order of their labels, or of the nodes if there are no labels.
        """
        parents = NodeLists.of(self.parents)
        depths, all_faults = longest_depths(parents), list(faults)
        for cycle in cycles(parents, depths):
            start = f"{self.where(self.places[cycle[0]])}: " if self.where else ""
            all_faults.append(start + cycle_text(cycle, self.names))
        if depths.all():  # paths end
            leaves = self._class_order(all_faults) if leaves is None else leaves
            all_faults += self._identity_faults(siblings=not faults) if self.where else ()
        if all_faults:
            raise TaxonomyError(all_faults)
        return _numbered(self.names, parents, depths, np.asarray(leaves, dtype=np.int64), self.ids)

    def _identity_faults(self, *, siblings: bool) -> Iterator[str]:
        """Faults of repeated ids and of siblings that cannot be told apart, with both places."""
        assert self.where is not None
        by_id: dict[str, int] = {}
        first: dict[tuple[int, str, str], int] = {}
        for node, given_id in enumerate(self.ids):
            if given_id and (original := by_id.setdefault(given_id, node)) != node:
                here, there = self.where(self.places[node]), self.where(self.places[original])
                yield f"{here}: id {given_id!r} is already the id of another node in {there}"
                continue
            for parent in (self.parents[node] or (-1,)) if siblings else ():
                key = (parent, same_form(self.names[node]), given_id)
                if (original := first.setdefault(key, node)) != node:
                    here, there = self.where(self.places[node]), self.where(self.places[original])
                    shown = f"{self.names[node]!r} under {self.quoted_path(parent)}"
                    yield f"{here}: {shown} is already {there}: expected distinct names, or ids"

    def _class_order(self, faults: list[str]) -> list[int]:
        inner = self.inner_nodes()
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
    """Renumber the nodes level by level, siblings in input order; see `Taxonomy` for the arguments.

    Without `leaves`, the classes are the childless nodes in input order.
    """
    given = parents if isinstance(parents, NodeLists) else np.asarray(parents, dtype=np.int64)
    if faults := shape_faults(names, given, ids):
        raise TaxonomyError(faults)
    lists = given if isinstance(given, NodeLists) else NodeLists.of_parents(given)
    classes = None if leaves is None else np.asarray(leaves, dtype=np.int64)
    if faults := list(_range_faults(names, lists, classes)):
        raise TaxonomyError(faults)
    depths = longest_depths(lists)
    if not depths.all():
        raise TaxonomyError(cycle_text(cycle, names) for cycle in cycles(lists, depths))
    return _numbered(names, lists, depths, classes, ids)


def _range_faults(names: Sequence[str], parents: NodeLists, classes: IntArray | None) -> Iterator[str]:
    """Faults of parents and leaves that are not nodes."""
    count = len(names)
    for entry in np.flatnonzero((parents.nodes < 0) | (parents.nodes >= count)).tolist():
        node = int(parents.owners[entry])
        yield f"node {node} ({names[node]!r}): parent {parents.nodes[entry]} is not a node"
    if classes is not None:
        for label in np.flatnonzero((classes < 0) | (classes >= count)).tolist():
            yield f"class {label}: leaf {classes[label]} is not a node"


def _numbered(
    names: Sequence[str], parents: NodeLists, depths: IntArray, leaves: IntArray | None, ids: Sequence[str]
) -> Taxonomy:
    """The taxonomy with its nodes renumbered, see `level_order`; the parents of a node keep their order."""
    if leaves is None:
        leaves = np.flatnonzero(np.bincount(parents.nodes, minlength=len(names)) == 0)
    order = level_order(parents, depths)
    new_index = np.empty(len(order), dtype=np.int64)
    new_index[order] = np.arange(len(order))
    lists = NodeLists(offsets(np.diff(parents.starts)[order]), new_index[entries_of(parents, order)])
    return Taxonomy(
        names=tuple(names[node] for node in order.tolist()),
        parents=lists,  # type: ignore[arg-type]  # lists of at most one become an array
        leaves=new_index[leaves],
        ids=tuple(ids[node] for node in order.tolist()) if ids else (),
    )


def check_tree(taxonomy: Taxonomy, what: str) -> None:
    """Raise a `TaxonomyError` unless a taxonomy is a tree, which `what` needs."""
    check_is_taxonomy(taxonomy)
    if not taxonomy.is_tree:
        several = counted(taxonomy.several_parents, "node", "nodes")
        raise TaxonomyError(f"{what}: expected a tree, got a graph with {several} of several parents")
