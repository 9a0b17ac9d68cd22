"""Hierarchical precision, recall and F1: overlap of the predicted path and the true path."""

import torch
from torch import Tensor

from hiercos.metrics.ranking import Ranking, rankings
from hiercos.taxonomy import Taxonomy


def hierarchical_precision(scores: Tensor, labels: Tensor, taxonomy: Taxonomy, k: int = 1) -> Tensor:
    """Share of the predicted path (root excluded) that is on the true path, hP; hP@k is the mean of the first k.

    |F(ŷ) ∩ F(y)| / |F(ŷ)| with F(v) the ancestors of v and v itself [silla2011].

    Args:
        scores: class scores, higher is better, shape (B, C).
        labels: true class of each sample, shape (B,).
        taxonomy: the tree over the C classes.
        k: number of classes that count, at most C; 1 by default.

    Returns:
        Shape (B,), float64, from 0 to 1.

    Example:
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("car",)])
        >>> hierarchical_precision(torch.tensor([[0.2, 0.7, 0.1]]), torch.tensor([0]), t).tolist()
        [0.5]
    """
    return torch.cat([ranked_precision(part, k) for part in rankings(scores, labels, taxonomy, k)])


def hierarchical_recall(scores: Tensor, labels: Tensor, taxonomy: Taxonomy, k: int = 1) -> Tensor:
    """Share of the true path (root excluded) that is on the predicted path, hR; see `hierarchical_precision`."""
    return torch.cat([ranked_recall(part, k) for part in rankings(scores, labels, taxonomy, k)])


def hierarchical_f1(scores: Tensor, labels: Tensor, taxonomy: Taxonomy, k: int = 1) -> Tensor:
    """Harmonic mean of hP and hR, hF; hF@k is the mean of the first k; see `hierarchical_precision`."""
    return torch.cat([ranked_f1(part, k) for part in rankings(scores, labels, taxonomy, k)])


def ranked_precision(ranking: Ranking, k: int) -> Tensor:
    """Mean hP of the first k classes, shape (B,), float64; see `hierarchical_precision`."""
    return (_common(ranking, k) / _depths(ranking, k)).mean(dim=1)


def ranked_recall(ranking: Ranking, k: int) -> Tensor:
    """Mean hR of the first k classes, shape (B,), float64; see `hierarchical_recall`."""
    return (_common(ranking, k) / _true_depths(ranking)).mean(dim=1)


def ranked_f1(ranking: Ranking, k: int) -> Tensor:
    """Mean hF of the first k classes, shape (B,), float64; see `hierarchical_f1`."""
    return (2 * _common(ranking, k) / (_depths(ranking, k) + _true_depths(ranking))).mean(dim=1)


def _common(ranking: Ranking, k: int) -> Tensor:
    """Number of nodes shared by the paths of the first k classes and the true class, shape (B, k), float64."""
    distances = ranking.distances(k)
    shared = (ranking.tables.height - distances).double()
    return torch.where(distances == 0, _true_depths(ranking), shared)


def _depths(ranking: Ranking, k: int) -> Tensor:
    return ranking.tables.depths[ranking.order[:, :k]].double()  # (B, k)


def _true_depths(ranking: Ranking) -> Tensor:
    return ranking.tables.depths[ranking.labels, None].double()  # (B, 1)
