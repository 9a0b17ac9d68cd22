"""Means of the metrics of answers at any depth, as one torchmetrics class."""

from typing import Any

import torch
from torch import Tensor

from hiercos.metrics.averages import TreeMetric
from hiercos.metrics.functional.answers import ANSWER_METRICS, answer_values
from hiercos.taxonomy import Taxonomy


class AnswerMetrics(TreeMetric):
    """Means of `answer_values` over all batches; `compute` returns a dict from name to scalar.

    Args:
        taxonomy: the tree over the classes.

    Example:
        >>> metric = AnswerMetrics(Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")]))
        >>> metric.update(torch.tensor([0, -1]), torch.tensor([2, 3]))
        >>> metric.compute()["precision"].item(), metric.compute()["answered"].item()
        (1.0, 0.5)
    """

    plot_upper_bound = None
    totals: Tensor
    counts: Tensor

    def __init__(self, taxonomy: Taxonomy, **options: Any) -> None:
        super().__init__(taxonomy, **options)
        shape = len(ANSWER_METRICS)
        self.add_state("totals", torch.zeros(shape, dtype=torch.float64), dist_reduce_fx="sum")
        self.add_state("counts", torch.zeros(shape, dtype=torch.int64), dist_reduce_fx="sum")

    def update(self, answers: Tensor, labels: Tensor) -> None:
        """Add answers and label nodes, shape (B,) each; see `answer_values`."""
        values = answer_values(answers, labels, self.taxonomy)
        self.totals += values.nansum(dim=0)
        self.counts += values.isnan().logical_not().sum(dim=0)

    def compute(self) -> dict[str, Tensor]:
        """Mean of every metric, float64 scalars; nan where no sample counts."""
        return dict(zip(ANSWER_METRICS, self.totals / self.counts, strict=True))
