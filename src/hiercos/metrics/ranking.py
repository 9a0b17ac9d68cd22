"""Rankings: the classes of each sample from best to worst score, and their preference ranks for the true class.

Of equal scores the lower class index ranks first, on every device: complete rankings come from a stable sort, and
the first k from a selection with ties broken by class index, without sorting all classes. Metrics that
treat equal scores alike use the blocks of equal scores and the mean gaps within them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from hiercos.metrics.tables import RankTables, preferred_order, rank_tables, row_chunks
from hiercos.taxonomy import Taxonomy, check_is_taxonomy


@dataclass(frozen=True)
class Ranking:
    """The first K classes of each sample of a batch, best first.

    Attributes:
        labels: true class of each sample, shape (B,).
        scores: scores of the ranked classes, descending, shape (B, K).
        order: the ranked classes, shape (B, K).
        ranks: preference rank of each ranked class for the true class (0 for itself), shape (B, K), int8 or int16.
        tables: rank tables of the taxonomy.
    """

    labels: Tensor
    scores: Tensor
    order: Tensor
    ranks: Tensor
    tables: RankTables

    @cached_property
    def preferred(self) -> tuple[Tensor, Tensor]:
        """Ranks z and weights η of the first K positions in the preferred order, two (B, K)."""
        return preferred_order(self.tables, self.labels, self.ranks.shape[1], "zero")

    @cached_property
    def gaps(self) -> Tensor:
        """Rank differences |z − ẑ| of the first K positions, shape (B, K); all 0 for an order the tree prefers."""
        return (self.ranks - self.preferred[0]).abs()

    def distances(self, k: int) -> Tensor:
        """Tree distances of the first k classes to the true one, shape (B, k)."""
        return self.tables.distance_of_rank[self.labels].gather(1, self.ranks[:, :k].long())


def rankings(scores: Tensor, labels: Tensor, taxonomy: Taxonomy, k: int | None = None) -> Iterator[Ranking]:
    """Rank the classes of each sample, in chunks of rows to bound the memory.

    Args:
        scores: class scores, higher is better, shape (B, C).
        labels: true class of each sample, shape (B,).
        taxonomy: the tree over the C classes.
        k: number of classes to rank, at most C; all by default.

    Yields:
        Rankings of consecutive rows; a single empty one for an empty batch.

    Raises:
        ValueError: for shapes that do not fit, a label that is not a class, k below 1, or a NaN score, naming its row.
    """
    check_scores_and_labels(scores, labels, taxonomy)
    depth = ranking_depth(k, taxonomy)
    tables = rank_tables(taxonomy, scores.device)
    labels = labels.long()
    for rows in row_chunks(*scores.shape):
        values, order = best_classes(scores[rows], depth)
        check_not_nan(values[:, 0], rows.start)
        yield Ranking(labels[rows], values, order, tables.ranks(labels[rows], order), tables)


def ranking_depth(k: int | None, taxonomy: Taxonomy) -> int:
    """Number of classes to rank: k, at most C; C for None."""
    check_is_taxonomy(taxonomy)
    if k is not None and k < 1:
        raise ValueError(f"expected k of at least 1, got {k}")
    return taxonomy.num_classes if k is None else min(k, taxonomy.num_classes)


def best_classes(scores: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Best k scores of each row and their classes, best first, ties by class index: two (B, k)."""
    if 4 * k > scores.shape[1]:
        ordered = torch.sort(scores, dim=1, descending=True, stable=True)
        return ordered.values[:, :k], ordered.indices[:, :k]
    top = torch.topk(scores, k + 1, dim=1)
    values, order = top.values[:, :k], top.indices[:, :k].contiguous()
    tied = (top.values[:, 1:] == values).any(dim=1).nonzero().squeeze(1)
    if len(tied):
        order[tied] = _best_with_ties(scores[tied], values[tied, -1:], k)
    return values, order


