"""The preferred order of the classes for a true class: preference ranks, their HOPS weights, and the worst-case HOPS.

The other classes are at a few distinct distances from a class; their dense ranks are the preference ranks, 0 for the
class itself. The number of classes at each rank, the rank profile, determines the order up to the names of the classes.
"""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hiercos.taxonomy.distances import ROWS_AT_ONCE, classes_below, distance_block
from hiercos.taxonomy.tree import IntArray, Taxonomy

FloatArray = NDArray[np.float64]
Tail = Literal["zero", "half"]  # limit of the weights within the last rank: 0 (published code), or half (as printed)


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
