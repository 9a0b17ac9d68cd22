"""The metric suite: rows of the metric table computed together, from one sort of the scores."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import repeat
from typing import NamedTuple

import torch
from torch import Tensor

from hiercos.metric_table import SUITE, MetricSpec, metric_spec, of_all_levels
from hiercos.metrics.functional.levels import level_accuracy
from hiercos.metrics.functional.probability import check_log_probabilities, label_log_probabilities
from hiercos.metrics.functional.ranked import class_sums, mean_of_class_means
from hiercos.metrics.ranking import Ranking, is_class_label, rankings
from hiercos.taxonomy import Taxonomy


@dataclass(frozen=True)
class SourceBatch:
    """Inputs of the metric functions for a batch.

    Attributes:
        ranking: classes of each sample, best first.
        listed: classes of each sample's short list, best first.
        right: 1 if the prediction of a level is correct, else 0, shape (B, H); nan at levels the label lacks.
        label_logs: natural logarithm of the probability of each sample's label, shape (B,); None if unknown.
        is_class: whether each sample is labelled with a class, shape (B,); the ranking of the others has no meaning.
    """

    ranking: Ranking
    listed: Ranking
    right: Tensor
    label_logs: Tensor | None
    is_class: Tensor

    def values(self, spec: MetricSpec) -> Tensor:
        """Value of a metric for each sample, shape (B,), float64; nan if its input is unknown or it does not count."""
        values = self._all_values(spec)
        return values if spec.inner_labels else values.masked_fill(~self.is_class, torch.nan)

    def _all_values(self, spec: MetricSpec) -> Tensor:
        function = metric_function(spec)
        if spec.source in ("ranking", "list"):
            return function(self.listed if spec.source == "list" else self.ranking, spec.k).double()
        if spec.source == "levels":
            return function(self.right, spec.level).double()
        if self.label_logs is None:
            return self.right.new_full((len(self.right),), torch.nan)
        return function(self.label_logs).double()


def metric_function(spec: MetricSpec) -> Callable[..., Tensor]:
    """Function of a row of the metric table."""
    if callable(spec.function):
        return spec.function
    module, _, name = spec.function.partition(":")
    function: Callable[..., Tensor] = getattr(import_module(f"hiercos.metrics.functional.{module}"), name)
    return function


def suite_names(taxonomy: Taxonomy, specs: Sequence[MetricSpec] = SUITE) -> tuple[str, ...]:
    """Names of the suite's values, in the column order of `suite_values`."""
    return tuple(spec.name for spec in columns_of(specs, taxonomy))


def columns_of(specs: Sequence[MetricSpec], taxonomy: Taxonomy) -> tuple[MetricSpec, ...]:
    """Rows of the metric table that a taxonomy has values for; a graph has none of levels."""
    return of_all_levels(specs, taxonomy.height, is_tree=taxonomy.is_tree)


def needed_depth(name: str, taxonomy: Taxonomy) -> int:
    """Number of classes that must be ranked to compute a value of the suite."""
    return metric_spec(name).depth(taxonomy.num_classes)


def suite_values(
    scores: Tensor,
    labels: Tensor,
    taxonomy: Taxonomy,
    node_scores: Tensor | None = None,
    log_probabilities: Tensor | None = None,
    *,
    listed: Tensor | None = None,
    specs: Sequence[MetricSpec] = SUITE,
) -> Tensor:
    """All values of the suite for each sample; nan where the sample does not count.

    A sample labelled with an inner node counts for the levels it has and for the log loss.

    Args:
        scores: class scores, higher is better, shape (B, C).
        labels: class index, C + node or, for the root, C + N of each sample, shape (B,).
        taxonomy: the tree over the C classes.
        node_scores: node scores (B, N) or level predictions (B, H) for the accuracy at each level and on the
            full path; by default the path of the best class, so that fpa equals top1.
        log_probabilities: natural logarithms of the class probabilities, shape (B, C); by default None, and the log
            loss is nan.
        listed: scores of the order of the short list, shape (B, C), for top-5 accuracy; `scores` by default.
        specs: rows of the metric table; the default suite by default.

    Returns:
        Shape (B, len(suite_names)), float64. Where k exceeds C, k is C.

    Raises:
        ValueError: for shapes that do not fit, a label that is not a node, a NaN, or a log-probability above 0.
    """
    is_class, label_logs = is_class_label(labels, taxonomy), None
    if log_probabilities is not None:
        check_log_probabilities(log_probabilities, len(labels), taxonomy)
        label_logs = label_log_probabilities(log_probabilities, labels, taxonomy)
    columns, parts, start = columns_of(specs, taxonomy), [], 0
    depth, depth_of_list = (
        _depth(columns, sources, taxonomy) for sources in (("ranking", "list", "levels"), ("list",))
    )
    classes = labels.where(is_class, 0)
    lists = repeat(None) if listed is None else rankings(listed, classes, taxonomy, depth_of_list)
    for ranking, short in zip(rankings(scores, classes, taxonomy, depth), lists):  # noqa: B905  # `repeat` has no end
        rows = slice(start, start + len(ranking.labels))
        start = rows.stop
        right = _levels_right(ranking, None if node_scores is None else node_scores[rows], labels[rows], taxonomy)
        logs = None if label_logs is None else label_logs[rows]
        batch = SourceBatch(ranking, ranking if short is None else short, right, logs, is_class[rows])
        parts.append(torch.stack([batch.values(spec) for spec in columns], dim=1))
    return torch.cat(parts)