def _best_with_ties(scores: Tensor, threshold: Tensor, k: int) -> Tensor:
    """Best k classes of rows with ties: all above the threshold, then the lowest indices equal to it, shape (B, k)."""
    above, equal = scores > threshold, scores == threshold
    room = k - above.sum(dim=1, keepdim=True)
    chosen = above | (equal & (equal.cumsum(dim=1) <= room))
    classes = chosen.nonzero()[:, 1].view(-1, k)  # by index
    best_first = scores.gather(1, classes).sort(dim=1, descending=True, stable=True).indices
    return classes.gather(1, best_first)


def check_scores_and_labels(scores: Tensor, labels: Tensor, taxonomy: Taxonomy) -> None:
    """Raise a ValueError unless scores and labels fit each other and the taxonomy; a TypeError for other types."""
    check_is_taxonomy(taxonomy)
    check_tensor("scores", scores)
    if scores.ndim != 2 or scores.shape[1] != taxonomy.num_classes:
        raise ValueError(
            f"expected scores of shape (B, {taxonomy.num_classes}), one column per class, got {tuple(scores.shape)}; "
            "a class that was not scored has a column of -inf"
        )
    check_labels(labels, len(scores), taxonomy)


def check_tensor(name: str, values: object) -> None:
    """Raise a TypeError for values that are not a torch tensor, such as a NumPy array or a list.

    Example:
        >>> check_tensor("labels", [0, 1])
        Traceback (most recent call last):
        TypeError: labels: expected a torch tensor, got list; torch.as_tensor(labels) turns numbers into one
    """
    if not isinstance(values, Tensor):
        kind = type(values).__name__
        raise TypeError(f"{name}: expected a torch tensor, got {kind}; torch.as_tensor({name}) turns numbers into one")


def check_labels(labels: Tensor, count: int, taxonomy: Taxonomy, *, inner: bool = False) -> None:
    """Raise a ValueError unless there is one label per sample: a class or, if `inner`, any node or the root."""
    check_tensor("labels", labels)
    if labels.shape != (count,):
        raise ValueError(f"expected {count} labels, one per row of scores, got shape {tuple(labels.shape)}")
    if labels.is_floating_point() or labels.is_complex():
        raise ValueError(f"expected labels of an integer type, got {labels.dtype}")
    end = taxonomy.num_classes + (taxonomy.num_nodes + 1 if inner else 0)
    wrong = ((labels < 0) | (labels >= end)).nonzero()
    if len(wrong):
        row = int(wrong[0])
        raise ValueError(_label_fault(row, int(labels[row]), taxonomy, inner=inner))


def _label_fault(row: int, label: int, taxonomy: Taxonomy, *, inner: bool) -> str:
    classes, nodes = taxonomy.num_classes, taxonomy.num_nodes
    if inner:
        return f"row {row}: expected a class from 0 to {classes - 1} or a node up to {classes + nodes}, got {label}"
    if classes <= label < classes + nodes:
        name = taxonomy.path_text(label - classes)
        return f"row {row}: label {label} is the node {name!r}; this metric needs a class, 0 to {classes - 1}"
    return f"row {row}: expected a class from 0 to {classes - 1}, got label {label}"


def is_class_label(labels: Tensor, taxonomy: Taxonomy) -> Tensor:
    """Mask of the samples labelled with a class, shape (B,); metrics of a ranking leave out the others.

    Args:
        labels: class indices, C + node, or C + N for the root, shape (B,).
        taxonomy: the tree over the C classes.

    Raises:
        ValueError: for any other label.
    """
    check_labels(labels, len(labels), taxonomy, inner=True)
    return labels < taxonomy.num_classes


def check_not_nan(best: Tensor, start: int = 0) -> None:
    """Raise a ValueError if the best score of a row is NaN; sorting and selection put NaN first."""
    rows = best.isnan().nonzero()
    if len(rows):
        raise ValueError(f"row {start + int(rows[0])}: a score is NaN")


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
