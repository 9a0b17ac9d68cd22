"""Taxonomies from arrays in any numbering: bring the nodes into breadth-first order, or say every fault."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from hiercos.taxonomy.checks import shape_faults
from hiercos.taxonomy.errors import TaxonomyError
from hiercos.taxonomy.tree import IntArray, Taxonomy


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