def _levels_right(ranking: Ranking, node_scores: Tensor | None, labels: Tensor, taxonomy: Taxonomy) -> Tensor:
    """`level_accuracy` of node scores, or of the path of the best class; no columns for a graph."""
    if not taxonomy.is_tree:
        return torch.empty(len(labels), 0, dtype=torch.float64, device=labels.device)
    answers = ranking.tables.paths[ranking.order[:, 0]] if node_scores is None else node_scores
    return level_accuracy(answers, labels, taxonomy)


def _depth(specs: Sequence[MetricSpec], sources: Sequence[str], taxonomy: Taxonomy) -> int:
    """Number of classes to rank for the metrics of some sources."""
    return max((spec.depth(taxonomy.num_classes) for spec in specs if spec.source in sources), default=1)


class SuiteSums(NamedTuple):
    """Sums of the suite's values, which add up over batches.

    Attributes:
        totals: weighted sum of each value over the samples that count, shape (K,).
        counts: number of these samples, or the sum of their weights, shape (K,).
        class_totals: sums by class of the values that are averaged over the classes, shape (C, K').
        class_counts: number of the samples of each class that count, or the sum of their weights, shape (C, K').
    """

    totals: Tensor
    counts: Tensor
    class_totals: Tensor
    class_counts: Tensor

    @classmethod
    def empty(cls, taxonomy: Taxonomy, specs: Sequence[MetricSpec] = SUITE) -> "SuiteSums":
        """Sums of no samples, to which those of batches without weights are added."""
        values = torch.empty(0, len(suite_names(taxonomy, specs)), dtype=torch.float64)
        return cls.of(values, torch.empty(0, dtype=torch.int64), taxonomy, specs)

    @classmethod
    def of(
        cls,
        values: Tensor,
        labels: Tensor,
        taxonomy: Taxonomy,
        specs: Sequence[MetricSpec] = SUITE,
        *,
        weights: Tensor | None = None,
    ) -> "SuiteSums":
        """Sums of a batch of `suite_values`.

        Args:
            values: result of `suite_values`, shape (B, K).
            labels: labels of the samples, as for `suite_values`, shape (B,).
            taxonomy: the tree over the C classes.
            specs: rows of the metric table for which the values were computed.
            weights: weight >= 0 of each sample, shape (B,); 1 by default.
        """
        by_class = averaged_by_class(specs, taxonomy).to(values.device)
        counted = values.isnan().logical_not()
        shares = counted if weights is None else counted * weights[:, None].double()  # (B, K)
        totals = (values.nan_to_num() * shares).sum(dim=0)
        by_classes = class_sums(values[:, by_class], labels, taxonomy.num_classes, weights)
        return cls(totals, shares.sum(dim=0), *by_classes)

    def plus(self, other: "SuiteSums") -> "SuiteSums":
        """Sums of two batches together."""
        return SuiteSums(*(own + added for own, added in zip(self, other, strict=True)))

    def averages(self, taxonomy: Taxonomy, specs: Sequence[MetricSpec] = SUITE) -> Tensor:
        """Average of every value: over the samples that count, or over the classes with such samples.

        Returns:
            Shape (K,), float64; nan where no sample counts.
        """
        means = self.totals / self.counts
        by_class = averaged_by_class(specs, taxonomy).to(means.device)
        means[by_class] = mean_of_class_means(self.class_totals, self.class_counts)
        return means

    def means(self, taxonomy: Taxonomy, specs: Sequence[MetricSpec] = SUITE) -> dict[str, Tensor]:
        """The `averages` by name, as scalars."""
        return dict(zip(suite_names(taxonomy, specs), self.averages(taxonomy, specs), strict=True))


def suite_means(
    values: Tensor,
    labels: Tensor,
    taxonomy: Taxonomy,
    weights: Tensor | None = None,
    *,
    specs: Sequence[MetricSpec] = SUITE,
) -> Tensor:
    """Average of every value of the suite, shape (K,); see `SuiteSums.of` and `SuiteSums.averages`."""
    return SuiteSums.of(values, labels, taxonomy, specs, weights=weights).averages(taxonomy, specs)


def averaged_by_class(specs: Sequence[MetricSpec], taxonomy: Taxonomy) -> Tensor:
    """Mask of the values of a suite that are averaged over the classes, shape (K,), bool."""
    return torch.tensor([spec.average == "classes" for spec in columns_of(specs, taxonomy)], dtype=torch.bool)
