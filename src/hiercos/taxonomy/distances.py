"""Distances between classes, without a walk up the tree for every pair.

In a graph, the number of ancestors that two classes share is a product of sparse sets of ancestors.

In a tree, take the leaves in depth-first order. The lowest common ancestor of two leaves is the shallowest of the
common ancestors of the neighbours between them, so one number per leaf (its common depth with the leaf
before it) answers everything: a pair is a range minimum, O(1) from a table of minima over the powers of
two, and a whole row is a running minimum, O(C).
"""

import weakref
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hiercos.taxonomy.operations import Floats, ancestor_matrix, descendant_sums
from hiercos.taxonomy.tree import IntArray, Taxonomy

ROWS_AT_ONCE = 256  # labels of a graph whose shared ancestors are counted together


@dataclass(frozen=True)
class LeafOrder:
    """The leaves of a taxonomy in depth-first order.

    Attributes:
        classes: class at each position, shape (C,).
        positions: position of each class, shape (C,).
        common: depth of the lowest common ancestor of the leaf at a position and the one before it, shape (C,);
            0 (the root) at position 0.
    """

    classes: IntArray
    positions: IntArray
    common: IntArray

    @cached_property
    def minima(self) -> NDArray[np.int32]:
        """Minimum of `common` over the 2**power positions from each one, cut at the end, shape (log2 C + 1, C)."""
        count = len(self.common)
        table = np.tile(self.common.astype(np.int32), (count.bit_length(), 1))
        for power in range(1, len(table)):
            half = 1 << (power - 1)
            table[power] = table[power - 1]
            np.minimum(table[power, :-half], table[power - 1, half:], out=table[power, :-half])
        return table


_orders: "weakref.WeakKeyDictionary[Taxonomy, LeafOrder]" = weakref.WeakKeyDictionary()


def leaf_order(taxonomy: Taxonomy) -> LeafOrder:
    """The depth-first order of the leaves, computed once per taxonomy in O(N)."""
    if taxonomy not in _orders:
        _orders[taxonomy] = _depth_first_leaves(taxonomy)
    return _orders[taxonomy]


def subtree_sizes(taxonomy: Taxonomy) -> IntArray:
    """The number of nodes in each node's subtree, itself included, shape (N,)."""
    return _descendant_counts(taxonomy, np.ones(taxonomy.num_nodes))


def classes_below(taxonomy: Taxonomy) -> IntArray:
    """The number of classes in each node's subtree, shape (N,); 1 for a leaf."""
    return _descendant_counts(taxonomy, (taxonomy.child_counts == 0).astype(np.float64))


def _descendant_counts(taxonomy: Taxonomy, values: Floats) -> IntArray:
    counts: IntArray = descendant_sums(values[None], taxonomy)[0].astype(np.int64)  # exact up to 2**53
    return counts


def _depth_first_leaves(taxonomy: Taxonomy) -> LeafOrder:
    """Number the nodes in preorder, level by level: a child follows its parent and its earlier siblings' subtrees.

    `first[v]` is the top of the chain of first children that leads to v. The leaf before v in depth-first
    order is below that top's previous sibling, so their common ancestor is the top's parent.
    """
    sizes = subtree_sizes(taxonomy)
    preorder = np.zeros(taxonomy.num_nodes, dtype=np.int64)
    first = np.arange(taxonomy.num_nodes)
    for level in range(1, taxonomy.height + 1):
        nodes = taxonomy.level(level)
        parents = taxonomy.parents[nodes]
        elder = np.cumsum(sizes[nodes]) - sizes[nodes]  # nodes of this level's earlier subtrees
        is_first = np.diff(parents, prepend=-2) != 0
        preorder[nodes] = elder
        if level > 1:
            family_start = np.repeat(elder[is_first], np.diff(np.flatnonzero(np.append(is_first, True))))
            preorder[nodes] = preorder[parents] + 1 + elder - family_start
            first[nodes] = np.where(is_first, first[parents], first[nodes])
    classes = np.argsort(preorder[taxonomy.leaves])
    positions = np.empty_like(classes)
    positions[classes] = np.arange(len(classes))
    common = taxonomy.depths[first[taxonomy.leaves[classes]]] - 1
    return LeafOrder(classes=classes, positions=positions, common=common)


