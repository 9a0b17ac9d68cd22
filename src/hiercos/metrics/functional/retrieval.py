"""Metrics of information retrieval: where the true class stands, and how relevant the first classes are."""

import numpy as np
import torch
from torch import Tensor

from hiercos.metrics.functional.levels import check_node_scores
from hiercos.metrics.ranking import Ranking, check_inputs, check_labels, rankings, refuse_nan
from hiercos.metrics.tables import rank_tables, row_parts
from hiercos.taxonomy import Taxonomy, hop_distance_block


def place(scores: Tensor, columns: Tensor) -> Tensor:
    """The place, from 1, of one column of each row among all: (B, K) and (B,) -> (B,).

    Equal scores place the lower column first, and nothing is sorted.
    """
    mine = scores.gather(1, columns[:, None])
    lower = torch.arange(scores.shape[1], device=scores.device) < columns[:, None]
    return 1 + ((scores > mine) | ((scores == mine) & lower)).sum(dim=1)


def reciprocal_rank(scores: Tensor, labels: Tensor, taxonomy: Taxonomy) -> Tensor:
    """One over the place of the true class, counted from 1; its mean is the MRR.

    Args:
        scores: higher is better, shape (B, C).
        labels: true classes, shape (B,).
        taxonomy: the tree over the C classes.

    Returns:
        Shape (B,), float64, from 1/C to 1.

    Example:
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> reciprocal_rank(torch.tensor([[0.2, 0.7, 0.1]]), torch.tensor([0]), t).tolist()
        [0.5]
    """
    check_inputs(scores, labels, taxonomy)
    places = []
    for rows in row_parts(*scores.shape):
        refuse_nan(scores[rows].amax(dim=1), rows.start)
        places.append(place(scores[rows], labels[rows].long()))
    return 1 / torch.cat(places).double()


def ranked_reciprocal(ranking: Ranking, k: int | None = None) -> Tensor:
    """One over the place of the true class among the first k, all by default, shape (B,), float64; 0 below them."""
    best = ranking.ranks[:, :k].min(dim=1)  # only the true class has rank 0
    return (best.values == 0) / (best.indices + 1).double()


def normalized_rank(node_scores: Tensor, labels: Tensor, taxonomy: Taxonomy) -> Tensor:
    """Place of the true node at each level (from 1) over the level's width, averaged over the levels; its mean is MNR.

    Only the levels the true class has count.

    Args:
        node_scores: higher is better, shape (B, N); each level is ranked by itself.
        labels: true classes, shape (B,).
        taxonomy: the tree.

    Returns:
        Shape (B,), float64, above 0 and at most 1; lower is better.
    """
    check_node_scores(node_scores, taxonomy)
    check_labels(labels, len(node_scores), taxonomy)
    truth = rank_tables(taxonomy, node_scores.device).paths[labels.long()].long()  # (B, H)
    parts = []
    for rows in row_parts(*node_scores.shape):
        refuse_nan(node_scores[rows].amax(dim=1), rows.start)
        parts.append(_level_shares(node_scores[rows], truth[rows], taxonomy).nanmean(dim=1))
    return torch.cat(parts)


def _level_shares(node_scores: Tensor, truth: Tensor, taxonomy: Taxonomy) -> Tensor:
    """Place of the true node at each level over the level's width, nan at levels it lacks: (B, N), (B, H) -> (B, H)."""
    shares = []
    for level in range(1, taxonomy.height + 1):
        nodes = taxonomy.level(level)
        columns = truth[:, level - 1] - nodes.start
        share = place(node_scores[:, nodes], columns.clamp(min=0)).double() / (nodes.stop - nodes.start)
        shares.append(share.masked_fill(columns < 0, torch.nan))
    return torch.stack(shares, dim=1)


def ndcg(scores: Tensor, labels: Tensor, taxonomy: Taxonomy, k: int | None = None) -> Tensor:
    """Normalised discounted cumulative gain of the first k classes, with relevance from the tree.

    DCG = Σ_{j≤k} rel(y, π_j) / log₂(j + 1), over that of the most relevant classes first; rel is 1 minus the number
    of edges between the two classes over the longest path between any two.

    Note:
        Edges are not H − depth(LCA): on trees with leaves at several depths a class can be near by edges and far by
        common ancestor, and the two disagree on the ideal order.

    Args:
        scores: higher is better, shape (B, C).
        labels: true classes, shape (B,).
        taxonomy: the tree over the C classes.
        k: how many positions count; all by default.

    Returns:
        Shape (B,), float64, from 0 to 1.
    """
    longest = longest_leaf_path(taxonomy)
    return torch.cat([_ranked_ndcg(part, longest) for part in rankings(scores, labels, taxonomy, k)])


def longest_leaf_path(taxonomy: Taxonomy) -> int:
    """The number of edges between the two classes farthest apart; 0 for a single class.

    The class farthest from any class is an end of a longest path.
    """
    end = int(np.argmax(hop_distance_block(taxonomy, [0])[0]))
    return int(hop_distance_block(taxonomy, [end]).max())


def _ranked_ndcg(ranking: Ranking, longest: int) -> Tensor:
    k, tables = ranking.order.shape[1], ranking.tables
    discount = torch.log2(torch.arange(2, k + 2, device=ranking.order.device, dtype=torch.float64))
    gain = _relevance(ranking.distances(k), ranking.order, ranking, longest)
    everyone = torch.arange(tables.num_classes, device=ranking.order.device).expand(len(ranking.labels), -1)
    ranks = tables.rank_rows(ranking.labels)
    distances = tables.distance_of_rank[ranking.labels].gather(1, ranks.long())
    ideal = _relevance(distances, everyone, ranking, longest).topk(k, dim=1).values
    return (gain / discount).sum(dim=1) / (ideal / discount).sum(dim=1)


def _relevance(distances: Tensor, classes: Tensor, ranking: Ranking, longest: int) -> Tensor:
    """1 − edges / longest for each label and class: (B, K) tree distances and classes -> (B, K)."""
    tables = ranking.tables
    common = tables.height - distances.long()
    edges = tables.depths[ranking.labels, None] + tables.depths[classes] - 2 * common
    edges = edges.masked_fill(distances == 0, 0)
    return 1 - edges.double() / max(1, longest)
