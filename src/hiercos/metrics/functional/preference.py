"""The order a tree prefers, as seen from a class: its ranks z, their weights η, and HOPS's worst case."""

from typing import Literal

import torch
from torch import Tensor

from hiercos.metrics.tables import RankTables

Tail = Literal["zero", "half"]  # where the weights of the last rank fall to: 0 (published), or half as printed


def desired_order(profiles: Tensor, k: int) -> Tensor:
    """The ranks of the first k positions in preferred order: (P, R) counts per rank -> (P, k)."""
    positions = torch.arange(k, device=profiles.device).expand(len(profiles), -1)
    return torch.searchsorted(profiles.cumsum(dim=1), positions.contiguous(), right=True)


def decay_weights(profiles: Tensor, desired: Tensor, tail: Tail) -> Tensor:
    """The weight η of each position in preferred order, shape (P, k), float64.

    Within a rank r of m classes the weight falls linearly, 2^−r − t (2^−r − b) / m for t = 0…m−1, towards the
    first weight of the next rank, b = 2^−(r+1); in the last rank towards 0 where `tail` is zero.

    Args:
        profiles: the number of classes at each rank, shape (P, R).
        desired: the ranks in preferred order, shape (P, k).
        tail: where the weights of the last rank fall to.
    """
    starts = profiles.cumsum(dim=1) - profiles
    steps = torch.arange(desired.shape[1], device=desired.device) - starts.gather(1, desired)
    top = torch.exp2(-desired.double())
    bottom = top / 2
    if tail == "zero":
        last = (profiles > 0).sum(dim=1, keepdim=True) - 1
        bottom = bottom.masked_fill(desired == last, 0.0)
    return top - steps * (top - bottom) / profiles.gather(1, desired)


def preferred_order(tables: RankTables, labels: Tensor, k: int, tail: Tail) -> tuple[Tensor, Tensor]:
    """Ranks (small integers) and weights (float64) of the first k positions for each label, two (B, k)."""
    if not tables.keeps_orders:
        return _order_and_weights(tables, tables.profiles[tables.profile_of[labels]], k, tail)
    ranks, weights = order_tables(tables, tail)
    rows = tables.profile_of[labels]
    return ranks[rows, :k], weights[rows, :k]


def order_tables(tables: RankTables, tail: Tail) -> tuple[Tensor, Tensor]:
    """Ranks and weights in preferred order for every rank profile, two (P, C)."""
    if ("order", tail) not in tables.memo:
        ranks, weights = _order_and_weights(tables, tables.profiles, tables.num_classes, tail)
        tables.memo["order", tail], tables.memo["weights", tail] = ranks, weights
    return tables.memo["order", tail], tables.memo["weights", tail]


def _order_and_weights(tables: RankTables, profiles: Tensor, k: int, tail: Tail) -> tuple[Tensor, Tensor]:
    desired = desired_order(profiles, k)
    return desired.to(tables.rank_of_distance.dtype), decay_weights(profiles, desired, tail)


def reversed_disorder(tables: RankTables, labels: Tensor, desired: Tensor, weights: Tensor, *, tail: Tail) -> Tensor:
    """The weighted disorder of the preferred order with its first k positions reversed, shape (B,).

    Args:
        tables: the taxonomy's tables, where it is kept per rank profile if they keep orders.
        labels: true classes, shape (B,).
        desired: ranks of the first k positions as `preferred_order` gives them, shape (B, k).
        weights: their weights, shape (B, k).
        tail: the tail of these weights.
    """
    k = desired.shape[1]
    if not tables.keeps_orders:
        return _disorder_of_reverse(desired, weights)
    if ("reversed", tail, k) not in tables.memo:
        ranks, all_weights = order_tables(tables, tail)
        tables.memo["reversed", tail, k] = _disorder_of_reverse(ranks[:, :k], all_weights[:, :k])
    return tables.memo["reversed", tail, k][tables.profile_of[labels]]


def _disorder_of_reverse(desired: Tensor, weights: Tensor) -> Tensor:
    return ((desired - desired.flip(1)).abs() * weights).sum(dim=1)
