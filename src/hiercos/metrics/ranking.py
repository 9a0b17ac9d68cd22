"""Rankings: the classes of each sample from best to worst score, and their preference ranks for the true class.

Of equal scores the lower class index ranks first, on every device: complete rankings come from a stable sort, and
the first k from a selection with ties broken by class index, without sorting all classes. Metrics that
treat equal scores alike use the blocks of equal scores and the mean gaps within them.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, wraps
from inspect import Signature, signature
from typing import Any, Concatenate, ParamSpec, Protocol, cast

import torch
from torch import Tensor

from hiercos.metrics.input_checks import check_not_nan, check_scores_and_labels
from hiercos.metrics.rank_tables import RankTables, preferred_order, rank_tables, row_chunks
from hiercos.taxonomy import Taxonomy

Options = ParamSpec("Options")


@dataclass(frozen=True)
class Ranking:
    """The first K classes of each sample of a batch, best first."""

    labels: Tensor  # true class of each sample, shape (B,)
    scores: Tensor  # scores of the ranked classes, descending, shape (B, K)
    order: Tensor  # the ranked classes, shape (B, K)
    ranks: Tensor  # preference rank of each ranked class for the true class (0 for itself), shape (B, K), int8 or int16
    tables: RankTables  # rank tables of the taxonomy

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
        k: number of classes to rank, at most C; all by default.

    Yields:
        Rankings of consecutive rows; a single empty one for an empty batch.
    """
    check_scores_and_labels(scores, labels, taxonomy)
    if k is not None and k < 1:
        raise ValueError(f"expected k of at least 1, got {k}")
    depth = taxonomy.num_classes if k is None else min(k, taxonomy.num_classes)
    tables = rank_tables(taxonomy, scores.device)
    labels = labels.long()
    for rows in row_chunks(*scores.shape):
        values, order = best_classes(scores[rows], depth)
        check_not_nan(values[:, 0], rows.start)
        yield Ranking(labels[rows], values, order, tables.ranks(labels[rows], order), tables)


class RankingMetric(Protocol[Options]):
    """Metric function of (scores, labels, taxonomy, options), made by `ranking_metric`."""

    # the function of a `Ranking` and the options, as it was written
    of_ranking: Callable[Concatenate[Ranking, Options], Tensor]
    # the function of scores with one value per sample, also if the metric itself is their mean
    per_sample: Callable[..., Tensor]

    def __call__(
        self, scores: Tensor, labels: Tensor, taxonomy: Taxonomy, *args: Options.args, **kwargs: Options.kwargs
    ) -> Tensor:
        """Values of the samples, shape (B,), or their mean."""
        ...


def _first_k(k: int | None = None, **_: Any) -> int | None:
    return k


def _of_scores(scores: Tensor, labels: Tensor, taxonomy: Taxonomy) -> Tensor:
    """Signature of the metrics of class scores, before their options."""
    raise NotImplementedError


def ranking_metric(
    *, depth: Callable[..., int | None] = _first_k, mean: bool = False
) -> Callable[[Callable[Concatenate[Ranking, Options], Tensor]], RankingMetric[Options]]:
    """Decorator that makes a metric of class scores from a function of a `Ranking`.

    The function gets rankings of consecutive samples and returns one value for each, shape (B,), nan for a sample that
    does not count. The metric takes (scores, labels, taxonomy) in place of the ranking, and the same options.

    Args:
        depth: function of the options that returns the number of classes to rank, None for all; by default the option
            `k`, and all classes without one.
        mean: whether the metric is the mean over the samples that count; by default it is their values.

    Example:
        >>> @ranking_metric()
        ... def reversed_position(ranking: Ranking) -> Tensor:
        ...     return ranking.ranks.shape[1] - ranking.ranks.argmin(dim=1)
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> reversed_position(torch.tensor([[0.2, 0.7, 0.1]]), torch.tensor([0]), t).tolist()
        [2]
    """

    def made(function: Callable[Concatenate[Ranking, Options], Tensor]) -> RankingMetric[Options]:
        own = [*signature(function).parameters.values()][1:]
        options, public = Signature(own), signature(_of_scores)

        def per_sample(scores: Tensor, labels: Tensor, taxonomy: Taxonomy, *args: Any, **kwargs: Any) -> Tensor:
            chosen = options.bind(*args, **kwargs)
            chosen.apply_defaults()
            parts = rankings(scores, labels, taxonomy, depth(**chosen.arguments))
            return torch.cat([function(part, *chosen.args, **chosen.kwargs) for part in parts])

        @wraps(function)
        def metric(*args: Any, **kwargs: Any) -> Tensor:
            values = per_sample(*args, **kwargs)
            return values.nanmean() if mean else values

        metric.__signature__ = public.replace(parameters=[*public.parameters.values(), *own])  # type: ignore[attr-defined]
        made_metric = cast(RankingMetric[Options], metric)
        made_metric.of_ranking, made_metric.per_sample = function, per_sample
        return made_metric

    return made


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
