"""Metrics of the first k classes: accuracy, distance, order."""

import torch
from torch import Tensor

from hiercos.metrics.functional.preference import preferred_order
from hiercos.metrics.ranking import Ranking, rankings
from hiercos.taxonomy import Taxonomy


def top_k_accuracy(scores: Tensor, labels: Tensor, taxonomy: Taxonomy, k: int = 1) -> Tensor:
    """Whether the true class is among the first k.

    Args:
        scores: higher is better, shape (B, C).
        labels: true classes, shape (B,).
        taxonomy: the tree over the C classes.
        k: how many classes count, at most C.

    Returns:
        Shape (B,), bool.

    Example:
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> top_k_accuracy(torch.tensor([[0.2, 0.7, 0.1]]), torch.tensor([0]), t, k=2).tolist()
        [True]
    """
    return torch.cat([(part.ranks == 0).any(dim=1) for part in rankings(scores, labels, taxonomy, k)])


def average_hierarchical_distance(scores: Tensor, labels: Tensor, taxonomy: Taxonomy, k: int = 1) -> Tensor:
    """Mean tree distance of the first k classes to the true one, AHD@k [bertinetto2020].

    The order of the first k does not matter, and an ideal order has a mean above 0 for k > 1.

    Args:
        scores: higher is better, shape (B, C).
        labels: true classes, shape (B,).
        taxonomy: the tree over the C classes.
        k: how many classes count, at most C.

    Returns:
        Means of H − depth(LCA), shape (B,), float64, from 0 to H.

    Example:
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> average_hierarchical_distance(torch.tensor([[0.2, 0.7, 0.1]]), torch.tensor([0]), t).tolist()
        [1.0]
    """
    ranked = rankings(scores, labels, taxonomy, k)
    return torch.cat([part.distances(k).double().mean(dim=1) for part in ranked])


def mistake_severity(scores: Tensor, labels: Tensor, taxonomy: Taxonomy) -> Tensor:
    """Mean tree distance of the mistakes, pooled over all samples [bertinetto2020].

    Args:
        scores: higher is better, shape (B, C).
        labels: true classes, shape (B,).
        taxonomy: the tree over the C classes.

    Returns:
        A scalar, float64, from 1 to H; nan where there is no mistake.

    Example:
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> mistake_severity(torch.tensor([[0.2, 0.7, 0.1], [0.1, 0.0, 0.9]]), torch.tensor([0, 2]), t).item()
        1.0
    """
    distances = average_hierarchical_distance(scores, labels, taxonomy)
    return distances.sum() / distances.count_nonzero()


def correct_order(scores: Tensor, labels: Tensor, taxonomy: Taxonomy, k: int | None = None) -> Tensor:
    """Whether the first k classes stand in an order the tree prefers: ẑ = z on the first k positions.

    Args:
        scores: higher is better, shape (B, C).
        labels: true classes, shape (B,).
        taxonomy: the tree over the C classes.
        k: how many positions count; all by default.

    Returns:
        Shape (B,), bool.

    Example:
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> correct_order(torch.tensor([[0.7, 0.1, 0.2]]), torch.tensor([0]), t, k=2).tolist()
        [False]
    """
    ranked = rankings(scores, labels, taxonomy, k)
    return torch.cat([(part.ranks == _desired(part)).all(dim=1) for part in ranked])


def _desired(ranking: Ranking) -> Tensor:
    ranks, _ = preferred_order(ranking.tables, ranking.labels, ranking.ranks.shape[1], "zero")
    return ranks
