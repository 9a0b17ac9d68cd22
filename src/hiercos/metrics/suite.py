"""The usual metrics together, from one sort of the scores."""

from typing import Any

import torch
from torch import Tensor
from torchmetrics import MetricCollection

from hiercos.metrics.functional.hops import share_of_worst, top1_share
from hiercos.metrics.functional.levels import level_accuracy
from hiercos.metrics.functional.preference import disorder_of_reverse, preferred_order
from hiercos.metrics.ranking import Ranking, rankings
from hiercos.metrics.sample_mean import TreeMetric
from hiercos.taxonomy import Taxonomy

DISTANCE_DEPTHS = (1, 5, 20)
HOPS_DEPTHS = (5, 20)
ORDER_DEPTHS = (1, 3, 5, 10, 20, 50)


def suite_names(taxonomy: Taxonomy) -> tuple[str, ...]:
    """The names of the suite's values, in the order of `suite_values`."""
    return (
        "top1",
        "mistake_severity",
        *(f"ahd_at_{k}" for k in DISTANCE_DEPTHS),
        "hops",
        *(f"hops_at_{k}" for k in HOPS_DEPTHS),
        *(f"correct_order_at_{k}" for k in ORDER_DEPTHS),
        "correct_order_all",
        "mrr",
        *(f"accuracy_level_{level}" for level in range(1, taxonomy.height + 1)),
        "fpa",
    )


def needed_depth(name: str, taxonomy: Taxonomy) -> int:
    """How many classes of a sample must be ranked to know a value of the suite."""
    if name in ("hops", "correct_order_all", "mrr"):
        return taxonomy.num_classes
    _, at, k = name.partition("_at_")
    return min(int(k), taxonomy.num_classes) if at else 1


def suite_values(scores: Tensor, labels: Tensor, taxonomy: Taxonomy, node_scores: Tensor | None = None) -> Tensor:
    """Every value of the suite for each sample; nan where the sample does not count.

    Args:
        scores: higher is better, shape (B, C).
        labels: true classes, shape (B,).
        taxonomy: the tree over the C classes.
        node_scores: node scores (B, N) or level predictions (B, H) for the accuracy at each level and on the
            full path; without them the answers are the path of the best class, and fpa equals top1.

    Returns:
        Shape (B, len(suite_names)), float64. Where k exceeds C, k is C.
    """
    parts, start = [], 0
    for ranking in rankings(scores, labels, taxonomy):
        rows = slice(start, start + len(ranking.labels))
        start = rows.stop
        answers = ranking.tables.paths[ranking.order[:, 0]] if node_scores is None else node_scores[rows]
        parts.append(torch.cat([_ranked_values(ranking), _level_values(answers, ranking, taxonomy)], dim=1))
    return torch.cat(parts)


def _ranked_values(ranking: Ranking) -> Tensor:
    """The values that need no answer at each level, shape (B, 16)."""
    distances = ranking.distances(max(DISTANCE_DEPTHS)).double()
    position = ranking.ranks.argmin(dim=1)  # only the true class has rank 0
    top1 = top1_share(ranking)
    severity = distances[:, 0].masked_fill(top1 == 1, torch.nan)
    means = [distances[:, :k].mean(dim=1) for k in DISTANCE_DEPTHS]
    return torch.stack([top1, severity, *means, *_order_values(ranking), 1 / (position + 1).double()], dim=1)


def _order_values(ranking: Ranking) -> list[Tensor]:
    """HOPS and its @k, then correct order @k and of all, each (B,), from one pass over the ranks."""
    tables, labels, count = ranking.tables, ranking.labels, ranking.tables.num_classes
    desired, weights = preferred_order(tables, labels, count, "zero")
    gaps = (ranking.ranks - desired).abs()
    head = max(HOPS_DEPTHS)
    partial = (gaps[:, :head] * weights[:, :head]).cumsum(dim=1)
    depths = [min(k, count) for k in HOPS_DEPTHS]
    disorders = [(gaps * weights).sum(dim=1), *(partial[:, k - 1] for k in depths)]
    worsts = [disorder_of_reverse(tables, labels, k, "zero") for k in (count, *depths)]
    wrong = gaps[:, : max(ORDER_DEPTHS)].cummax(dim=1).values
    return [
        *map(share_of_worst, disorders, worsts),
        *((wrong[:, min(k, count) - 1] == 0).double() for k in ORDER_DEPTHS),
        (gaps.amax(dim=1) == 0).double(),
    ]


def _level_values(answers: Tensor, ranking: Ranking, taxonomy: Taxonomy) -> Tensor:
    """Accuracy at each level, nan where the class does not have it, and on the full path, shape (B, H + 1)."""
    levels = level_accuracy(answers, ranking.labels, taxonomy)
    return torch.cat([levels, (levels != 0).all(dim=1, keepdim=True)], dim=1)


class MetricSuite(TreeMetric):
    """Means of `suite_values` over everything counted, as one metric with one reduction between processes.

    `compute` returns a dict from name to scalar; inside a MetricCollection the names become its keys.

    Args:
        taxonomy: the tree over the classes.

    Example:
        >>> suite = MetricSuite(Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")]))
        >>> suite.update(torch.tensor([[0.7, 0.2, 0.1], [0.7, 0.1, 0.2]]), torch.tensor([0, 2]))
        >>> suite.compute()["top1"].item(), suite.compute()["mistake_severity"].item()
        (0.5, 2.0)
    """

    plot_upper_bound = None
    totals: Tensor
    counts: Tensor

    def __init__(self, taxonomy: Taxonomy, **options: Any) -> None:
        super().__init__(taxonomy, **options)
        self.names = suite_names(taxonomy)
        self.add_state("totals", torch.zeros(len(self.names), dtype=torch.float64), dist_reduce_fx="sum")
        self.add_state("counts", torch.zeros(len(self.names), dtype=torch.int64), dist_reduce_fx="sum")

    def update(self, scores: Tensor, labels: Tensor, node_scores: Tensor | None = None) -> None:
        """Count a batch; see `suite_values` for the arguments."""
        values = suite_values(scores, labels, self.taxonomy, node_scores)
        self.totals += values.nansum(dim=0)
        self.counts += values.isnan().logical_not().sum(dim=0)

    def compute(self) -> dict[str, Tensor]:
        """The mean of every value, float64 scalars; nan where nothing counted."""
        return dict(zip(self.names, self.totals / self.counts, strict=True))


def default_suite(taxonomy: Taxonomy) -> MetricCollection:
    """The columns of a results table (top-1, severity, AHD, HOPS, fpa), correct order, accuracy per level and MRR.

    A collection of one `MetricSuite`, so `update` takes its arguments by position or by name, and more metrics can
    join it.
    """
    return MetricCollection(MetricSuite(taxonomy))
