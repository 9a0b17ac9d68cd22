"""Metrics of the predictions of a model or of any score file: per sample, per class and per node of the tree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from hiercos.benchmark.resampling import ClassAverages, sample_means
from hiercos.decisions import AnswerRequest
from hiercos.engine import LabelledSamples, Scores, StoredModel, batch_scores, ruled_tensors
from hiercos.metric_table import RESULTS, in_shown_order, metric_spec
from hiercos.metrics import needed_depth, suite_names, suite_values
from hiercos.predictions import ScoreSet
from hiercos.taxonomy import FloatArray, IntArray, Taxonomy, nodes_of_labels

if TYPE_CHECKING:
    from lightning_fabric import Fabric

BROKEN_DOWN = tuple(  # metrics per class or node: averages over samples that need only a ranking of the classes
    spec.name for spec in in_shown_order(RESULTS) if spec.source in ("ranking", "list") and spec.average == "samples"
)
MetricRow = Mapping[str, str | int | float]


@dataclass(frozen=True)
class SampleMetrics:
    """Every value of the metric suite for each sample.

    Attributes:
        names: names of the K values.
        values: values, shape (M, K); nan where a sample does not count or too few classes are ranked.
        labels: label of each sample, a class index or C + node, shape (M,).
    """

    names: tuple[str, ...]
    values: FloatArray
    labels: IntArray

    @property
    def averages(self) -> ClassAverages:
        """The values that are averaged over the classes."""
        by_class = [column for column, name in enumerate(self.names) if metric_spec(name).average == "classes"]
        return ClassAverages(self.labels, by_class)

    def columns(self, names: Sequence[str]) -> FloatArray:
        """The values with the given names, shape (M, len(names))."""
        return self.values[:, [self.names.index(name) for name in names]]


def sample_metrics(predictions: ScoreSet, taxonomy: Taxonomy) -> SampleMetrics:
    """The suite's values of each sample; nan where a value needs more ranked classes than were predicted."""
    scores, labels = torch.from_numpy(predictions.scores), torch.from_numpy(predictions.labels)
    values = suite_values(scores, labels, taxonomy).numpy()
    names = suite_names(taxonomy)
    needed = np.array([needed_depth(name, taxonomy) for name in names])
    known = np.broadcast_to(predictions.depth, len(values))[:, None] >= needed  # (M, K)
    values[~known] = np.nan
    return SampleMetrics(names, values, predictions.labels)


def model_metrics(
    fabric: Fabric, stored: StoredModel, data: LabelledSamples, request: AnswerRequest | None = None
) -> SampleMetrics:
    """The suite's values of each sample under a model and its rule.

    Without a rule or class weights, the prediction at each level is the method's own; else it is the ancestor of the
    top-ranked class.

    Args:
        fabric: launched Fabric with the device and precision.
        stored: model with its rule and temperature.
        data: M labelled samples.
        request: request whose restriction to some classes is applied; none by default.
    """
    parts = torch.split(torch.arange(len(data)), data.at_once)
    values = [
        _batch_values(stored, batch_scores(fabric, stored.model, inputs), data.labels[rows], request or AnswerRequest())
        for rows, inputs in zip(parts, data.batches(parts), strict=True)
    ]
    return SampleMetrics(suite_names(stored.model.taxonomy), np.concatenate(values), data.labels.numpy())


def _batch_values(stored: StoredModel, scores: Scores, labels: torch.Tensor, request: AnswerRequest) -> FloatArray:
    taxonomy = stored.model.taxonomy
    posterior = request.restricted(stored.posterior(scores.classes.cpu().numpy()))
    is_own = stored.rule.name == "none" and stored.class_weights is None and not posterior.restricted
    node_scores = scores.nodes.cpu() if is_own else None
    given = ruled_tensors(stored.rule, posterior)
    values = suite_values(labels=labels.cpu(), taxonomy=taxonomy, node_scores=node_scores, **given)
    return np.asarray(values.numpy(), dtype=np.float64)


def class_rows(samples: SampleMetrics, taxonomy: Taxonomy) -> list[MetricRow]:
    """One row for each class that has samples: its path, the number of answered samples, and the means over them."""
    values = samples.columns(BROKEN_DOWN)
    return [
        {
            "class": taxonomy.class_names[label],
            "path": taxonomy.path_text(int(taxonomy.leaves[label])),
            **_means(values[rows]),
        }
        for label, rows in _groups(samples.labels)
        if label < taxonomy.num_classes
    ]


def node_rows(samples: SampleMetrics, taxonomy: Taxonomy) -> list[MetricRow]:
    """For each level, one row for all its samples, then one for each of its nodes that has samples.

    The accuracy is that of the prediction at this level; the other means are over the samples of the classes below.
    """
    labelled, paths = nodes_of_labels(samples.labels, taxonomy), np.full((len(samples.labels), taxonomy.height), -1)
    paths[labelled >= 0] = taxonomy.path_table(labelled[labelled >= 0])  # (M, H)
    values = samples.columns(BROKEN_DOWN)
    rows: list[MetricRow] = []
    for level in range(1, taxonomy.height + 1):
        right = samples.columns([f"accuracy_level_{level}"])
        nodes = paths[:, level - 1]
        below = [(taxonomy.path_text(node), chosen) for node, chosen in _groups(nodes) if node >= 0]
        everyone = np.flatnonzero(nodes >= 0)
        rows += [
            {"level": level, "node": name, "accuracy": float(sample_means(right[chosen])[0]), **_means(values[chosen])}
            for name, chosen in [("(all)", everyone), *below]
            if len(chosen)
        ]
    return rows


def _groups(keys: IntArray) -> Iterator[tuple[int, IntArray]]:
    """Each distinct key in ascending order, with the rows that have it."""
    order = np.argsort(keys, kind="stable")
    present, starts = np.unique(keys[order], return_index=True)
    yield from zip(present.tolist(), np.split(order, starts[1:]), strict=True)


def _means(values: FloatArray) -> dict[str, int | float]:
    """The means over the samples, and the number of them that have an answer; the others count in no mean."""
    means = sample_means(values).tolist()
    answered = int((~np.isnan(values[:, BROKEN_DOWN.index("top1")])).sum())
    return {"samples": answered, **dict(zip(BROKEN_DOWN, means, strict=True))}
