"""Sums and maxima over ancestors and over descendants, on NumPy arrays.

A tree takes one pass over its levels, a graph a sparse product with the sets of ancestors. `hiercos.geometry` has the
same operations on torch tensors. Each row is computed separately, in an order that depends only on the taxonomy, so a
sample's result never depends on the rest of the batch.
"""

import weakref
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hiercos.taxonomy.tree import IntArray, Taxonomy

Floats = NDArray[np.float64]


def node_values(values: Floats, taxonomy: Taxonomy, *, empty: float = 0.0) -> Floats:
    """Class values (M, C) as node values (M, N), `empty` at inner nodes."""
    nodes = np.full((len(values), taxonomy.num_nodes), empty)
    nodes[:, taxonomy.leaves] = values
    return nodes


def ancestor_sums(values: Floats, taxonomy: Taxonomy) -> Floats:
    """Sum of the values of every node and its ancestors: (M, N) to (M, N).

    Example:
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> ancestor_sums(np.array([[1.0, 10.0, 2.0, 3.0, 4.0]]), t)
        array([[ 1., 10.,  3.,  4., 14.]])
    """
    if not taxonomy.is_tree:
        return _products(ancestor_matrix(taxonomy), values)
    sums = np.array(values, dtype=np.float64)
    for level in range(2, taxonomy.height + 1):
        nodes = taxonomy.level(level)
        sums[:, nodes] += sums[:, taxonomy.parents[nodes]]
    return sums


def descendant_sums(values: Floats, taxonomy: Taxonomy) -> Floats:
    """Sum of the values of every node and its descendants: (M, N) to (M, N).

    Example:
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> descendant_sums(np.array([[0.0, 0.0, 0.5, 0.25, 0.25]]), t)
        array([[0.75, 0.25, 0.5 , 0.25, 0.25]])
    """
    if not taxonomy.is_tree:
        return _products(ancestor_matrix(taxonomy).T.tocsr(), values)
    sums = np.array(values, dtype=np.float64)
    for level in range(taxonomy.height, 1, -1):
        nodes = taxonomy.level(level)
        parents, starts = families(taxonomy, nodes)
        sums[:, parents] += np.add.reduceat(sums[:, nodes], starts, axis=1)
    return sums


def descendant_maxima(values: Floats, taxonomy: Taxonomy) -> Floats:
    """Largest value among every node and its descendants: (M, N) to (M, N)."""
    maxima = np.array(values, dtype=np.float64)
    for level in range(taxonomy.height, 1, -1):
        nodes = taxonomy.level(level)
        if not taxonomy.is_tree:
            _raise_parents(maxima, nodes, taxonomy)
            continue
        parents, starts = families(taxonomy, nodes)
        maxima[:, parents] = np.maximum(maxima[:, parents], np.maximum.reduceat(maxima[:, nodes], starts, axis=1))
    return maxima


def families(taxonomy: Taxonomy, nodes: slice) -> tuple[IntArray, IntArray]:
    """Distinct parents of a level's nodes, and the offset of each one's first child within the level."""
    parents, starts = np.unique(taxonomy.parents[nodes], return_index=True)
    return parents, starts


def _raise_parents(maxima: Floats, nodes: slice, taxonomy: Taxonomy) -> None:
    """Raise the values of all parents of a level's nodes to those of the nodes, in place."""
    lists = taxonomy.parent_lists
    edges = slice(lists.starts[nodes.start], lists.starts[nodes.stop])
    order = np.argsort(lists.nodes[edges], kind="stable")
    parents, starts = np.unique(lists.nodes[edges][order], return_index=True)
    children = lists.owners[edges][order]
    maxima[:, parents] = np.maximum(maxima[:, parents], np.maximum.reduceat(maxima[:, children], starts, axis=1))


_ancestors: "weakref.WeakKeyDictionary[Taxonomy, Any]" = weakref.WeakKeyDictionary()


def ancestor_matrix(taxonomy: Taxonomy) -> Any:
    """Sparse matrix (scipy csr_array) of shape (N, N), 1 for each node's ancestors and itself; cached."""
    from scipy.sparse import csr_array

    if taxonomy not in _ancestors:
        starts, nodes = taxonomy.ancestors
        shape = (taxonomy.num_nodes, taxonomy.num_nodes)
        _ancestors[taxonomy] = csr_array((np.ones(len(nodes)), nodes, starts), shape=shape)
    return _ancestors[taxonomy]


def _products(matrix: Any, values: Floats) -> Floats:
    """Sums of the values of each node's row of a matrix: (M, N) to (M, N)."""
    sums: Floats = np.ascontiguousarray((matrix @ np.asarray(values, dtype=np.float64).T).T)
    return sums
