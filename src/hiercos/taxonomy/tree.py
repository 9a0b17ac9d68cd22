"""The label tree as a frozen value.

Nodes are numbered breadth-first: level by level, and within a level in the order of their parents. So
`parents` never decreases, a level is one slice of the nodes, and so are the children of a node. Every
algorithm of this project relies on that, and none of them recurses.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hiercos.taxonomy.checks import TaxonomyError, node_faults

IntArray = NDArray[np.int64]
AnyArray = NDArray[Any]  # an array of any type
PATH_SEPARATOR = " > "
PATH_SIGN = PATH_SEPARATOR.strip()


@dataclass(frozen=True, eq=False)
class Taxonomy:
    """A tree of labels whose leaves are the classes; the root is implicit and has no node.

    Leaves may be at any depth, inner nodes may have one child, and the same name may occur under
    different parents: a node is identified by its path, or by its id if it has one.

    Args:
        names: name of each node, parents first, level by level, children in their parents' order.
        parents: parent of each node, shape (N,), -1 for the nodes just under the root.
        leaves: node of each class, shape (C,), every childless node once; node order by default.
        ids: unique id of each node, "" for none; no ids by default.

    Raises:
        TaxonomyError: for an empty tree, an empty name, a repeated id, siblings with the same name and id, nodes
            in another order, or leaves that are not the childless nodes.

    Example:
        >>> t = Taxonomy(names=("pet", "vehicle", "cat", "dog", "car"), parents=(-1, -1, 0, 0, 1))
        >>> t.class_names
        ('cat', 'dog', 'car')
        >>> t.distance_matrix().tolist()
        [[0, 1, 2], [1, 0, 2], [2, 2, 0]]
    """

    names: tuple[str, ...]
    parents: IntArray
    leaves: IntArray = field(default=None)  # type: ignore[arg-type]  # filled in below
    ids: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(self.names))
        object.__setattr__(self, "ids", tuple(self.ids) if any(self.ids) else ())
        object.__setattr__(self, "parents", _frozen(self.parents))
        if faults := node_faults(self.names, self.parents, self.ids):
            raise TaxonomyError(faults)
        childless = np.flatnonzero(self.child_counts == 0)
        leaves = childless if self.leaves is None else self.leaves
        object.__setattr__(self, "leaves", _frozen(leaves))
        if not np.array_equal(np.sort(self.leaves), childless):
            raise TaxonomyError("expected every childless node once among the leaves, and no other node")

    @classmethod
    def from_arrays(
        cls,
        names: Sequence[str],
        parents: ArrayLike,
        leaves: ArrayLike | None = None,
        *,
        ids: Sequence[str] = (),
    ) -> "Taxonomy":
        """Build a taxonomy from nodes in any numbering; -1 is the root. See `Taxonomy` for the arguments."""
        from hiercos.taxonomy.build import tree_from_arrays

        return tree_from_arrays(names, parents, leaves, ids=ids)

    @classmethod
    def from_paths(cls, paths: Iterable[Sequence[str]]) -> "Taxonomy":
        """Build a taxonomy from one path of names per class, level 1 first; the classes keep this order.

        Raises:
            TaxonomyError: naming every path (numbered from 1) that is empty, has an empty name, occurs twice, or
                ends at an inner node.
        """
        from hiercos.taxonomy.paths import tree_from_paths

        return tree_from_paths(paths)

    @classmethod
    def from_edges(cls, edges: Iterable[tuple[str, str]], *, root: str = "root") -> "Taxonomy":
        """Build a taxonomy from (parent, child) pairs of unique names; classes in order of appearance as a child.

        An empty parent is the root. Without one, the names that are never a child form level 1, unless there is
        a single such name equal to `root`, which is the root itself.

        Raises:
            TaxonomyError: naming every edge with an empty child, every node with two parents or on a cycle, and
                every parent that is never a child although empty parents mark the top.
        """
        from hiercos.taxonomy.edges import tree_from_edges

        return tree_from_edges(edges, root=root)

    @classmethod
    def read(cls, path: str | PathLike[str], *, format: str | None = None) -> "Taxonomy":
        """Read a file; see `hiercos.taxonomy.formats` for the formats (default: by the extension)."""
        from hiercos.taxonomy.formats import read_taxonomy

        return read_taxonomy(path, format=format)

    def write(self, path: str | PathLike[str], *, format: str | None = None) -> None:
        """Write a file, atomically, that `read` reads back as the same taxonomy."""
        from hiercos.taxonomy.formats import write_taxonomy

        write_taxonomy(self, path, format=format)

    @property
    def is_tree(self) -> bool:
        """Whether every node has at most one parent."""
        return True

    @cached_property
    def parent_lists(self) -> tuple[IntArray, IntArray]:
        """Parents of all nodes in CSR form: `starts`, shape (N + 1,), and `parents`.

        The parents of a node are `parents[starts[node] : starts[node + 1]]`: none just under the root, one elsewhere
        in a tree.

        Example:
            >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
            >>> starts, parents = t.parent_lists
            >>> starts.tolist(), parents.tolist()
            ([0, 0, 0, 1, 2, 3], [0, 0, 1])
        """
        has_parent = self.parents >= 0
        return _frozen(np.append(0, np.cumsum(has_parent))), _frozen(self.parents[has_parent])

    @property
    def num_nodes(self) -> int:
        """N, the number of nodes without the root."""
        return len(self.names)

    @property
    def num_classes(self) -> int:
        """C, the number of leaves."""
        return len(self.leaves)

    @cached_property
    def height(self) -> int:
        """H, the depth of the deepest leaf (L, the number of levels)."""
        return len(self.level_starts) - 1

    @cached_property
    def level_starts(self) -> IntArray:
        """First node of each level, shape (H + 1,); the last entry is N.

        Parents never decrease, so the children of a level's slice of nodes are again one slice.
        """
        starts = [0]
        end = int(np.searchsorted(self.parents, 0))
        while end > starts[-1]:
            starts.append(end)
            end = int(np.searchsorted(self.parents, end))
        return _frozen(starts)

    def level(self, level: int) -> slice:
        """The nodes of a level (1…H) as one slice."""
        if not 1 <= level <= self.height:
            raise ValueError(f"expected a level from 1 to {self.height}, got {level}")
        return slice(int(self.level_starts[level - 1]), int(self.level_starts[level]))

    @cached_property
    def depths(self) -> IntArray:
        """The level of each node, shape (N,), 1 just under the root."""
        return _frozen(np.repeat(np.arange(1, self.height + 1), np.diff(self.level_starts)))

    @cached_property
    def child_counts(self) -> IntArray:
        """The number of children of each node, shape (N,)."""
        return _frozen(np.bincount(self.parents[self.parents >= 0], minlength=self.num_nodes))

    @cached_property
    def class_names(self) -> tuple[str, ...]:
        """The name of each class; two classes under different parents may share one."""
        return tuple(self.names[leaf] for leaf in self.leaves)

    def path(self, node: int) -> tuple[int, ...]:
        """The nodes from level 1 down to `node`, both included."""
        nodes = []
        while node >= 0:
            nodes.append(int(node))
            node = int(self.parents[node])
        return tuple(reversed(nodes))

    def path_text(self, node: int) -> str:
        """The names along the path of a node, as `a > b > c`."""
        return PATH_SEPARATOR.join(self.names[step] for step in self.path(node))

    def path_table(self, nodes: ArrayLike) -> IntArray:
        """The paths of several nodes as rows, shape (K, H), level 1 first, -1 beyond a node's depth."""
        current = np.asarray(nodes, dtype=np.int64)
        depths = self.depths[current]
        table = np.full((len(current), self.height), -1, dtype=np.int64)
        for level in range(int(depths.max(initial=0)), 0, -1):
            rows = np.flatnonzero(depths >= level)
            table[rows, level - 1] = current[rows]
            current = current.copy()
            current[rows] = self.parents[current[rows]]
        return table

    def distance_matrix(self) -> IntArray:
        """Tree distances between all classes, H - depth(LCA) and 0 on the diagonal, shape (C, C)."""
        from hiercos.taxonomy.distances import distance_block

        return distance_block(self, np.arange(self.num_classes))

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the names, ids, parents and leaves, the same on every machine."""
        digest = hashlib.sha256()
        for array in (self.parents, self.leaves):
            digest.update(array.astype("<i8").tobytes())
        for texts in (self.names, self.ids):
            digest.update(np.array([len(text) for text in texts], dtype="<i8").tobytes() + b"\x01")
            digest.update("".join(texts).encode("utf-8", "surrogatepass"))
        return digest.hexdigest()

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Taxonomy) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        return f"Taxonomy({self.num_nodes} nodes, {self.num_classes} classes, height {self.height})"


def _frozen(values: ArrayLike) -> IntArray:
    array = np.array(values, dtype=np.int64)
    array.setflags(write=False)
    return array
