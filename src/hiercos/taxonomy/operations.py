"""Sums and maxima over ancestors and over descendants, on NumPy arrays.

A tree takes one pass over its levels, a graph a sparse product with the sets of ancestors. `hiercos.geometry` has the
same operations on torch tensors. Each row is computed separately, in an order that depends only on the taxonomy, so a
sample's result never depends on the rest of the batch.
"""

import weakref
from collections.abc import Iterable
from functools import reduce
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


def best_children(values: Floats, taxonomy: Taxonomy) -> IntArray:
    """The child of every node with the highest value, the lower index among equals: (M, N) to (M, N + 1).

    The last column, index -1, is that of the root; -1 for a node without children.

    Example:
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> best_children(np.array([[0.75, 0.25, 0.25, 0.5, 0.25]]), t)
        array([[ 3,  4, -1, -1, -1,  0]])
    """
    if not taxonomy.is_tree:
        return _best_graph_children(values, taxonomy)
    best = np.full((len(values), taxonomy.num_nodes + 1), -1)
    for level in range(1, taxonomy.height + 1):
        nodes = taxonomy.level(level)
        parents, starts = families(taxonomy, nodes)
        best[:, parents] = _highest(values[:, nodes], np.arange(nodes.start, nodes.stop), starts)
    return best


def best_parents(values: Floats, taxonomy: Taxonomy) -> IntArray:
    """The parent of every node with the highest value, the lower index among equals: (M, N) to (M, N).

    -1 for a node just under the root. In a tree every node has one parent.

    Example:
        >>> t = Taxonomy.from_edges([("water", "fish"), ("pet", "fish"), ("pet", "dog"), ("water", "ship")])
        >>> best_parents(np.array([[0.7, 0.8, 0.5, 0.2, 0.3]]), t)  # water, pet, fish, ship and dog
        array([[-1, -1,  1,  0,  1]])
    """
    if taxonomy.is_tree:
        return np.tile(taxonomy.parents, (len(values), 1))
    lists = taxonomy.parent_lists
    best = np.full(values.shape, -1)
    below = np.diff(lists.starts) > 0
    best[:, below] = _highest(values[:, lists.nodes], lists.nodes, lists.starts[:-1][below])
    return best


def is_at_or_above(nodes: IntArray, labels: IntArray, taxonomy: Taxonomy) -> NDArray[np.bool_]:
    """Whether each node is the label of its row or an ancestor of it: (M, K) and (M,) to (M, K).

    The root (-1) is above every label, and no other node is above the root.

    Example:
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> is_at_or_above(np.array([[-1, 0, 2], [-1, 0, 2]]), np.array([2, 3]), t).tolist()
        [[True, True, True], [True, True, False]]
    """
    if not taxonomy.is_tree:
        known = labels >= 0
        above = np.asarray(ancestor_matrix(taxonomy)[np.maximum(labels, 0)[:, None], np.maximum(nodes, 0)].todense())
        return (nodes < 0) | ((above.reshape(nodes.shape) > 0) & known[:, None])
    paths = taxonomy.path_table(labels)
    on_level = np.where(nodes < 0, 0, taxonomy.depths[nodes] - 1)
    found: NDArray[np.bool_] = (nodes < 0) | (np.take_along_axis(paths, on_level, axis=1) == nodes)
    return found


def common_node(nodes: Iterable[int], taxonomy: Taxonomy) -> int:
    """Deepest node at or above all of some nodes, -1 for the root.

    Example:
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> common_node([2, 3], t), common_node([2, 4], t)  # cat and dog, cat and car
        (0, -1)
    """
    shared = reduce(np.intersect1d, (taxonomy.ancestors.list(node) for node in nodes))
    return int(shared[-1]) if len(shared) else -1


def parent_values(values: Floats, taxonomy: Taxonomy, *, root: float) -> Floats:
    """Value of the parent of every node, `root` just under the root: (M, N) to (M, N).

    Of several parents the highest value.
    """
    above = np.concatenate([values, np.full((len(values), 1), root)], axis=1)
    parents: Floats
    if taxonomy.is_tree:
        parents = above[:, taxonomy.parents]
    else:
        parents = np.take_along_axis(above, best_parents(values, taxonomy), axis=1)
    return parents


def families(taxonomy: Taxonomy, nodes: slice) -> tuple[IntArray, IntArray]:
    """Distinct parents of a level's nodes, and the offset of each one's first child within the level."""
    parents, starts = np.unique(taxonomy.parents[nodes], return_index=True)
    return parents, starts


def _best_graph_children(values: Floats, taxonomy: Taxonomy) -> IntArray:
    """`best_children` in a graph, where the nodes without parents are the children of the root."""
    lists, count = taxonomy.parent_lists, taxonomy.num_nodes
    tops = np.flatnonzero(np.diff(lists.starts) == 0)
    parents, children = np.append(lists.nodes, np.full(len(tops), count)), np.append(lists.owners, tops)
    order = np.lexsort((children, parents))
    owners, starts = np.unique(parents[order], return_index=True)
    best = np.full((len(values), count + 1), -1)
    best[:, owners] = _highest(values[:, children[order]], children[order], starts)
    return best


def _highest(values: Floats, nodes: IntArray, starts: IntArray) -> IntArray:
    """Node with the highest value in each group, the lower index among equals: (M, K) to (M, number of groups).

    Args:
        values: values of the nodes of all groups, one group after the other, shape (M, K).
        nodes: these nodes, shape (K,).
    """
    sizes = np.diff(np.append(starts, len(nodes)))
    highest = np.repeat(np.maximum.reduceat(values, starts, axis=1), sizes, axis=1)
    candidates = np.where(values == highest, nodes, nodes.max(initial=0) + 1)
    found: IntArray = np.minimum.reduceat(candidates, starts, axis=1)
    return found


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
