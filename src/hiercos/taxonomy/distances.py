"""Distances between classes, without a walk up the tree for every pair, and the order of the classes they prefer.

In a graph, the number of ancestors that two classes share is a product of sparse sets of ancestors.

In a tree, take the leaves in depth-first order. The lowest common ancestor of two leaves is the shallowest of the
common ancestors of the neighbours between them, so one number per leaf (its common depth with the leaf
before it) answers everything: a pair is a range minimum, O(1) from a table of minima over the powers of
two, and a whole row is a running minimum, O(C).

The other classes are at a few distinct distances from a class; their dense ranks are the preference ranks, 0 for the
class itself. The number of classes at each rank, the rank profile, determines the order up to the names of the classes.
"""

import weakref
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hiercos.taxonomy.operations import Floats, ancestor_matrix, descendant_sums
from hiercos.taxonomy.tree import IntArray, Taxonomy

ROWS_AT_ONCE = 256  # labels of a graph whose shared ancestors are counted together
FloatArray = NDArray[np.float64]
Tail = Literal["zero", "half"]  # limit of the weights within the last rank: 0 (published code), or half (as printed)


@dataclass(frozen=True)
class LeafOrder:
    """The leaves of a taxonomy in depth-first order."""

    classes: IntArray  # class at each position, shape (C,)
    positions: IntArray  # position of each class, shape (C,)
    # depth of the lowest common ancestor of the leaf at a position and the one before it, shape (C,); 0 (the root)
    # at position 0
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


def distance_counts(taxonomy: Taxonomy, labels: ArrayLike) -> IntArray:
    """Number of classes at each distance 0…H from each label, shape (B, H + 1).

    In a tree, the classes whose common ancestor with the label has depth d are the leaves below the label's ancestor at
    depth d, without those below its ancestor at depth d + 1.

    Example:
        >>> toy = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> distance_counts(toy, [0, 2]).tolist()
        [[1, 1, 1], [1, 0, 2]]
    """
    if not taxonomy.is_tree:
        return _counted_distances(taxonomy, np.asarray(labels, dtype=np.int64))
    paths = taxonomy.path_table(taxonomy.leaves[np.asarray(labels, dtype=np.int64)])
    below = np.where(paths >= 0, classes_below(taxonomy)[paths], 1)  # (B, H)
    within = np.column_stack([np.full(len(paths), taxonomy.num_classes), below])  # common depth 0…H at least
    itself = np.ones((len(paths), 1), dtype=np.int64)
    return np.hstack([itself, -np.diff(within, axis=1)[:, ::-1]])


def _counted_distances(taxonomy: Taxonomy, labels: IntArray) -> IntArray:
    """`distance_counts` of a graph, counted row by row."""
    width = taxonomy.most_ancestors + 1
    counts = np.empty((len(labels), width), dtype=np.int64)
    for start in range(0, len(labels), ROWS_AT_ONCE):
        block = distance_block(taxonomy, labels[start : start + ROWS_AT_ONCE])
        cells = block + width * np.arange(len(block))[:, None]
        counts[start : start + len(block)] = np.bincount(cells.reshape(-1), minlength=block.shape[0] * width).reshape(
            -1, width
        )
    return counts


def distance_ranks(counts: IntArray) -> IntArray:
    """Preference rank of each distance that has classes: (B, H + 1) counts -> (B, H + 1)."""
    return np.cumsum(counts > 0, axis=1) - 1


def ordered_by_rank(counts: IntArray, values: IntArray) -> IntArray:
    """Values per distance to values per rank, without empty distances: (B, H + 1) -> (B, H + 1), padded with 0."""
    rows, distances = np.nonzero(counts)
    ordered = np.zeros_like(counts)
    ordered[rows, distance_ranks(counts)[rows, distances]] = values[rows, distances]
    return ordered


def rank_profiles(counts: IntArray) -> IntArray:
    """Number of classes at each rank: counts per distance (B, H + 1) -> (B, H + 1), 0 past the last rank."""
    return ordered_by_rank(counts, counts)


def preferred_ranks(profiles: IntArray, k: int | None = None) -> IntArray:
    """Rank at each of the first k positions of the preferred order, shape (B, k); k is C by default."""
    if k is None:
        k = int(profiles[:1].sum())  # each row counts all classes
    counts = np.diff(np.minimum(np.cumsum(profiles, axis=1), k), axis=1, prepend=0)
    ranks = np.tile(np.arange(profiles.shape[1]), len(profiles))
    return np.repeat(ranks, counts.reshape(-1)).reshape(len(profiles), k)


def decay_weights(profiles: IntArray, preferred: IntArray, tail: Tail = "zero") -> FloatArray:
    """HOPS weight η of each position, shape (B, k).

    Within a rank r of m classes the weight falls linearly, 2^−r − t (2^−r − b) / m for t = 0…m−1, towards the
    first weight of the next rank, b = 2^−(r+1), and in the last rank towards 0 where the tail is zero.

    Args:
        profiles: number of classes at each rank, shape (B, R).
        preferred: rank at each of the first k positions, shape (B, k).
        tail: limit of the weights within the last rank, "zero" (default) or "half".
    """
    starts = np.cumsum(profiles, axis=1) - profiles
    tops = np.exp2(-np.arange(profiles.shape[1], dtype=np.float64))
    last = np.count_nonzero(profiles, axis=1)[:, None] - 1
    to_zero = (np.arange(profiles.shape[1]) == last) & (tail == "zero")
    falls = np.where(to_zero, tops, tops / 2) / np.maximum(profiles, 1)  # (B, R) per position
    steps = np.arange(preferred.shape[1]) - np.take_along_axis(starts, preferred, axis=1)
    return tops[preferred] - steps * np.take_along_axis(falls, preferred, axis=1)


def reversed_disorder(preferred: IntArray, weights: FloatArray) -> FloatArray:
    """s_max of the published HOPS: weighted disorder Σ_j η_j |z_j − ẑ_j| of the reversed k positions, shape (B,)."""
    gaps = np.abs(preferred - preferred[:, ::-1])
    disorder: FloatArray = np.sum(weights * gaps, axis=1)
    return disorder
