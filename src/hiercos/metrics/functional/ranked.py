"""Metrics of the first k classes: accuracy, distance, order, cost."""

import torch
from torch import Tensor

from hiercos.metrics.averages import class_sums, mean_of_class_means
from hiercos.metrics.ranking import Ranking, rankings
from hiercos.taxonomy import Taxonomy


def top_k_accuracy(scores: Tensor, labels: Tensor, taxonomy: Taxonomy, k: int = 1) -> Tensor:
    """Whether the true class is among the first k.

    Args:
        scores: class scores, higher is better, shape (B, C).
        labels: true class of each sample, shape (B,).
        taxonomy: the tree over the C classes.
        k: number of classes that count, at most C; 1 by default.

    Returns:
        Shape (B,), bool.

    Example:
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> top_k_accuracy(torch.tensor([[0.2, 0.7, 0.1]]), torch.tensor([0]), t, k=2).tolist()
        [True]
    """
    return torch.cat([ranked_hits(part, k) == 1 for part in rankings(scores, labels, taxonomy, k)])


def ranked_hits(ranking: Ranking, k: int) -> Tensor:
    """1 if the true class is among the first k, else 0, shape (B,), float64; see `top_k_accuracy`."""
    return (ranking.ranks[:, :k] == 0).any(dim=1).double()


def macro_accuracy(scores: Tensor, labels: Tensor, taxonomy: Taxonomy) -> Tensor:
    """Mean over the classes of their top-1 accuracy; classes without samples are left out.

    Args:
        scores: class scores, higher is better, shape (B, C).
        labels: true class of each sample, shape (B,).
        taxonomy: the tree over the C classes.

    Returns:
        A scalar, float64, from 0 to 1; nan without samples.

    Example:
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> scores = torch.tensor([[0.7, 0.2, 0.1], [0.7, 0.2, 0.1], [0.7, 0.2, 0.1]])
        >>> macro_accuracy(scores, torch.tensor([0, 0, 1]), t).item()  # cat 2 of 2, dog 0 of 1
        0.5
    """
    hits = top_k_accuracy(scores, labels, taxonomy).double()
    return mean_of_class_means(*class_sums(hits[:, None], labels, taxonomy.num_classes))[0]


def average_hierarchical_distance(scores: Tensor, labels: Tensor, taxonomy: Taxonomy, k: int = 1) -> Tensor:
    """Mean tree distance of the first k classes to the true one, AHD@k [bertinetto2020].

    The order of the first k does not matter, and the mean is above 0 even for an ideal order if k > 1.

    Args:
        scores: class scores, higher is better, shape (B, C).
        labels: true class of each sample, shape (B,).
        taxonomy: the tree over the C classes.
        k: number of classes that count, at most C; 1 by default.

    Returns:
        Means of H − depth(LCA), shape (B,), float64, from 0 to H.

    Example:
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> average_hierarchical_distance(torch.tensor([[0.2, 0.7, 0.1]]), torch.tensor([0]), t).tolist()
        [1.0]
    """
    ranked = rankings(scores, labels, taxonomy, k)
    return torch.cat([ranked_distance(part, k) for part in ranked])


def ranked_distance(ranking: Ranking, k: int) -> Tensor:
    """Mean tree distance of the first k classes, shape (B,), float64; see `average_hierarchical_distance`."""
    return ranking.distances(k).double().mean(dim=1)


def mistake_severity(scores: Tensor, labels: Tensor, taxonomy: Taxonomy) -> Tensor:
    """Mean tree distance of the mistakes, pooled over all samples [bertinetto2020].

    Args:
        scores: class scores, higher is better, shape (B, C).
        labels: true class of each sample, shape (B,).
        taxonomy: the tree over the C classes.

    Returns:
        A scalar, float64, from 1 to H; nan if there is no mistake.

    Example:
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> mistake_severity(torch.tensor([[0.2, 0.7, 0.1], [0.1, 0.0, 0.9]]), torch.tensor([0, 2]), t).item()
        1.0
    """
    distances = average_hierarchical_distance(scores, labels, taxonomy)
    return distances.sum() / distances.count_nonzero()


def ranked_severity(ranking: Ranking, k: int = 1) -> Tensor:
    """Mean tree distance of the wrong classes among the first k, shape (B,), float64; nan if there is none."""
    distances = ranking.distances(k).double()
    return distances.masked_fill(distances == 0, torch.nan).nanmean(dim=1)


def correct_order(scores: Tensor, labels: Tensor, taxonomy: Taxonomy, k: int | None = None) -> Tensor:
    """Whether the first k classes are in an order the tree prefers: ẑ = z on the first k positions.

    Args:
        scores: class scores, higher is better, shape (B, C).
        labels: true class of each sample, shape (B,).
        taxonomy: the tree over the C classes.
        k: number of positions that count; all by default.

    Returns:
        Shape (B,), bool.

    Example:
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> correct_order(torch.tensor([[0.7, 0.1, 0.2]]), torch.tensor([0]), t, k=2).tolist()
        [False]
    """
    ranked = rankings(scores, labels, taxonomy, k)
    return torch.cat([ranked_order(part, k) == 1 for part in ranked])


def ranked_order(ranking: Ranking, k: int | None = None) -> Tensor:
    """1 if the first k classes are in an order the tree prefers, else 0, shape (B,); see `correct_order`."""
    return (ranking.gaps[:, :k].amax(dim=1) == 0).double()


def expected_cost(scores: Tensor, labels: Tensor, taxonomy: Taxonomy, costs: Tensor) -> Tensor:
    """Cost of each prediction, costs[label, best class]; the mean estimates the expected cost of the classifier.

    Args:
        scores: class scores, higher is better, shape (B, C).
        labels: true class of each sample, shape (B,).
        taxonomy: the tree over the C classes.
        costs: cost of predicting a class (column) for each true class (row), shape (C, C).

    Returns:
        Shape (B,), float64.

    Raises:
        ValueError: for costs of another shape, or for a NaN cost, naming its row.

    Example:
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> costs = torch.tensor([[0.0, 1.0, 9.0], [1.0, 0.0, 9.0], [5.0, 5.0, 0.0]])
        >>> expected_cost(torch.tensor([[0.2, 0.1, 0.7]]), torch.tensor([0]), t, costs).tolist()
        [9.0]
    """
    classes = taxonomy.num_classes
    if costs.shape != (classes, classes):
        raise ValueError(f"expected costs of shape ({classes}, {classes}), got {tuple(costs.shape)}")
    rows = costs.isnan().any(dim=1).nonzero()
    if len(rows):
        raise ValueError(f"row {int(rows[0])} of the costs: a cost is NaN")
    ranked = rankings(scores, labels, taxonomy, 1)
    return torch.cat([costs.to(scores.device)[part.labels, part.order[:, 0]].double() for part in ranked])
