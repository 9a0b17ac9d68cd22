"""The true worst order of HOPS, by linear assignment, once per rank profile."""

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from hiercos.metrics.functional.preference import order_tables
from hiercos.metrics.tables import RankTables

MOST_ASSIGNED = 2_000  # classes; an assignment of n positions takes up to n^3 steps


def worst_disorder(tables: RankTables, labels: Tensor, k: int) -> Tensor:
    """The largest weighted disorder any order of the classes can have in its first k positions, shape (B,).

    Classes of equal rank cost the same at every position, so the answer is one number per rank profile; it is
    found at the profile's first appearance and kept.

    Raises:
        ValueError: for more than `MOST_ASSIGNED` classes.
    """
    if tables.num_classes > MOST_ASSIGNED:
        raise ValueError(
            f"the exact HOPS takes up to {MOST_ASSIGNED} classes, got {tables.num_classes}; use variant='published'"
        )
    unknown = torch.full((len(tables.profiles),), torch.nan, dtype=torch.float64, device=labels.device)
    known = tables.memo.setdefault(("worst", k), unknown)
    ranks, weights = order_tables(tables, "zero")
    profiles = tables.profile_of[labels]
    for profile in torch.unique(profiles[known[profiles].isnan()]).tolist():
        counts = tables.profiles[profile].cpu().numpy()
        known[profile] = assigned_disorder(
            counts, ranks[profile, :k].cpu().numpy().astype(np.int64), weights[profile, :k].cpu().numpy()
        )
    return known[profiles]


def assigned_disorder(
    counts: np.ndarray[tuple[int], np.dtype[np.int64]],
    desired: np.ndarray[tuple[int], np.dtype[np.int64]],
    weights: np.ndarray[tuple[int], np.dtype[np.float64]],
) -> float:
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
