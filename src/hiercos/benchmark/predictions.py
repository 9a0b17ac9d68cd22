"""Every metric of predictions, a model's or anybody's: for each sample, for each class, for each node of the tree."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from lightning_fabric import Fabric

from hiercos.benchmark.resampling import ClassAverages, FloatArray, sample_means
from hiercos.decisions import RULES
from hiercos.engine import Answers, Samples, StoredModel, all_answers
from hiercos.metric_table import RESULTS, in_shown_order, metric_spec
from hiercos.metrics import needed_depth, suite_names, suite_values
from hiercos.predictions import ScoreSet
from hiercos.taxonomy import IntArray, Taxonomy

BROKEN_DOWN = tuple(  # the metrics of a class or node: of samples that only need ranked classes
    spec.name for spec in in_shown_order(RESULTS) if spec.source == "ranking" and spec.average == "samples"
)
Row = Mapping[str, str | int | float]


@dataclass(frozen=True)
class SampleMetrics:
    """Every value of the metric suite for each sample.

    Attributes:
        names: the K values.
        values: shape (M, K); nan where a sample does not count, or too few classes are ranked to know.
        labels: true classes, shape (M,).
    """

    names: tuple[str, ...]
    values: FloatArray
    labels: IntArray

    @property
    def averages(self) -> ClassAverages:
        """The values whose means are taken over the classes."""
        by_class = [column for column, name in enumerate(self.names) if metric_spec(name).average == "classes"]
        return ClassAverages(self.labels, by_class)

    def columns(self, names: Sequence[str]) -> FloatArray:
        """The values of some names, shape (M, len(names))."""
        return self.values[:, [self.names.index(name) for name in names]]


def sample_metrics(predictions: ScoreSet, taxonomy: Taxonomy) -> SampleMetrics:
    """The suite's values of each sample; those that need more ranked classes than there are, are nan."""
    scores, labels = torch.from_numpy(predictions.scores), torch.from_numpy(predictions.labels)
    values = suite_values(scores, labels, taxonomy).numpy()
    names = suite_names(taxonomy)
    needed = np.array([needed_depth(name, taxonomy) for name in names])
    known = np.broadcast_to(predictions.depth, len(values))[:, None] >= needed  # (M, K)
    values[~known] = np.nan
    return SampleMetrics(names, values, predictions.labels)


def model_metrics(fabric: Fabric, stored: StoredModel, data: Samples) -> SampleMetrics:
    """The suite's values of each sample under a model and its rule.

    Without a rule the answer at each level is the method's own; with one, it is the ancestor of the class ranked first.
    """
    every = all_answers(fabric, stored.model, data, torch.arange(len(data)))
    parts = [_batch_values(stored, answer, data.labels[rows]) for rows, answer in every]
    return SampleMetrics(suite_names(stored.model.taxonomy), np.concatenate(parts), data.labels.numpy())


def _batch_values(stored: StoredModel, answer: Answers, labels: torch.Tensor) -> FloatArray:
    taxonomy = stored.model.taxonomy
    scores = RULES[stored.rule](answer.scores, stored.temperature, taxonomy)
    node_scores = answer.node_scores if stored.rule == "none" else None
    values = suite_values(scores, labels.to(scores.device), taxonomy, node_scores)
    return np.asarray(values.cpu().numpy(), dtype=np.float64)


def class_rows(samples: SampleMetrics, taxonomy: Taxonomy) -> list[Row]:
    """One row for each class that has samples: its path, how many have an answer, and the means over these."""
    values = samples.columns(BROKEN_DOWN)
    return [
        {
            "class": taxonomy.class_names[label],
            "path": taxonomy.path_text(int(taxonomy.leaves[label])),
            **_means(values[rows]),
        }
        for label, rows in _groups(samples.labels)
    ]


def node_rows(samples: SampleMetrics, taxonomy: Taxonomy) -> list[Row]:
    """For each level one row of all its samples, then one for each of its nodes that has samples.

    The accuracy is that of the answer at this level, the other means are over the samples of the classes below.
    """
    paths = taxonomy.path_table(taxonomy.leaves)[samples.labels]  # (M, H)
    values = samples.columns(BROKEN_DOWN)
    rows: list[Row] = []
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
    """Each key that occurs, in rising order, with the rows that have it."""
    order = np.argsort(keys, kind="stable")
    present, starts = np.unique(keys[order], return_index=True)
    yield from zip(present.tolist(), np.split(order, starts[1:]), strict=True)


def _means(values: FloatArray) -> dict[str, int | float]:
    """The means over some samples, and how many of them have an answer: the others count in no figure."""
    means = sample_means(values).tolist()
    answered = int((~np.isnan(values[:, BROKEN_DOWN.index("top1")])).sum())
    return {"samples": answered, **dict(zip(BROKEN_DOWN, means, strict=True))}
