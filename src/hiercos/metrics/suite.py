"""The metric suite: rows of the metric table computed together, from one sort of the scores."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from inspect import signature
from itertools import repeat
from typing import Any, NamedTuple

import torch
from torch import Tensor

from hiercos.metrics.functional.levels import level_answers
from hiercos.metrics.functional.probability import check_log_probabilities
from hiercos.metrics.functional.ranked import class_sums, mean_of_class_means
from hiercos.metrics.input_checks import is_class_label
from hiercos.metrics.rank_tables import rank_tables
from hiercos.metrics.ranking import Ranking, rankings
from hiercos.metrics.table import SUITE, MetricSpec, of_all_levels
from hiercos.taxonomy import Taxonomy


@dataclass(frozen=True)
class SuiteBatch:
    """Inputs of the metric functions for a batch."""

    ranking: Ranking  # classes of each sample, best first
    listed: Ranking  # classes of each sample's short list, best first
    inputs: dict[str, Tensor]  # inputs (B, ...) of the metrics of the other sources; none for a source that is unknown
    labels: Tensor  # label of each sample, shape (B,)
    is_class: Tensor  # whether it is a class, shape (B,); the ranking of the other samples has no meaning

    def columns(self, spec: MetricSpec, taxonomy: Taxonomy) -> Tensor:
        """Values of a metric, shape (B, 1), or (B, H) for one of all levels; float64.

        A value is nan if its input is unknown or the sample does not count.
        """
        values: Tensor
        function = metric_function(spec)
        if spec.source in ("ranking", "list"):
            ranking = self.listed if spec.source == "list" else self.ranking
            values = function.of_ranking(ranking, **taken(function, k=spec.k))
        elif spec.source in self.inputs:
            labels = self.labels if spec.inner_labels else self.ranking.labels
            values = function(self.inputs[spec.source], **taken(function, labels=labels), taxonomy=taxonomy)
        else:
            width = taxonomy.height if spec.per_level or spec.level is not None else 1
            values = torch.full((len(self.labels), width), torch.nan, device=self.labels.device)
        values = values.double() if values.ndim > 1 else values.double()[:, None]
        values = values if spec.level is None else values[:, spec.level - 1, None]
        return values if spec.inner_labels else values.masked_fill(~self.is_class[:, None], torch.nan)


def metric_function(spec: MetricSpec) -> Any:
    """Function of a row of the metric table."""
    if callable(spec.function):
        return spec.function
    module, _, name = spec.function.partition(":")
    return getattr(import_module(f"hiercos.metrics.functional.{module}"), name)


def taken(function: Callable[..., Any], **arguments: Any) -> dict[str, Any]:
    """The arguments that a function has parameters for."""
    return {name: value for name, value in arguments.items() if name in signature(function).parameters}


def suite_names(taxonomy: Taxonomy, specs: Sequence[MetricSpec] = SUITE) -> tuple[str, ...]:
    """Names of the suite's values, in the column order of `suite_values`."""
    return tuple(spec.name for spec in columns_of(specs, taxonomy))


def columns_of(specs: Sequence[MetricSpec], taxonomy: Taxonomy) -> tuple[MetricSpec, ...]:
    """Rows of the metric table that a taxonomy has values for; a graph has none of levels."""
    return of_all_levels(specs, taxonomy.height, is_tree=taxonomy.is_tree)


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
    """
    is_class = is_class_label(labels, taxonomy)
    classes = labels.where(is_class, 0)
    kept = [spec for spec in specs if taxonomy.is_tree or spec.source != "levels"]
    if log_probabilities is not None:
        check_log_probabilities(log_probabilities, len(labels), taxonomy)
    answers = level_answers(node_scores, taxonomy) if node_scores is not None and taxonomy.is_tree else None
    known = {"nodes": node_scores, "levels": answers, "probabilities": log_probabilities}
    depth, depth_of_list = (_depth(kept, sources, taxonomy) for sources in (("ranking", "list", "levels"), ("list",)))
    lists = repeat(None) if listed is None else rankings(listed, classes, taxonomy, depth_of_list)
    parts, start = [], 0
    for ranking, short in zip(rankings(scores, classes, taxonomy, depth), lists):  # noqa: B905  # `repeat` has no end
        rows = slice(start, start + len(ranking.labels))
        start = rows.stop
        inputs = {source: values[rows] for source, values in known.items() if values is not None}
        if answers is None and taxonomy.is_tree:
            inputs["levels"] = ranking.tables.paths[ranking.order[:, 0]]
        batch = SuiteBatch(ranking, ranking if short is None else short, inputs, labels[rows], is_class[rows])
        parts.append(torch.cat([batch.columns(spec, taxonomy) for spec in kept], dim=1))
    return torch.cat(parts)


def listed_values(classes: Tensor, scores: Tensor, labels: Tensor, taxonomy: Taxonomy, losses: Tensor) -> Tensor:
    """The values of the default suite that the first K classes of each sample tell; nan for the others.

    Args:
        classes: classes of each sample, best first, shape (B, K), -1 where there are fewer.
        scores: their scores, shape (B, K).
        labels: as for `suite_values`, shape (B,).
        taxonomy: the tree over the C classes.
        losses: log loss of each sample, shape (B,).

    Returns:
        Shape (B, len(suite_names)), float64.
    """
    is_class, tables = is_class_label(labels, taxonomy), rank_tables(taxonomy, labels.device)
    known, count = labels.where(is_class, 0), int((classes >= 0).sum(dim=1).amin()) if len(classes) else 0
    ranking = Ranking(known, scores, classes, tables.ranks(known, classes), tables)
    batch = SuiteBatch(ranking, ranking, {"levels": tables.paths[classes[:, 0]]}, labels, is_class)
    parts = []
    for spec in SUITE:
        if spec.source == "probabilities":
            parts.append(losses[:, None])
        elif spec.depth(taxonomy.num_classes) <= count:
            parts.append(batch.columns(spec, taxonomy))
        else:
            parts.append(torch.full((len(labels), 1), torch.nan, dtype=torch.float64))
    return torch.cat(parts, dim=1)


def _depth(specs: Sequence[MetricSpec], sources: Sequence[str], taxonomy: Taxonomy) -> int:
    """Number of classes to rank for the metrics of some sources."""
    return max((spec.depth(taxonomy.num_classes) for spec in specs if spec.source in sources), default=1)


class SuiteSums(NamedTuple):
    """Sums of the suite's values, which add up over batches."""

    totals: Tensor  # weighted sum of each value over the samples that count, shape (K,)
    counts: Tensor  # number of these samples, or the sum of their weights, shape (K,)
    class_totals: Tensor  # sums by class of the values that are averaged over the classes, shape (C, K')
    class_counts: Tensor  # number of the samples of each class that count, or the sum of their weights, shape (C, K')

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
