"""Nodes with several parents: lists of parents, the numbering of a directed acyclic graph, and sets of ancestors."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

IntArray = NDArray[np.int64]
LONGEST_CYCLE = 6  # names shown of a cycle


class NodeLists(NamedTuple):
    """A list of nodes for each node, in CSR form; the nodes just under the root have an empty list of parents."""

    starts: IntArray  # first entry of each list, shape (N + 1,)
    nodes: IntArray  # all lists one after the other

    @classmethod
    def of(cls, lists: Iterable[Sequence[int]]) -> "NodeLists":
        """Lists from sequences, one for each node.

        Example:
            >>> NodeLists.of([(), (), (0, 1)]).nodes.tolist()
            [0, 1]
        """
        parts = list(lists)
        nodes = [node for part in parts for node in part]
        return cls(offsets([len(part) for part in parts]), np.array(nodes, dtype=np.int64))

    @classmethod
    def of_parents(cls, parents: IntArray) -> "NodeLists":
        """Lists of at most one parent each, shape (N,) with -1 for none."""
        return cls(offsets(parents != -1), parents[parents != -1])

    @property
    def owners(self) -> IntArray:
        """The node whose list each entry belongs to, shape of `nodes`."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    def list(self, node: int) -> IntArray:
        """The list of one node."""
        return self.nodes[self.starts[node] : self.starts[node + 1]]

    def reversed(self) -> "NodeLists":
        """For each node the nodes whose list contains it, in ascending order: children from parents."""
        order = np.argsort(self.nodes, kind="stable")
        counts = np.bincount(self.nodes, minlength=len(self.starts) - 1)
        return NodeLists(offsets(counts), self.owners[order])


def offsets(counts: ArrayLike) -> IntArray:
    """Running sums of counts that begin with 0: (N,) to (N + 1,)."""
    return np.append(0, np.cumsum(np.asarray(counts, dtype=np.int64)))


def longest_depths(parents: NodeLists) -> IntArray:
    """Depth of each node, shape (N,): the length of its longest path from the root, 1 just under the root.

    It is 0 on or below a cycle. The nodes may have any numbering.
    """
    children, waiting = parents.reversed(), np.diff(parents.starts)
    depths = np.zeros(len(waiting), dtype=np.int64)
    level, depth = np.flatnonzero(waiting == 0), 1
    while len(level):
        depths[level] = depth
        below = entries_of(children, level)
        np.subtract.at(waiting, below, 1)
        level, depth = np.unique(below[waiting[below] == 0]), depth + 1
    return depths


def cycles(parents: NodeLists, depths: IntArray) -> Iterator[list[int]]:
    """Cycles of nodes, each node below the next and the last below the first, one for each set that a walk up finds.

    The nodes of depth 0 (see `longest_depths`), all those on or below cycles, are visited depth first, each once; a
    parent that the walk has not left yet closes a cycle.
    """
    pending = dict.fromkeys(np.flatnonzero(depths == 0).tolist())
    for start in list(pending):
        walk: dict[int, Iterator[int]] = {start: iter(parents.list(start).tolist())} if start in pending else {}
        while walk:
            node, above = next(reversed(walk.items()))
            parent = next((parent for parent in above if parent in pending), None)
            if parent is None:
                del pending[node]
                walk.popitem()
            elif parent in walk:
                cycle = [*walk][[*walk].index(parent) :]
                for each in cycle:
                    del pending[each]  # one for these nodes
                yield cycle
                walk = {}
            else:
                walk[parent] = iter(parents.list(parent).tolist())


def cycle_text(cycle: Sequence[int], names: Sequence[str]) -> str:
    """A cycle as a sentence; a long one is shortened.

    Example:
        >>> cycle_text([1, 2], ["a", "b", "c"])
        "'b' is on a cycle, b > c > b"
    """
    shown = [names[node] for node in (cycle[0], *reversed(cycle))]
    if len(shown) > LONGEST_CYCLE:
        shown[LONGEST_CYCLE - 2 : -1] = ["…"]
    return f"{shown[0]!r} is on a cycle, {' > '.join(shown)}"


def entries_of(lists: NodeLists, nodes: IntArray) -> IntArray:
    """The lists of several nodes, one after the other."""
    counts = lists.starts[nodes + 1] - lists.starts[nodes]
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    entries: IntArray = lists.nodes[np.repeat(lists.starts[nodes], counts) + within]
    return entries


def level_order(parents: NodeLists, depths: IntArray) -> IntArray:
    """Nodes level by level, within a level by their first parent in this order, then as given, shape (N,).

    On a tree this is the breadth-first order with children in their parents' order.
    """
    place = np.full(len(depths), -1, dtype=np.int64)
    order: list[IntArray] = []
    done = 0
    for depth in range(1, int(depths.max(initial=0)) + 1):
        level = np.flatnonzero(depths == depth)
        places = place[entries_of(parents, level)]
        counts = parents.starts[level + 1] - parents.starts[level]
        first = np.minimum.reduceat(places, offsets(counts)[:-1]) if depth > 1 else level
        order.append(level[np.argsort(first, kind="stable")])
        place[order[-1]] = done + np.arange(len(level))
        done += len(level)
    return np.concatenate([np.empty(0, dtype=np.int64), *order])


def ancestor_lists(parents: NodeLists, level_starts: IntArray) -> NodeLists:
    """Each node's ancestors and itself, as sets in ascending order, computed level by level.

    Args:
        parents: parents of each node, numbered level by level.
        level_starts: first node of each level, then N, shape (H + 1,).
    """
    count = len(parents.starts) - 1
    found = NodeLists(np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int64))
    for start, end in zip(level_starts[:-1].tolist(), level_starts[1:].tolist(), strict=True):
        edges = slice(parents.starts[start], parents.starts[end])
        above, child = parents.nodes[edges], parents.owners[edges]
        sizes = found.starts[above + 1] - found.starts[above]
        pairs = np.repeat(child, sizes) * count + entries_of(found, above)
        own = np.arange(start, end) * (count + 1)
        owners, ancestors = np.divmod(np.unique(np.concatenate([pairs, own])), count)
        sums = offsets(np.bincount(owners - start, minlength=end - start))[1:]
        found = NodeLists(np.append(found.starts, found.starts[-1] + sums), np.append(found.nodes, ancestors))
    return found


def first_parent_path(parents: NodeLists, node: int) -> Iterator[int]:
    """The nodes from a node up to the top, always to the first parent."""
    while True:
        yield node
        above = parents.list(node)
        if not len(above):
            return
        node = int(above[0])
