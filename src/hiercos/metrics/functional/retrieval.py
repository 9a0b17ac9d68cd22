"""Metrics of information retrieval: position of the true class, relevance of the first classes, average precision."""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from hiercos.metrics.input_checks import check_labels, check_node_scores, check_not_nan
from hiercos.metrics.rank_tables import rank_tables, row_chunks
from hiercos.metrics.ranking import Ranking, ranking_metric
from hiercos.taxonomy import IntArray, Taxonomy, check_tree, hop_distance_block, nodes_of_labels, set_targets

__all__ = ["average_precision", "ndcg", "normalized_rank", "reciprocal_rank", "set_agreement"]


def positions(scores: Tensor, columns: Tensor) -> Tensor:
    """Position, from 1, of one column of each row in descending order: (B, K) and (B,) -> (B,).

    Of equal scores the lower column is first; computed by counting, without a sort.
    """
    own = scores.gather(1, columns[:, None])
    lower = torch.arange(scores.shape[1], device=scores.device) < columns[:, None]
    return 1 + ((scores > own) | ((scores == own) & lower)).sum(dim=1)


@ranking_metric()
def reciprocal_rank(ranking: Ranking) -> Tensor:
    """One over the position of the true class, counted from 1; the mean is the MRR.

    For users who read a list until the right class appears. It ignores every other class, and so the tree.

    Args:
        scores: class scores, higher is better, shape (B, C).
        labels: true class of each sample, shape (B,).
        taxonomy: the tree over the C classes.

    Returns:
        Shape (B,), float64, from 1/C to 1.

    Example:
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> reciprocal_rank(torch.tensor([[0.2, 0.7, 0.1]]), torch.tensor([0]), t).tolist()
        [0.5]
    """
    best = ranking.ranks.min(dim=1)  # only the true class has rank 0
    return (best.values == 0) / (best.indices + 1).double()


def normalized_rank(node_scores: Tensor, labels: Tensor, taxonomy: Taxonomy) -> Tensor:
    """Position of the true node at each level over the level's width, averaged over the levels; the mean is MNR.

    Positions count from 1, and only the levels the label has count.

    For methods with node scores. The best value is not 0, but depends on the widths of the levels.

    Args:
        node_scores: node scores, higher is better, shape (B, N); each level is ranked separately.
        labels: class index, C + node or, for the root, C + N of each sample, shape (B,).
        taxonomy: the tree.

    Returns:
        Shape (B,), float64, above 0 and at most 1; lower is better; nan for the root.
    """
    check_tree(taxonomy, "metrics of levels")
    check_node_scores(node_scores, taxonomy)
    check_labels(labels, len(node_scores), taxonomy, inner=True)
    truth = rank_tables(taxonomy, node_scores.device).paths_of(labels.long()).long()  # (B, H)
    parts = []
    for rows in row_chunks(*node_scores.shape):
        check_not_nan(node_scores[rows].amax(dim=1), rows.start)
        parts.append(_level_shares(node_scores[rows], truth[rows], taxonomy).nanmean(dim=1))
    return torch.cat(parts)


def _level_shares(node_scores: Tensor, truth: Tensor, taxonomy: Taxonomy) -> Tensor:
    """Position of the true node over the level's width, nan at levels it lacks: (B, N), (B, H) -> (B, H)."""
    shares = []
    for level in range(1, taxonomy.height + 1):
        nodes = taxonomy.level(level)
        columns = truth[:, level - 1] - nodes.start
        share = positions(node_scores[:, nodes], columns.clamp(min=0)).double() / (nodes.stop - nodes.start)
        shares.append(share.masked_fill(columns < 0, torch.nan))
    return torch.stack(shares, dim=1)


