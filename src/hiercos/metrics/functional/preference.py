"""Distance of the predicted order to the order the tree prefers, over all pairs of classes."""

import torch
from torch import Tensor

from hiercos.metrics.ranking import Ranking, earlier_counts, rankings, tied_blocks
from hiercos.taxonomy import Taxonomy


def preference_order_distance(scores: Tensor, labels: Tensor, taxonomy: Taxonomy) -> Tensor:
    """Frobenius distance of the sign matrices of the two orders, ‖M₁ − M₂‖_F [dezert2024].

    M(a, b) is 1 if a is preferred to b, −1 if b is preferred, 0 if neither: classes at equal tree
    distance in M₁, classes with equal scores in M₂. A pair in the wrong order adds 8 to the square, and a pair tied
    in only one of the orders adds 2. An order without ties cannot reach 0 if the tree's order has ties.

    Args:
        scores: class scores, higher is better, shape (B, C).
        labels: true class of each sample, shape (B,).
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
