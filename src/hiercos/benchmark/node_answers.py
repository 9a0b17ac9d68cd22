"""Metrics of a model's answers at any depth: means with intervals, operating curves and reliability by level."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from hiercos.benchmark.resampling import bootstrap_interval
from hiercos.decisions import AnswerRequest, Posterior, Rule, rule
from hiercos.engine import LabelledSamples, StoredModel, class_scores
from hiercos.metrics import functional as HF
from hiercos.taxonomy import FloatArray, IntArray, nodes_of_labels

if TYPE_CHECKING:
    from lightning_fabric import Fabric

AnswerRow = dict[str, str | int | float]
POINTS = 41  # thresholds on an operating curve
BINS = 10  # of reliability
SHOWN = ("precision", "containment", "coverage", "hierarchical_f1", "answered")


@dataclass(frozen=True)
class LabelledPosterior:
    """Probabilities of labelled samples.

    Attributes:
        posterior: probabilities of M samples.
        nodes: true node of each sample, shape (M,).
    """

    posterior: Posterior
    nodes: IntArray


def labelled_posterior(
    fabric: Fabric, stored: StoredModel, data: LabelledSamples, request: AnswerRequest | None = None
) -> LabelledPosterior:
    """Probabilities of a model on labelled samples, over the classes that a request allows."""
    posterior = stored.posterior(class_scores(fabric, stored.model, data).numpy())
    nodes = nodes_of_labels(data.labels.numpy(), stored.model.taxonomy)
    return LabelledPosterior((request or AnswerRequest()).restricted(posterior), nodes)


def node_answer_values(tested: LabelledPosterior, decided: Rule) -> FloatArray:
    """`answer_values` of a rule's answers, shape (M, 10)."""
    return next(values_by_rule(tested, [decided]))


def values_by_rule(tested: LabelledPosterior, rules: Sequence[Rule]) -> Iterator[FloatArray]:
    """`answer_values` of the answers of each rule in turn, shape (M, 10).

    Every batch is answered by all rules before the next one, so that its node probabilities are computed once.
    """
    parts = [[decided(batch).nodes for decided in rules] for batch in tested.posterior.batches()]
    labels, taxonomy = torch.from_numpy(tested.nodes), tested.posterior.taxonomy
    for answers in zip(*parts, strict=True):
        values = HF.answer_values(torch.from_numpy(np.concatenate(answers)), labels, taxonomy)
        yield np.asarray(values.numpy(), dtype=np.float64)


def node_answer_rows(tested: LabelledPosterior, decided: Rule, *, seed: int = 0) -> list[AnswerRow]:
    """A row for each metric of a rule's answers: its value, its 95% interval and the number of samples."""
    values = node_answer_values(tested, decided)
    found, counts = bootstrap_interval(values, seed=seed), (~np.isnan(values)).sum(axis=0)
    columns = zip(HF.ANSWER_METRICS, found.mean, found.low, found.high, counts, strict=True)
    return [
        {"metric": name, "value": float(mean), "low": float(low), "high": float(high), "samples": int(count)}
        for name, mean, low, high, count in columns
    ]


def curve_rules() -> Iterator[tuple[str, float, Rule]]:
    """The rules of the operating curves: name, parameter and rule; single points for rules without a threshold."""
    thresholds, rewards = (1 - np.geomspace(1e-4, 1, POINTS)).tolist(), np.geomspace(0.01, 1000, POINTS).tolist()
    yield from (("back-off", value, rule("back-off", confidence=max(value, 1e-9))) for value in thresholds)
    yield from (("darts", value, rule("darts", reward=value)) for value in rewards)
    yield from (("threshold", value, rule("speciesnet", of_class=value, of_node=2.0)) for value in thresholds)
    yield from (("hf-beta", value, rule("hf-beta", beta=value)) for value in np.geomspace(0.05, 5, 11).tolist())
    yield from ((name, float("nan"), rule(name)) for name in ("majority", "plurality", "speciesnet", "default"))


def curve_rows(
    tested: LabelledPosterior, rules: Sequence[tuple[str, float, Rule]] | None = None, *, seed: int = 0
) -> list[AnswerRow]:
    """Operating points of rules: precision among the answered, containment and coverage, each with its 95% band."""
    rows: list[AnswerRow] = []
    columns = [HF.ANSWER_METRICS.index(name) for name in SHOWN]
    chosen = rules or list(curve_rules())
    for (name, parameter, _), values in zip(chosen, values_by_rule(tested, [each[-1] for each in chosen]), strict=True):
        found = bootstrap_interval(values[:, columns], seed=seed)
        row: AnswerRow = {"rule": name, "parameter": parameter}
        for index, metric in enumerate(SHOWN):
            row |= {metric: float(found.mean[index])}
            row |= {f"{metric}_low": float(found.low[index]), f"{metric}_high": float(found.high[index])}
        rows.append(row)
    return rows


def curve_areas(rows: Sequence[AnswerRow]) -> dict[str, float]:
    """Area under containment against coverage by rule, from coverage 0, where it is 1, to 1, for rules with a curve.

    Beyond the last point of a curve its containment is taken as constant.
    """
    areas = {}
    for name in dict.fromkeys(str(row["rule"]) for row in rows):
        points = sorted((float(row["coverage"]), float(row["containment"])) for row in rows if row["rule"] == name)
        if len(points) > 1:
            coverage, containment = (
                np.array(each) for each in zip((0.0, 1.0), *points, (1.0, points[-1][1]), strict=True)
            )
            areas[name] = float(np.trapezoid(containment, coverage))
    return areas


def reliability_rows(tested: LabelledPosterior) -> list[AnswerRow]:
    """Reliability of the likeliest node of each level: for every bin, mean probability and share that is right.

    A class that ends above a level is its own node there. A row "(all)" has the calibration error of the level.
    """
    rows: list[AnswerRow] = []
    for level in range(1, tested.posterior.taxonomy.height + 1):
        confidence, right = _level_answers(tested, level)
        bins = np.minimum((confidence * BINS).astype(int), BINS - 1)
        parts = [(f"{index / BINS:.1f} to {(index + 1) / BINS:.1f}", bins == index) for index in range(BINS)]
        error = sum(abs(float((right[part] - confidence[part]).sum())) for _, part in parts) / len(right)
        rows.append(_bin_row(level, "(all)", confidence, right) | {"calibration_error": error})
        rows += [
            _bin_row(level, name, confidence[part], right[part]) | {"calibration_error": float("nan")}
            for name, part in parts
            if part.any()
        ]
    return rows


def _level_answers(tested: LabelledPosterior, level: int) -> tuple[FloatArray, FloatArray]:
    """Probability of the likeliest node of a level, and 1 if it is right, else 0; shape (M,) each."""
    taxonomy = tested.posterior.taxonomy
    is_class = np.isin(np.arange(taxonomy.num_nodes), taxonomy.leaves)
    nodes = np.flatnonzero((taxonomy.depths == level) | (is_class & (taxonomy.depths < level)))
    block = np.minimum(tested.posterior.nodes[:, nodes], 1.0)
    paths = taxonomy.path_table(tested.nodes)
    true = np.where(taxonomy.depths[tested.nodes] < level, tested.nodes, paths[:, level - 1])
    right: FloatArray = (nodes[block.argmax(axis=1)] == true).astype(np.float64)
    return block.max(axis=1), right


def _bin_row(level: int, name: str, confidence: FloatArray, right: FloatArray) -> AnswerRow:
    return {
        "level": level,
        "confidence": name,
        "samples": len(confidence),
        "mean_confidence": float(confidence.mean()),
        "accuracy": float(right.mean()),
    }
