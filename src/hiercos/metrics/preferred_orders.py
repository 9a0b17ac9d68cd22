"""The order a tree prefers, as seen from each label: `taxonomy.preferences` as tensors, kept per rank profile."""

import numpy as np
import torch
from torch import Tensor

from hiercos.metrics.tables import RankTables, row_parts
from hiercos.taxonomy import FloatArray, IntArray, Tail, decay_weights, preferred_ranks, reversed_disorder


def ranks_and_weights(profiles: IntArray, k: int, tail: Tail) -> tuple[IntArray, FloatArray]:
    """Ranks z and weights η of the first k positions in preferred order: (U, R) counts per rank -> two (U, k)."""
    ranks = preferred_ranks(profiles, k)
    return ranks, decay_weights(profiles, ranks, tail)


def preferred_order(tables: RankTables, labels: Tensor, k: int, tail: Tail) -> tuple[Tensor, Tensor]:
    """Ranks (small integers) and weights (float64) of the first k positions for each label, two (B, k)."""
    profiles = tables.profile_of[labels]
    if not tables.keeps_orders:
        return _as_tensors(tables, tables.profiles[profiles.cpu().numpy()], k, tail)
    ranks, weights = tables.kept(("order", tail), lambda: _every_order(tables, tail))
    return ranks[profiles, :k], weights[profiles, :k]


def _every_order(tables: RankTables, tail: Tail) -> tuple[Tensor, Tensor]:
    """Ranks and weights in preferred order for every rank profile, two (P, C)."""
    count = tables.num_classes
    parts = [_as_tensors(tables, tables.profiles[rows], count, tail) for rows in row_parts(len(tables.profiles), count)]
    ranks, weights = zip(*parts, strict=True)
    return torch.cat(ranks), torch.cat(weights)


def _as_tensors(tables: RankTables, profiles: IntArray, k: int, tail: Tail) -> tuple[Tensor, Tensor]:
    ranks, weights = ranks_and_weights(profiles, k, tail)
    like = tables.rank_of_distance
    return torch.from_numpy(ranks).to(like.device, like.dtype), torch.from_numpy(weights).to(like.device)


def disorder_of_reverse(tables: RankTables, labels: Tensor, k: int, tail: Tail) -> Tensor:
    """The weighted disorder of the preferred order with its first k positions reversed, shape (B,)."""

    def of_profiles(profiles: IntArray) -> FloatArray:
        parts = row_parts(len(profiles), k)
        return np.concatenate([reversed_disorder(*ranks_and_weights(profiles[rows], k, tail)) for rows in parts])

    return tables.profile_values(labels, ("reversed", tail, k), of_profiles)
