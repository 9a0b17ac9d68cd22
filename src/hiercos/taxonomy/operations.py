"""Sums and maxima over ancestors and over descendants, on NumPy arrays.

`hiercos.geometry` has the same operations on torch tensors. Each row is computed separately, in an order that depends
only on the taxonomy, so a sample's result never depends on the rest of the batch.
"""

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
        parents, starts = families(taxonomy, nodes)
        maxima[:, parents] = np.maximum(maxima[:, parents], np.maximum.reduceat(maxima[:, nodes], starts, axis=1))
    return maxima


def families(taxonomy: Taxonomy, nodes: slice) -> tuple[IntArray, IntArray]:
    """Distinct parents of a level's nodes, and the offset of each one's first child within the level."""
    parents, starts = np.unique(taxonomy.parents[nodes], return_index=True)
    return parents, starts
