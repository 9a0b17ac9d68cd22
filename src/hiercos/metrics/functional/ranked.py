"""Metrics of the ranked classes (accuracy, distance, order, cost, overlap of the paths), and means of class means."""

import torch
from torch import Tensor

from hiercos.metrics.ranking import Ranking, earlier_counts, ranking_metric, tied_blocks
from hiercos.taxonomy import Taxonomy

__all__ = [
    "average_hierarchical_distance",
    "correct_order",
    "expected_cost",
    "hierarchical_f1",
    "hierarchical_precision",
    "hierarchical_recall",
    "macro_accuracy",
    "mistake_severity",
    "preference_order_distance",
    "top_k_accuracy",
]


def class_sums(
    values: Tensor, labels: Tensor, num_classes: int, weights: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Weighted sum of the values of each class, and the sum of the weights of the samples that count.

    Args:
        values: K values of each sample, nan where it does not count, shape (B, K).
        labels: true class of each sample that counts, shape (B,); the values of any other sample must be nan.
        num_classes: number of classes C.
        weights: weight of each sample, shape (B,); 1 by default.

    Returns:
        Two tensors of shape (C, K), float64; they add up over batches.
    """
    weights = torch.ones(len(values), device=values.device) if weights is None else weights
    counted = values.isnan().logical_not() * weights[:, None].double()
    zeros, classes = counted.new_zeros(num_classes, values.shape[1]), labels.long().clamp(max=num_classes - 1)
    totals = zeros.index_add(0, classes, values.double().nan_to_num() * counted)
    return totals, zeros.index_add(0, classes, counted)


def mean_of_class_means(totals: Tensor, counts: Tensor) -> Tensor:
    """Mean of totals / counts over the classes with a count: two (C, K) -> (K,); nan if no class has one."""
    return (totals / counts).nanmean(dim=0)


@ranking_metric()
def top_k_accuracy(ranking: Ranking, k: int = 1) -> Tensor:
    """Whether the true class is among the first k.

    It ignores the tree: an answer in the right family and one in another kingdom are the same mistake. Report it
    beside a hierarchical metric.

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
    return (ranking.ranks[:, :k] == 0).any(dim=1)


def macro_accuracy(scores: Tensor, labels: Tensor, taxonomy: Taxonomy) -> Tensor:
    """Mean over the classes of their top-1 accuracy; classes without samples are left out.

    For long tails, beside top-1. One sample of a rare class moves it as much as hundreds of a frequent one. A
    bootstrap draw leaves out the classes that it did not draw, so with many classes of one sample the interval is too
    narrow.

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


@ranking_metric()
def average_hierarchical_distance(ranking: Ranking, k: int = 1) -> Tensor:
    """Mean tree distance of the first k classes to the true one, AHD@k [bertinetto2020].

    The order of the first k does not matter, and the mean is above 0 even for an ideal order if k > 1.

    AHD@1 is mistake severity times the error rate. Its best value depends on the tree, so compare on the same tree.

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
    return ranking.distances(k).double().mean(dim=1)


@ranking_metric(depth=lambda **_: 1, mean=True)
def mistake_severity(ranking: Ranking) -> Tensor:
    """Mean tree distance of the mistakes, pooled over all samples [bertinetto2020].

    It says nothing about the number of mistakes, and a shallow class has no mild ones: read it beside top-1, on the
    same tree and samples.

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
    distances = ranking.distances(1)[:, 0].double()
    return distances.masked_fill(distances == 0, torch.nan)


@ranking_metric()
def correct_order(ranking: Ranking, k: int | None = None) -> Tensor:
    """Whether the first k classes are in an order the tree prefers: ẑ = z on the first k positions.

    At k = 1 it is top-1 accuracy. One swap at place k counts like a random order.

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
    return ranking.gaps[:, :k].amax(dim=1) == 0


@ranking_metric(depth=lambda **_: 1)
def expected_cost(ranking: Ranking, costs: Tensor) -> Tensor:
    """Cost of each prediction, costs[label, best class]; the mean estimates the expected cost of the classifier.

    With tree distances as costs it is AHD@1. The cost of a correct answer need not be 0.

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
    classes = ranking.tables.num_classes
    if costs.shape != (classes, classes):
        raise ValueError(f"expected costs of shape ({classes}, {classes}), got {tuple(costs.shape)}")
    rows = costs.isnan().any(dim=1).nonzero()
    if len(rows):
        raise ValueError(f"row {int(rows[0])} of the costs: a cost is NaN")
    return costs.to(ranking.order.device)[ranking.labels, ranking.order[:, 0]].double()


@ranking_metric()
def hierarchical_precision(ranking: Ranking, k: int = 1) -> Tensor:
    """Share of the predicted path (root excluded) that is on the true path, hP; hP@k is the mean of the first k.

    |F(ŷ) ∩ F(y)| / |F(ŷ)| with F(v) the ancestors of v and v itself [silla2011].

    Where all classes have the same depth, hP, hR and hF are equal, a rescaled AHD; a long common trunk flatters every
    method. It is the mean over samples, not the pooled average of some other packages.

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
    return (_common(ranking, k) / _depths(ranking, k)).mean(dim=1)


@ranking_metric()
def hierarchical_recall(ranking: Ranking, k: int = 1) -> Tensor:
    """Share of the true path (root excluded) that is on the predicted path, hR; see `hierarchical_precision`."""
    return (_common(ranking, k) / _true_depths(ranking)).mean(dim=1)


@ranking_metric()
def hierarchical_f1(ranking: Ranking, k: int = 1) -> Tensor:
    """Harmonic mean of hP and hR, hF; hF@k is the mean of the first k; see `hierarchical_precision`."""
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


@ranking_metric()
def preference_order_distance(ranking: Ranking) -> Tensor:
    """Frobenius distance of the sign matrices of the two orders, ‖M₁ − M₂‖_F [dezert2024].

    M(a, b) is 1 if a is preferred to b, −1 if b is preferred, 0 if neither: classes at equal tree
    distance in M₁, classes with equal scores in M₂. A pair in the wrong order adds 8 to the square, and a pair tied
    in only one of the orders adds 2. An order without ties cannot reach 0 if the tree's order has ties.

    Two far classes swapped at the end count like the true class and its sibling at the top; HOPS weighs places.

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
    ranks = ranking.ranks  # pairs are counted rank by rank, against earlier blocks of equal scores: O(C R) a sample
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
