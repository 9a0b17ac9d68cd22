"""The order a tree prefers, as seen from each label: `taxonomy.preferences` as tensors, kept per rank profile."""

import numpy as np
import torch
from torch import Tensor

from hiercos.metrics.functional.ties import earlier_counts, tied_blocks
from hiercos.metrics.ranking import Ranking, rankings
from hiercos.metrics.tables import RankTables, row_parts
from hiercos.taxonomy import FloatArray, IntArray, Tail, Taxonomy, decay_weights, preferred_ranks, reversed_disorder


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


def preference_order_distance(scores: Tensor, labels: Tensor, taxonomy: Taxonomy) -> Tensor:
    """Frobenius distance of the two orders' sign matrices, ‖M₁ − M₂‖_F [dezert2024].

    M(a, b) is 1 where a is preferred to b, −1 where b is preferred, 0 where neither: classes at equal tree
    distance in M₁, classes with equal scores in M₂. A pair in the wrong order adds 8 to the square and a pair tied
    on one side only adds 2. An order without ties cannot reach 0 where the tree has any.

    Args:
        scores: higher is better, shape (B, C).
        labels: true classes, shape (B,).
        taxonomy: the tree over the C classes.

    Returns:
        Shape (B,), float64; lower is better.

    Example:
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> preference_order_distance(torch.tensor([[0.7, 0.2, 0.1], [0.7, 0.1, 0.1]]), torch.tensor([0, 0]), t)
        tensor([0.0000, 1.4142], dtype=torch.float64)
    """
    return torch.cat([_distance(part) for part in rankings(scores, labels, taxonomy)])


def _distance(ranking: Ranking) -> Tensor:
    """Count the pairs rank by rank, against the classes of earlier blocks of equal scores: O(C R) a sample."""
    ranks = ranking.ranks
    first, after = tied_blocks(ranking.scores)
    wrong = torch.zeros(len(ranks), dtype=torch.int64, device=ranks.device)
    tied_in_tree, tied_in_both = torch.zeros_like(wrong), torch.zeros_like(wrong)
    for rank in range(int(ranks.max()) + 1 if ranks.numel() else 0):
        counts = earlier_counts(ranks, rank)
        earlier = counts.gather(1, first)
        wrong += (earlier * (ranks < rank)).sum(dim=1)
        same = counts.gather(1, after) - earlier - 1  # others of this rank in a position's own block
        tied_in_both += (same * (ranks == rank)).sum(dim=1)
        tied_in_tree += counts[:, -1] * (counts[:, -1] - 1)
    tied_in_scores = (after - first - 1).sum(dim=1)
    one_sided = tied_in_tree + tied_in_scores - 2 * tied_in_both  # ordered pairs, each counted twice
    return (8 * wrong + one_sided).double().sqrt()