@ranking_metric()
def ndcg(ranking: Ranking, k: int | None = None) -> Tensor:
    """Normalised discounted cumulative gain of the first k classes, with relevance from the tree.

    DCG = Σ_{j≤k} rel(y, π_j) / log₂(j + 1), divided by the DCG of the ideal order; rel is 1 minus the number
    of edges between the two classes over the longest path between any two.

    For trees whose classes have the same depth, to compare with work on retrieval.

    Note:
        The number of edges is not H − depth(LCA): on trees with leaves at several depths a class can be near in edges
        and far in common ancestors, and the two disagree on the ideal order.

    Args:
        scores: class scores, higher is better, shape (B, C).
        labels: true class of each sample, shape (B,).
        taxonomy: the tree over the C classes.
        k: number of positions that count; all by default.

    Returns:
        Shape (B,), float64, from 0 to 1.
    """
    tables = ranking.tables
    k = tables.num_classes if k is None else min(k, tables.num_classes)
    (longest,) = tables.cached(("longest path",), lambda: (torch.tensor(longest_leaf_path(tables.taxonomy)),))
    discount = torch.log2(torch.arange(2, k + 2, device=ranking.order.device, dtype=torch.float64))
    gain = _relevance(ranking.distances(k), ranking.order[:, :k], ranking, int(longest))
    all_classes = torch.arange(tables.num_classes, device=ranking.order.device).expand(len(ranking.labels), -1)
    ranks = tables.rank_rows(ranking.labels)
    distances = tables.distance_of_rank[ranking.labels].gather(1, ranks.long())
    ideal = _relevance(distances, all_classes, ranking, int(longest)).topk(k, dim=1).values
    return (gain / discount).sum(dim=1) / (ideal / discount).sum(dim=1)


def longest_leaf_path(taxonomy: Taxonomy) -> int:
    """Number of edges between the two classes farthest apart; 0 for a single class.

    In a tree, the class farthest from any class is an end of a longest path; in a graph, all pairs are compared.
    """
    if not taxonomy.is_tree:
        blocks = (hop_distance_block(taxonomy, labels) for labels in _label_chunks(taxonomy))
        return max(int(block.max()) for block in blocks)
    end = int(np.argmax(hop_distance_block(taxonomy, [0])[0]))
    return int(hop_distance_block(taxonomy, [end]).max())


def _label_chunks(taxonomy: Taxonomy) -> Iterator[IntArray]:
    """All classes, in chunks whose distances to all classes fit into memory."""
    for rows in row_chunks(taxonomy.num_classes, taxonomy.num_classes):
        yield np.arange(rows.start, rows.stop)


def _relevance(distances: Tensor, classes: Tensor, ranking: Ranking, longest: int) -> Tensor:
    """1 − edges / longest for each label and class: (B, K) tree distances and classes -> (B, K)."""
    tables = ranking.tables
    common = tables.height - distances.long()
    edges = tables.depths[ranking.labels, None] + tables.depths[classes] - 2 * common
    edges = edges.masked_fill(distances == 0, 0)
    return 1 - edges.double() / max(1, longest)


PAIRED_ROWS = 1024  # samples whose pairs are marked at a time


def average_precision(node_scores: Tensor, labels: Tensor, taxonomy: Taxonomy) -> Tensor:
    """Area under the precision-recall curve of all pairs of a sample and a node, AU(PRC): micro-averaged.

    A pair is right if the node is at or above a label of the sample. Pairs of equal score are one step of the curve,
    and the area is the sum of precision times gain in recall over the steps. Nodes strictly below a label at an inner
    node, and samples without labels, are left out.

    For several labels of a sample. Nodes near the root have most of the right pairs, so knowing the first level well
    scores high; and it does not say which threshold to use.

    Args:
        node_scores: node scores, higher is likelier, comparable between nodes and samples, shape (B, N); those of
            C-HMCNN and node probabilities are coherent: none is above that of a node above it.
        labels: class indices, C + node or, for the root, C + N, shape (B,); or nodes of up to K labels of each sample,
            -1 for none, shape (B, K).
        taxonomy: the tree or graph.

    Returns:
        Scalar from 0 to 1, float64; nan if no pair is right.

    Raises:
        ValueError: for scores of another shape, or NaN.

    Example:
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> scores = torch.tensor([[0.9, 0.3, 0.2, 0.8, 0.1]])  # dog before cat
        >>> round(float(average_precision(scores, torch.tensor([0]), t)), 4)  # 1/2 of 1/1 + 1/2 of 2/4
        0.75
    """
    if node_scores.shape != (len(labels), taxonomy.num_nodes):
        raise ValueError(
            f"expected node scores of shape ({len(labels)}, {taxonomy.num_nodes}), got {tuple(node_scores.shape)}"
        )
    if bool(node_scores.isnan().any()):
        raise ValueError("expected node scores that are numbers, got NaN")
    scores, right = _known_pairs(node_scores, labels, taxonomy)
    scores, order = scores.sort(descending=True)
    hits = right[order].double().cumsum(dim=0)
    last = torch.ones_like(scores, dtype=torch.bool)  # last pair of each step
    last[:-1] = scores[:-1] != scores[1:]
    places = last.nonzero()[:, 0]
    hits = hits[places]
    gains = hits.diff(prepend=hits.new_zeros(1))
    return (gains * hits / (places + 1)).sum() / hits[-1:].sum()


