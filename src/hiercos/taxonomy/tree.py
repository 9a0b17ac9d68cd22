"""The label tree, or directed acyclic graph, as a frozen value.

Nodes are numbered level by level, and within a level in the order of their (first) parents, so a level is one slice of
the nodes. In a tree `parents` never decreases, so the children of a node are one slice too. Every algorithm of this
project relies on that, and none of them recurses.
"""

import copy
import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hiercos.taxonomy.checks import NotATreeError, TaxonomyError, node_faults
from hiercos.taxonomy.graph import NodeLists, ancestor_lists, first_parent_path, longest_depths

IntArray = NDArray[np.int64]
AnyArray = NDArray[Any]  # an array of any type
PATH_SEPARATOR = " > "
PATH_SIGN = PATH_SEPARATOR.strip()


@dataclass(frozen=True, eq=False)
class Taxonomy:
    """A tree of labels whose leaves are the classes; the root is implicit and has no node.

    Leaves may be at any depth, inner nodes may have one child, and the same name may occur under
    different parents: a node is identified by its path, or by its id if it has one. If nodes have several parents it
    is a directed acyclic graph (`is_tree` is False): the level of a node is then the length of its longest path from
    the root, and `parents`, `path` and `path_table`, which need a tree, raise a `TaxonomyError`.

    Args:
        names: name of each node, parents first, level by level, children in their parents' order.
        parents: parent of each node, shape (N,), -1 for the nodes just under the root; or `NodeLists` of the parents.
        leaves: node of each class, shape (C,), every childless node once; node order by default.
        ids: unique id of each node, "" for none; no ids by default.
        ranks: name of each level, such as kingdom, family, species; no names by default. Equality ignores them.

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
    parents: IntArray = field(repr=False)  # absent from a graph
    leaves: IntArray = field(default=None)  # type: ignore[arg-type]  # filled in below
    ids: tuple[str, ...] = ()
    ranks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(self.names))
        object.__setattr__(self, "ids", tuple(self.ids) if any(self.ids) else ())
        if isinstance(self.parents, NodeLists):
            self._set_parent_lists(self.parents)
        else:
            object.__setattr__(self, "parents", _frozen(self.parents))
        if faults := node_faults(self.names, self.parents if self.is_tree else self.parent_lists, self.ids):
            raise TaxonomyError(faults)
        childless = np.flatnonzero(self.child_counts == 0)
        leaves = childless if self.leaves is None else self.leaves
        object.__setattr__(self, "leaves", _frozen(leaves))
        if not np.array_equal(np.sort(self.leaves), childless):
            raise TaxonomyError("expected every childless node once among the leaves, and no other node")
        object.__setattr__(self, "ranks", self._checked_ranks(self.ranks))

    def _set_parent_lists(self, lists: NodeLists) -> None:
        """Keep lists of parents: as `parents` if no node has several, so that equal trees are equal."""
        lists = NodeLists(_frozen(lists.starts), _frozen(lists.nodes))
        counts = np.diff(lists.starts)
        if (counts > 1).any():
            object.__delattr__(self, "parents")
            object.__setattr__(self, "parent_lists", lists)
        else:
            parents = np.full(len(counts), -1)
            parents[counts == 1] = lists.nodes
            object.__setattr__(self, "parents", _frozen(parents))

    def __getattr__(self, name: str) -> Any:
        if name == "parents" and "parent_lists" in self.__dict__:
            raise NotATreeError(
                f"expected a tree, got a graph in which {self.several_parents} of {self.num_nodes} nodes have several "
                "parents; hiercos taxonomy convert --parents shortest (or first) keeps one of each"
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @classmethod
    def from_arrays(
        cls,
        names: Sequence[str],
        parents: ArrayLike | NodeLists,
        leaves: ArrayLike | None = None,
        *,
        ids: Sequence[str] = (),
    ) -> "Taxonomy":
        """Build a taxonomy from nodes in any numbering; -1 is the root. See `Taxonomy` for the arguments.

        Args:
            names: name of each node.
            parents: parent of each node, shape (N,); or `NodeLists` of the parents, for nodes with several.
            leaves: node of each class, shape (C,); the childless nodes in input order by default.
            ids: id of each node, "" for none; no ids by default.
        """
        from hiercos.taxonomy.build import tree_from_arrays

        return tree_from_arrays(names, parents, leaves, ids=ids)

    @classmethod
    def from_paths(cls, paths: Iterable[Sequence[str]]) -> "Taxonomy":
        """Build a taxonomy from one path of names per class, level 1 first; the classes keep this order.

        Raises:
            TaxonomyError: naming every path (numbered from 1) that is empty, has an empty name, occurs twice, or
                ends at an inner node.
        """
        from hiercos.taxonomy.rows import tree_from_paths

        return tree_from_paths(paths)

    @classmethod
    def from_edges(cls, edges: Iterable[tuple[str, str]], *, root: str = "root") -> "Taxonomy":
        """Build a taxonomy from (parent, child) pairs of unique names; classes in order of appearance as a child.

        An empty parent is the root. Without one, the names that are never a child form level 1, unless there is
        a single such name equal to `root`, which is the root itself. A name that is a child of several parents makes
        it a directed acyclic graph.

        Raises:
            TaxonomyError: naming every edge with an empty child, every repeated edge, a cycle, and every parent that
                is never a child although empty parents mark the top.

        Example:
            >>> t = Taxonomy.from_edges([("water", "fish"), ("pet", "fish"), ("pet", "dog"), ("water", "ship")])
            >>> t.is_tree, t.class_names, t.distance_matrix().tolist()
            (False, ('fish', 'dog', 'ship'), [[0, 2, 2], [2, 0, 3], [2, 3, 0]])
        """
        from hiercos.taxonomy.rows import tree_from_edges

        return tree_from_edges(edges, root=root)

    @classmethod
    def from_groups(cls, groups: Mapping[str, Iterable[str]]) -> "Taxonomy":
        """Build a taxonomy of height two from groups of classes by name, which may overlap.

        Example:
            >>> t = Taxonomy.from_groups({"pet": ["cat", "fish"], "food": ["fish", "bread"]})
            >>> t.class_names, t.is_tree
            (('cat', 'fish', 'bread'), False)
        """
        return cls.from_edges((group, member) for group, members in groups.items() for member in members)

    @classmethod
    def read(cls, path: str | PathLike[str], *, format: str | None = None, parents: str = "all") -> "Taxonomy":
        """Read a file.

        Args:
            path: file to read.
            format: one of `hiercos.taxonomy.formats.FORMATS`; by default by the extension.
            parents: parents that are kept of a node with several: see `read_taxonomy`.
        """
        from hiercos.taxonomy.formats import read_taxonomy

        return read_taxonomy(path, format=format, parents=parents)

    def write(self, path: str | PathLike[str], *, format: str | None = None) -> None:
        """Write a file, atomically, that `read` reads back as the same taxonomy."""
        from hiercos.taxonomy.formats import write_taxonomy

        write_taxonomy(self, path, format=format)

    @property
    def is_tree(self) -> bool:
        """Whether every node has at most one parent."""
        return "parents" in self.__dict__

    @property
    def several_parents(self) -> int:
        """Number of nodes with several parents."""
        return 0 if self.is_tree else int((np.diff(self.parent_lists.starts) > 1).sum())

    @cached_property
    def parent_lists(self) -> NodeLists:
        """Parents of all nodes in CSR form: starts, shape (N + 1,), and parents.

        The parents of a node are `parents[starts[node] : starts[node + 1]]`: none just under the root, one elsewhere
        in a tree.

        Example:
            >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
            >>> starts, parents = t.parent_lists
            >>> starts.tolist(), parents.tolist()
            ([0, 0, 0, 1, 2, 3], [0, 0, 1])
        """
        starts, parents = NodeLists.of_parents(self.parents)
        return NodeLists(_frozen(starts), _frozen(parents))

    @cached_property
    def ancestors(self) -> NodeLists:
        """Each node's ancestors and itself in CSR form, in ascending order.

        Example:
            >>> t = Taxonomy.from_edges([("water", "fish"), ("pet", "fish"), ("pet", "dog")])
            >>> ", ".join(t.names[node] for node in t.ancestors.list(int(t.leaves[0])))
            'water, pet, fish'
        """
        return ancestor_lists(self.parent_lists, self.level_starts)

    @cached_property
    def ancestor_counts(self) -> IntArray:
        """Number of each node's ancestors, itself included, shape (N,): its depth in a tree."""
        return self.depths if self.is_tree else _frozen(np.diff(self.ancestors.starts))

    @cached_property
    def most_ancestors(self) -> int:
        """Largest number of ancestors of a class, itself included: the largest distance, the height of a tree."""
        return self.height if self.is_tree else int(self.ancestor_counts[self.leaves].max())

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
        """Number of levels, the depth of the deepest leaf; H in a tree."""
        return len(self.level_starts) - 1

    @cached_property
    def level_starts(self) -> IntArray:
        """First node of each level, shape (H + 1,); the last entry is N.

        In a tree parents never decrease, so the children of a level's slice of nodes are again one slice.
        """
        if not self.is_tree:
            sizes = np.bincount(longest_depths(self.parent_lists))
            return _frozen(np.cumsum(sizes))  # no node has depth 0
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

    def with_ranks(self, ranks: Sequence[str]) -> "Taxonomy":
        """The same taxonomy with other names of its levels, level 1 first; none for no names.

        Raises:
            TaxonomyError: for another number of names than levels, or names that are empty, equal or numbers.
        """
        named = copy.copy(self)
        object.__setattr__(named, "ranks", self._checked_ranks(ranks))
        return named

    def _checked_ranks(self, ranks: Sequence[str]) -> tuple[str, ...]:
        names = tuple(name.strip() for name in ranks)
        if not names:
            return ()
        distinct = {name.casefold() for name in names} - {""}
        if len(names) != self.height or len(distinct) < len(names) or any(name.isdecimal() for name in names):
            raise TaxonomyError(f"expected {self.height} distinct names of levels (ranks), got {', '.join(names)}")
        return names

    def level_number(self, level: int | str) -> int:
        """The number of a level that is given by its number or by its name among `ranks`, letter case aside.

        Raises:
            TaxonomyError: for a name that no level has.

        Example:
            >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog")]).with_ranks(["kind", "species"])
            >>> t.level_number("Species"), t.level_number("1")
            (2, 1)
        """
        if not isinstance(level, str) or level.strip().isdecimal():
            return int(level)
        wanted, folded = level.strip().casefold(), [name.casefold() for name in self.ranks]
        if wanted in folded:
            return folded.index(wanted) + 1
        if not self.ranks:
            raise TaxonomyError(
                f"level {level!r}: the levels of this taxonomy have no names, expected a number from 1 to {self.height}"
            )
        raise TaxonomyError(f"level {level!r}: expected {', '.join(self.ranks)}, or a number from 1 to {self.height}")

    @cached_property
    def depths(self) -> IntArray:
        """The level of each node, shape (N,), 1 just under the root."""
        return _frozen(np.repeat(np.arange(1, self.height + 1), np.diff(self.level_starts)))

    @cached_property
    def child_counts(self) -> IntArray:
        """The number of children of each node, shape (N,)."""
        above = self.parents[self.parents >= 0] if self.is_tree else self.parent_lists.nodes
        return _frozen(np.bincount(above, minlength=self.num_nodes))

    @cached_property
    def class_names(self) -> tuple[str, ...]:
        """The name of each class; two classes under different parents may share one."""
        return tuple(self.names[leaf] for leaf in self.leaves)

    def classes_of(self, nodes: ArrayLike) -> IntArray:
        """The class of each node, same shape; -1 for inner nodes and the root (-1).

        Example:
            >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
            >>> t.classes_of([4, 2, 0, -1]).tolist()  # car, cat, pet, and the root
            [2, 0, -1, -1]
        """
        classes: IntArray = self._class_of_node[np.asarray(nodes, dtype=np.int64)]
        return classes

    @cached_property
    def _class_of_node(self) -> IntArray:
        """The class of each node, -1 for inner nodes, then -1 for the root, shape (N + 1,)."""
        table = np.full(self.num_nodes + 1, -1)
        table[self.leaves] = np.arange(self.num_classes)
        return _frozen(table)

    def path(self, node: int) -> tuple[int, ...]:
        """The nodes from level 1 down to `node`, both included."""
        nodes = []
        while node >= 0:
            nodes.append(int(node))
            node = int(self.parents[node])
        return tuple(reversed(nodes))

    def path_text(self, node: int) -> str:
        """The names along the path of a node, as `a > b > c`; in a graph, the path of first parents."""
        steps = self.path(node) if self.is_tree else [*first_parent_path(self.parent_lists, node)][::-1]
        return PATH_SEPARATOR.join(self.names[step] for step in steps)

    def short_text(self, node: int) -> str:
        """The name of a node, or its `path_text` if another node is called so.

        Example:
            >>> t = Taxonomy.from_paths([("cats", "wild"), ("dogs", "wild")])
            >>> t.short_text(0), t.short_text(2)
            ('cats', 'cats > wild')
        """
        return self.path_text(node) if self.names[node] in self._repeated_names else self.names[node]

    @cached_property
    def _repeated_names(self) -> frozenset[str]:
        return frozenset(name for name, count in Counter(self.names).items() if count > 1)

    def path_table(self, nodes: ArrayLike) -> IntArray:
        """The paths of several nodes as rows, shape (K, H), level 1 first, -1 beyond a node's depth.

        The row of the root (-1) is all -1.
        """
        current = np.asarray(nodes, dtype=np.int64)
        depths = np.where(current < 0, 0, self.depths[current])
        table = np.full((len(current), self.height), -1, dtype=np.int64)
        for level in range(int(depths.max(initial=0)), 0, -1):
            rows = np.flatnonzero(depths >= level)
            table[rows, level - 1] = current[rows]
            current = current.copy()
            current[rows] = self.parents[current[rows]]
        return table

    def distance_matrix(self) -> IntArray:
        """Distances between all classes, shape (C, C), 0 on the diagonal.

        H minus the number of shared ancestors, with H the largest number of ancestors of a class, itself included: on a
        tree H - depth(LCA).
        """
        from hiercos.taxonomy.distances import distance_block

        return distance_block(self, np.arange(self.num_classes))

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the names, ids, parents and leaves, the same on every machine."""
        digest = hashlib.sha256()
        parents = (self.parents,) if self.is_tree else self.parent_lists
        for array in (*parents, self.leaves):
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
        several = "" if self.is_tree else f", {self.several_parents} nodes with several parents"
        return f"Taxonomy({self.num_nodes} nodes, {self.num_classes} classes, height {self.height}{several})"


def _frozen(values: ArrayLike) -> IntArray:
    array = np.array(values, dtype=np.int64)
    array.setflags(write=False)
    return array


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
