"""The true worst order of HOPS, by linear assignment, once per rank profile."""

import numpy as np
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from hiercos.metrics.functional.preference import ranks_and_weights
from hiercos.metrics.tables import RankTables
from hiercos.taxonomy.preferences import FloatArray
from hiercos.taxonomy.tree import IntArray

MOST_ASSIGNED = 2_000  # classes; an assignment of n positions takes up to n^3 steps


def worst_disorder(tables: RankTables, labels: Tensor, k: int) -> Tensor:
    """The largest weighted disorder any order of the classes can have in its first k positions, shape (B,).

    Classes of equal rank cost the same at every position, so the answer is one number per rank profile.

    Raises:
        ValueError: for more than `MOST_ASSIGNED` classes.
    """
    if tables.num_classes > MOST_ASSIGNED:
        raise ValueError(
            f"the exact HOPS takes up to {MOST_ASSIGNED} classes, got {tables.num_classes}; use variant='published'"
        )

    def of_profiles(profiles: IntArray) -> FloatArray:
        orders = zip(profiles, *ranks_and_weights(profiles, k, "zero"), strict=True)
        return np.array([assigned_disorder(*order) for order in orders])

    return tables.profile_values(labels, ("worst", k), of_profiles)


def assigned_disorder(counts: IntArray, desired: IntArray, weights: FloatArray) -> float:
    """The maximum of Σ_j η_j |z_j − r_j| over all ways to place the classes' ranks r on the k positions.

    Args:
        counts: the number of classes at each rank, shape (R,).
        desired: the ranks z of the positions, shape (k,).
        weights: their weights η, shape (k,).
    """
    classes = np.repeat(np.arange(len(counts)), np.minimum(counts, len(desired)))  # no rank fills more than k
    gains = weights[:, None] * np.abs(desired[:, None] - classes[None, :])
    rows, columns = linear_sum_assignment(gains, maximize=True)
    return float(gains[rows, columns].sum())