def _known_pairs(node_scores: Tensor, labels: Tensor, taxonomy: Taxonomy) -> tuple[Tensor, Tensor]:
    """Scores of the pairs that count, and whether they are right, shape (P,) each."""
    given = labels.cpu().numpy()
    sets = nodes_of_labels(given, taxonomy)[:, None] if given.ndim == 1 else given  # (B, K)
    scores, right = [node_scores.new_empty(0)], [torch.empty(0, dtype=torch.bool, device=node_scores.device)]
    for start in range(0, len(sets), PAIRED_ROWS):
        rows = slice(start, start + PAIRED_ROWS)
        is_right, is_known = (
            torch.from_numpy(each).to(node_scores.device) for each in set_targets(sets[rows], taxonomy)
        )
        scores.append(node_scores[rows][is_known])
        right.append(is_right[is_known])
    return torch.cat(scores), torch.cat(right)


def set_agreement(chosen: Tensor, sets: Tensor, taxonomy: Taxonomy) -> dict[str, float]:
    """Agreement of chosen sets of nodes with sets of labels, over the pairs of a sample and a node that are known.

    Right are the nodes at or above a label. What a label at an inner node leaves open, and samples without labels, are
    left out.

    Args:
        chosen: mask of the chosen nodes, shape (B, N).
        sets: nodes of up to K labels of each sample, -1 for none, shape (B, K).
        taxonomy: the tree or graph.

    Returns:
        `hf1_micro`, F1 of all pairs; `hf1_macro`, mean F1 of the nodes that are right for some sample; `exact_match`,
        share of samples whose chosen nodes are the right ones. nan where nothing is right.

    Example:
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> chosen = torch.tensor([[True, False, True, False, False]])  # a cat
        >>> set_agreement(chosen, torch.tensor([[2, 4]]), t)  # a cat, and a car
        {'hf1_micro': 0.6666666666666666, 'hf1_macro': 0.5, 'exact_match': 0.0}
    """
    given, exact = sets.cpu().numpy(), [torch.empty(0)]
    hits, wrong, occurs = torch.zeros(3, taxonomy.num_nodes, dtype=torch.float64)
    for start in range(0, len(given), PAIRED_ROWS):
        rows = slice(start, start + PAIRED_ROWS)
        right, known = (torch.from_numpy(each) for each in set_targets(given[rows], taxonomy))
        marked = chosen[rows].cpu() & known
        hits += (marked & right).sum(dim=0)
        wrong += (marked ^ right).sum(dim=0)
        occurs += right.sum(dim=0)
        exact.append((marked == right).all(dim=1)[torch.from_numpy((given[rows] >= 0).any(axis=1))].float())
    f1 = 2 * hits / (2 * hits + wrong)
    return {
        "hf1_micro": float(2 * hits.sum() / (2 * hits.sum() + wrong.sum())),
        "hf1_macro": float(f1[occurs > 0].mean()),
        "exact_match": float(torch.cat(exact).double().mean()),
    }