def common_depth_block(taxonomy: Taxonomy, labels: ArrayLike) -> IntArray:
    """Number of ancestors that each label shares with every class, shape (B, C); its own number for itself.

    A node counts among its own ancestors. In a tree this is the depth of the lowest common ancestor.
    """
    rows = np.asarray(labels, dtype=np.int64)
    if not taxonomy.is_tree:
        return _shared_block(taxonomy, rows)
    order = leaf_order(taxonomy)
    block = np.empty((len(rows), taxonomy.num_classes), dtype=np.int64)
    for row, label in enumerate(rows):
        here = order.positions[label]
        after = order.classes[here + 1 :]
        before = order.classes[:here][::-1]
        block[row, after] = np.minimum.accumulate(order.common[here + 1 :])
        block[row, before] = np.minimum.accumulate(order.common[1 : here + 1][::-1])
        block[row, label] = taxonomy.depths[taxonomy.leaves[label]]
    return block


def distance_block(taxonomy: Taxonomy, labels: ArrayLike) -> IntArray:
    """Distance of each label to every class, H minus their shared ancestors and 0 to itself, shape (B, C)."""
    rows = np.asarray(labels, dtype=np.int64)
    block = taxonomy.most_ancestors - common_depth_block(taxonomy, rows)
    block[np.arange(len(rows)), rows] = 0
    return block


def _shared_block(taxonomy: Taxonomy, rows: IntArray) -> IntArray:
    classes = ancestor_matrix(taxonomy)[taxonomy.leaves]  # (C, N)
    parts = [
        (classes @ classes[rows[start : start + ROWS_AT_ONCE]].T.toarray()).T
        for start in range(0, len(rows), ROWS_AT_ONCE)
    ]
    empty = np.empty((0, taxonomy.num_classes))
    return np.concatenate([empty, *parts]).astype(np.int64)


def _shared_pairs(taxonomy: Taxonomy, labels: IntArray, classes: IntArray) -> IntArray:
    """Number of ancestors that labels share with classes, pair by pair: two (K,) to (K,)."""
    sets = ancestor_matrix(taxonomy)[taxonomy.leaves]  # (C, N)
    shared: IntArray = sets[labels].multiply(sets[classes]).sum(axis=1).astype(np.int64)
    return shared


def pair_distances(taxonomy: Taxonomy, labels: ArrayLike, classes: ArrayLike) -> IntArray:
    """Distance of each label to the class at the same index, see `distance_block`.

    In a tree, the minimum over a range is that of two overlapping ranges of a power of two: O(1) a pair, O(C log C)
    once per taxonomy, and no row of distances is ever built.

    Args:
        taxonomy: the tree.
        labels: class indices, any shape.
        classes: class indices to compare with, of a shape that broadcasts with `labels`.

    Returns:
        Distances, of the broadcast shape.

    Example:
        >>> toy = Taxonomy(names=("pet", "vehicle", "cat", "dog", "car"), parents=(-1, -1, 0, 0, 1))
        >>> pair_distances(toy, [0, 0, 0], [0, 1, 2]).tolist()
        [0, 1, 2]
    """
    if not taxonomy.is_tree:
        first, second = np.broadcast_arrays(np.asarray(labels, dtype=np.int64), np.asarray(classes, dtype=np.int64))
        shared = _shared_pairs(taxonomy, first.reshape(-1), second.reshape(-1)).reshape(first.shape)
        return np.where(first == second, 0, taxonomy.most_ancestors - shared)
    order = leaf_order(taxonomy)
    here = order.positions[np.asarray(labels, dtype=np.int64)]
    there = order.positions[np.asarray(classes, dtype=np.int64)]
    first = np.minimum(here, there) + (here != there)
    last = np.maximum(here, there)
    power = np.frexp(last - first + 1)[1] - 1  # exponent of the largest power of two within the range
    common = np.minimum(order.minima[power, first], order.minima[power, last + 1 - (1 << power)])
    return np.where(here == there, 0, taxonomy.height - common).astype(np.int64)


def hop_distance_block(taxonomy: Taxonomy, labels: ArrayLike) -> IntArray:
    """Number of nodes above or at only one of a label and a class, shape (B, C): the edges between them in a tree."""
    rows = np.asarray(labels, dtype=np.int64)
    depths = taxonomy.ancestor_counts[taxonomy.leaves]
    return depths[rows, None] + depths[None, :] - 2 * common_depth_block(taxonomy, rows)


def preference_ranks(distances: ArrayLike) -> IntArray:
    """Dense ranks within each row, same shape: 0 for the nearest, equal distances share a rank."""
    block = np.asarray(distances, dtype=np.int64)
    seen = np.zeros((len(block), int(block.max(initial=0)) + 1), dtype=np.int64)
    np.put_along_axis(seen, block, 1, axis=1)
    return np.take_along_axis(np.cumsum(seen, axis=1) - 1, block, axis=1)
