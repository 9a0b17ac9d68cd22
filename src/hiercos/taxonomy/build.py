"""Taxonomies from arrays, paths and edges: bring the nodes into breadth-first order, or say every fault."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from hiercos.taxonomy.errors import TaxonomyError
from hiercos.taxonomy.tree import PATH_SEPARATOR, IntArray, Taxonomy


def tree_from_arrays(
    names: Sequence[str], parents: ArrayLike, leaves: ArrayLike | None = None, *, ids: Sequence[str] = ()
) -> Taxonomy:
    """Renumber the nodes breadth-first, siblings in the order given; see `Taxonomy` for the arguments.

    Without `leaves`, the classes are the childless nodes in the order given.
    """
    parent = np.asarray(parents, dtype=np.int64)
    if parent.shape != (len(names),):
        raise TaxonomyError(f"expected {len(names)} parents, one for each name, got shape {parent.shape}")
    outside = np.flatnonzero((parent < -1) | (parent >= len(parent)))
    if len(outside):
        raise TaxonomyError(
            f"node {node} ({names[node]!r}): parent {parent[node]} is not a node" for node in outside
        )
    order = breadth_first(parent)
    if len(order) < len(parent):
        lost = np.setdiff1d(np.arange(len(parent)), order)
        raise TaxonomyError(f"node {node} ({names[node]!r}) is on or below a cycle" for node in lost)
    place = np.empty(len(parent) + 1, dtype=np.int64)  # the last entry is the root's: -1 stays -1
    place[order], place[-1] = np.arange(len(order)), -1
    childless = np.flatnonzero(np.bincount(parent[parent >= 0], minlength=len(parent)) == 0)
    classes = childless if leaves is None else np.asarray(leaves, dtype=np.int64)
    return Taxonomy(
        names=tuple(names[node] for node in order),
        parents=place[parent[order]],
        leaves=place[classes],
        ids=tuple(ids[node] for node in order) if ids else (),
    )


def breadth_first(parents: IntArray) -> IntArray:
    """The nodes that hang on the root, level by level and siblings in index order; others are left out."""
    by_parent = np.argsort(parents, kind="stable")
    starts = np.searchsorted(parents[by_parent], np.arange(-1, len(parents) + 1))  # of the root, then of each node
    level = by_parent[starts[0] : starts[1]]
    levels = [level]
    while len(level):
        first, counts = starts[level + 1], starts[level + 2] - starts[level + 1]
        offsets = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        level = by_parent[np.repeat(first, counts) + offsets]
        levels.append(level)
    return np.concatenate(levels)


def tree_from_paths(paths: Iterable[Sequence[str]]) -> Taxonomy:
    """One path of names per class; see `Taxonomy.from_paths`."""
    names: list[str] = []
    parents: list[int] = []
    leaves: list[int] = []
    nodes: dict[tuple[int, str], int] = {}
    faults = []
    rows: dict[int, int] = {}  # leaf -> number of its path
    for number, path in enumerate(paths, 1):
        if fault := _path_fault(path):
            faults.append(f"path {number}: {fault}")
            continue
        node = -1
        for name in path:
            key = (node, name)
            if key not in nodes:
                nodes[key] = len(names)
                names.append(name)
                parents.append(node)
            node = nodes[key]
        if node in rows:
            faults.append(f"path {number}: {PATH_SEPARATOR.join(path)!r} is already path {rows[node]}")
            continue
        rows[node] = number
        leaves.append(node)
    inner = set(parents)
    faults += [
        f"path {rows[leaf]}: class {names[leaf]!r} is also an inner node, so its own samples have no leaf"
        for leaf in leaves
        if leaf in inner
    ]
    if faults:
        raise TaxonomyError(faults)
    return tree_from_arrays(names, parents, leaves)


def _path_fault(path: Sequence[str]) -> str | None:
    if isinstance(path, str):
        return f"expected a sequence of names, got the text {path!r}"
    if not len(path):
        return "expected at least one name, got none"
    empty = [level for level, name in enumerate(path, 1) if not isinstance(name, str) or not name.strip()]
    return f"the name at level {empty[0]} is empty or not text" if empty else None


def tree_from_edges(edges: Iterable[tuple[str, str]], *, root: str = "root") -> Taxonomy:
    """Pairs of (parent, child); see `Taxonomy.from_edges`."""
    parent_of: dict[str, str] = {}
    row_of: dict[str, int] = {}
    tops: dict[str, None] = {}  # in order of appearance
    faults = []
    for number, (parent, child) in enumerate(edges, 1):
        if not child.strip():
            faults.append(f"edge {number}: the child of {parent!r} is empty")
        elif child in parent_of:
            if parent_of[child] == parent:
                faults.append(f"edge {number}: {parent!r}, {child!r} is already edge {row_of[child]}")
            else:
                faults.append(
                    f"edge {number}: {child!r} has two parents, {parent_of[child]!r} (edge {row_of[child]}) "
                    f"and {parent!r}; expected a tree"
                )
        else:
            parent_of[child], row_of[child] = parent, number
            if parent.strip():
                tops.setdefault(parent)
    if faults:
        raise TaxonomyError(faults)
    return _tree_from_links(parent_of, [name for name in tops if name not in parent_of], root)


def _tree_from_links(parent_of: dict[str, str], tops: list[str], root: str) -> Taxonomy:
    """Number the names (those at the top first), drop an explicit root, and build the tree."""
    under_root = {""} | ({root} if tops == [root] else set())
    names = [name for name in tops if name not in under_root] + list(parent_of)
    index = {name: node for node, name in enumerate(names)}
    parents = [
        -1 if parent_of.get(name, "").strip() in under_root else index[parent_of[name]] for name in names
    ]
    return tree_from_arrays(names, parents)
