"""The metric suite as one metric of torchmetrics."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor
from torchmetrics import MetricCollection

from hiercos.metric_table import SUITE, MetricSpec
from hiercos.metrics.base import TreeMetric
from hiercos.metrics.suite import SuiteSums, suite_names, suite_values
from hiercos.taxonomy import Taxonomy


class MetricSuite(TreeMetric):
    """Averages of `suite_values` over all batches, as one metric.

    `compute` returns a dict from name to scalar; inside a MetricCollection the names become its keys.

    Args:
        taxonomy: the tree over the classes.
        specs: rows of the metric table; the default suite by default.

    Example:
        >>> import torch
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
        for name, zeros in SuiteSums.empty(taxonomy, specs)._asdict().items():
            self.add_state(name, zeros, dist_reduce_fx="sum")

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
        sums = SuiteSums.of(values, labels, self.taxonomy, self.specs)
        self.totals, self.counts, self.class_totals, self.class_counts = self._sums().plus(sums)

    def compute(self) -> dict[str, Tensor]:
        """Average of every value, float64 scalars; nan where no sample counts."""
        return self._sums().means(self.taxonomy, self.specs)

    def _sums(self) -> SuiteSums:
        return SuiteSums(self.totals, self.counts, self.class_totals, self.class_counts)


def default_suite(taxonomy: Taxonomy) -> MetricCollection:
    """The metrics of a results table (top-1, severity, AHD, HOPS, fpa, …), correct order, accuracy per level and MRR.

    A collection of one `MetricSuite`, so `update` takes its arguments by position or by name, and more metrics can
    be added to it.
    """
    return MetricCollection(MetricSuite(taxonomy))
