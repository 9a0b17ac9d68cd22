"""HOPS: agreement of the order of the classes with the order the tree prefers."""

from typing import Literal, get_args

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from hiercos.checks import check_choice
from hiercos.metrics.rank_tables import RankTables, disorder_of_reverse, preferred_order, ranks_and_weights
from hiercos.metrics.ranking import Ranking, mean_rank_gaps, ranking_metric
from hiercos.taxonomy import FloatArray, IntArray, Tail

__all__ = ["hops"]

MOST_ASSIGNED = 2_000  # largest number of classes; an assignment of n positions takes up to n^3 steps


def worst_disorder(tables: RankTables, labels: Tensor, k: int) -> Tensor:
    """Largest weighted disorder of the first k positions over all orders of the classes, shape (B,).

    Classes of equal rank cost the same at every position, so the result is one number per rank profile.

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
    """Maximum of Σ_j η_j |z_j − r_j| over all assignments of the classes' ranks r to the k positions.

    Args:
        counts: number of classes at each rank, shape (R,).
        desired: preferred ranks z of the positions, shape (k,).
        weights: weights η of the positions, shape (k,).
    """
    classes = np.repeat(np.arange(len(counts)), np.minimum(counts, len(desired)))  # no rank fills more than k
    gains = weights[:, None] * np.abs(desired[:, None] - classes[None, :])
    rows, columns = linear_sum_assignment(gains, maximize=True)
    return float(gains[rows, columns].sum())


HopsVariant = Literal["published", "paper", "exact"]
TieRule = Literal["index", "mean"]


@ranking_metric(depth=lambda k, ties, **_: None if ties == "mean" else k)
def hops(
    ranking: Ranking, k: int | None = None, *, variant: HopsVariant = "published", ties: TieRule = "index"
) -> Tensor:
    """Hierarchically ordered preference score of each sample, 1 for an ideal order.

    1 − s / s_max with s = Σ_j η_j |z_j − ẑ_j| over the first k positions and s_max its value for the worst order; z are
    the ranks in preferred order, ẑ those of the predicted order, and η falls from 2^−r to 2^−(r+1) within rank r
    [sani2026, supplementary, "HOPS: Technical Description"].

    Note:
        `published` is the definition behind the paper's tables: within the last rank η falls to 0, the worst order
        is the reversed one, and the result is clipped to [0, 1]. `paper` is the printed text: η of the last rank
        falls to 2^−(r+1), and only HOPS@k is clipped, so full HOPS can be negative (a reversed order is not the
        worst). For both, k = 1 is top-1 accuracy, where the formula is 0 / 0. `exact` has the published η and
        divides by the disorder of the true worst order, so it needs no clipping and 0 means the worst order; at
        k = 1 it is graded.

    Args:
        scores: class scores, higher is better, shape (B, C).
        labels: true class of each sample, shape (B,).
        taxonomy: the tree over the C classes.
        k: number of positions that count, at most C; all by default.
        variant: definition, "published" (default), "paper" or "exact"; see the note.
        ties: "index" (default) ranks equal scores by class index; "mean" uses the mean of s over all orders of equal
            scores (before any clipping; it sorts all classes).

    Returns:
        Values, shape (B,), float64; 1 if there is a single class.

    Raises:
        ValueError: for a NaN score, a label that is not a class, an unknown variant, or too many classes for `exact`.

    Example:
        >>> from hiercos import Taxonomy
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> hops(torch.tensor([[0.7, 0.2, 0.1], [0.7, 0.1, 0.2]]), torch.tensor([0, 0]), t).tolist()
        [1.0, 0.7]
    """
    check_choice("variant", variant, get_args(HopsVariant))
    check_choice("ties", ties, get_args(TieRule))
    tables, labels = ranking.tables, ranking.labels
    depth = tables.num_classes if k is None else min(k, tables.num_classes)
    tail: Tail = "half" if variant == "paper" else "zero"
    disorder = _disorder(ranking, k, tail, ties)
    if variant == "exact":
        return share_of_worst(disorder, worst_disorder(tables, labels, depth))  # clips rounding errors only
    if depth == 1:
        return top1_share(ranking, ties)
    worst = disorder_of_reverse(tables, labels, depth, tail)
    return share_of_worst(disorder, worst, clipped=variant == "published" or k is not None)


def _disorder(ranking: Ranking, k: int | None, tail: Tail, ties: TieRule) -> Tensor:
    """Σ_j η_j |z_j − ẑ_j| over the first positions, shape (B,); the default case uses the ranking's cached gaps.

    For a given k the positions are added one after the other, so that HOPS@k keeps the bits of all earlier versions.
    """
    depth = ranking.tables.num_classes if k is None else min(k, ranking.tables.num_classes)
    if tail == "zero" and ties == "index":
        parts = ranking.gaps[:, :depth] * ranking.preferred[1][:, :depth]
        return parts.sum(dim=1) if k is None else parts.cumsum(dim=1)[:, -1]
    desired, weights = preferred_order(ranking.tables, ranking.labels, depth, tail)
    if ties == "mean":
        gaps = mean_rank_gaps(ranking.ranks, ranking.scores, desired)
    else:
        gaps = (ranking.ranks[:, :depth] - desired).abs()
    return (gaps * weights).sum(dim=1)


def share_of_worst(disorder: Tensor, worst: Tensor, *, clipped: bool = True) -> Tensor:
    """1 − disorder / worst, and 1 where the worst is 0, clipped to [0, 1] by default: two (B,) -> (B,)."""
    value = torch.where(worst > 0, 1 - disorder / worst, 1.0)
    return value.clamp(0, 1) if clipped else value


def top1_share(ranking: Ranking, ties: TieRule = "index") -> Tensor:
    """1 if the first class is the true one, else 0; with mean ties its probability to be first. Shape (B,)."""
    if ties == "index":
        return (ranking.ranks[:, 0] == 0).double()
    first = ranking.scores == ranking.scores[:, :1]
    return ((ranking.ranks == 0) & first).any(dim=1) / first.sum(dim=1).double()
