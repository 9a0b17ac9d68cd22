"""The metric suite as one metric of torchmetrics."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torchmetrics import MetricCollection

from hiercos.metric_table import SUITE, MetricSpec
from hiercos.metrics.base import TreeMetric
from hiercos.metrics.functional.ranked import class_sums, mean_of_class_means
from hiercos.metrics.suite import averaged_by_class, suite_names, suite_values
from hiercos.taxonomy import Taxonomy


class MetricSuite(TreeMetric):
    """Averages of `suite_values` over all batches, as one metric.

    `compute` returns a dict from name to scalar; inside a MetricCollection the names become its keys.

    Args:
        taxonomy: the tree over the classes.
        specs: rows of the metric table; the default suite by default.

    Example:
        >>> suite = MetricSuite(Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")]))
        >>> suite.update(torch.tensor([[0.7, 0.2, 0.1], [0.7, 0.1, 0.2]]), torch.tensor([0, 2]))
        >>> suite.compute()["top1"].item(), suite.compute()["mistake_severity"].item()
        (0.5, 2.0)
    """

    plot_upper_bound = None
    totals: Tensor
    counts: Tensor
    class_totals: Tensor
    class_counts: Tensor

    def __init__(self, taxonomy: Taxonomy, specs: Sequence[MetricSpec] = SUITE, **options: Any) -> None:
        super().__init__(taxonomy, **options)
        self.specs, self.names = tuple(specs), suite_names(taxonomy, specs)
        self.by_class = averaged_by_class(specs, taxonomy).tolist()
        shape = (taxonomy.num_classes, sum(self.by_class))
        self.add_state("totals", torch.zeros(len(self.names), dtype=torch.float64), dist_reduce_fx="sum")
        self.add_state("counts", torch.zeros(len(self.names), dtype=torch.int64), dist_reduce_fx="sum")
        self.add_state("class_totals", torch.zeros(shape, dtype=torch.float64), dist_reduce_fx="sum")
        self.add_state("class_counts", torch.zeros(shape, dtype=torch.float64), dist_reduce_fx="sum")

    def update(
        self,
        scores: Tensor,
        labels: Tensor,
        node_scores: Tensor | None = None,
        log_probabilities: Tensor | None = None,
        listed: Tensor | None = None,
    ) -> None:
        """Add a batch; see `suite_values` for the arguments."""
        values = suite_values(
            scores, labels, self.taxonomy, node_scores, log_probabilities, listed=listed, specs=self.specs
        )
        self.ignored += (labels >= self.taxonomy.num_classes).sum()
        self.totals += values.nansum(dim=0)
        self.counts += values.isnan().logical_not().sum(dim=0)
        totals, counts = class_sums(values[:, self.by_class], labels, self.taxonomy.num_classes)
        self.class_totals += totals
        self.class_counts += counts

    def compute(self) -> dict[str, Tensor]:
        """Average of every value, float64 scalars; nan where no sample counts."""
        means = self.totals / self.counts
        means[self.by_class] = mean_of_class_means(self.class_totals, self.class_counts)
        return dict(zip(self.names, means, strict=True))


def default_suite(taxonomy: Taxonomy) -> MetricCollection:
    """The metrics of a results table (top-1, severity, AHD, HOPS, fpa, …), correct order, accuracy per level and MRR.

    A collection of one `MetricSuite`, so `update` takes its arguments by position or by name, and more metrics can
    be added to it.
    """
    return MetricCollection(MetricSuite(taxonomy))
