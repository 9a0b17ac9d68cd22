"""Ties: blocks of classes with equal scores, and the ranks within them."""

import torch
from torch import Tensor


def tied_blocks(scores: Tensor) -> tuple[Tensor, Tensor]:
    """Start and end (exclusive) of the block of equal scores around each position, two (B, C).

    Args:
        scores: scores in descending order, shape (B, C).
    """
    count = scores.shape[1]
    positions = torch.arange(count, device=scores.device).expand(scores.shape)
    begins = torch.ones_like(scores, dtype=torch.bool)
    begins[:, 1:] = scores[:, 1:] != scores[:, :-1]
    ends = torch.ones_like(begins)
    ends[:, :-1] = begins[:, 1:]
    first = positions.where(begins, 0).cummax(dim=1).values
    after = (positions + 1).where(ends, count).flip(1).cummin(dim=1).values.flip(1)
    return first, after


def earlier_counts(ranks: Tensor, rank: int) -> Tensor:
    """Number of classes of the given rank before each position: (B, C) -> (B, C + 1)."""
    counts = torch.zeros(len(ranks), ranks.shape[1] + 1, dtype=torch.int64, device=ranks.device)
    counts[:, 1:] = (ranks == rank).cumsum(dim=1)
    return counts


def mean_rank_gaps(ranks: Tensor, scores: Tensor, desired: Tensor) -> Tensor:
    """Mean of |z_j − ẑ_j| at the first k positions over all orders of equal scores, shape (B, k), float64.

    Every class of a tied block is equally often at each of its positions.

    Args:
        ranks: preference ranks of all classes in predicted order, shape (B, C).
        scores: scores of these classes, descending, shape (B, C).
        desired: ranks of the first k positions in preferred order, shape (B, k).
    """
    k = desired.shape[1]
    first, after = (bound[:, :k] for bound in tied_blocks(scores))
    gaps = torch.zeros(desired.shape, dtype=torch.float64, device=ranks.device)
    for rank in range(int(ranks.max()) + 1 if ranks.numel() else 0):
        counts = earlier_counts(ranks, rank)
        in_block = counts.gather(1, after) - counts.gather(1, first)
        gaps += in_block * (desired - rank).abs()
    return gaps / (after - first)
