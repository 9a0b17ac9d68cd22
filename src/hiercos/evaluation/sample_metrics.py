"""Metrics of predictions: per sample, class and node, of answers at any depth, operating curves and reliability."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from hiercos.decisions import ROWS_AT_ONCE, AnswerRequest, Posterior, Rule, SearchedPosterior, check_order, rule
from hiercos.encoders import LabelledSamples
from hiercos.evaluation.reliability import BINS, level_answers, reliability_bins
from hiercos.evaluation.resampling import ClassAverages, bootstrap_interval, sample_means
from hiercos.evaluation.score_tables import ScoreSet
from hiercos.metrics import RESULTS, in_shown_order, metric_spec, suite_names, suite_values
from hiercos.metrics import functional as HF
from hiercos.model import Classifier, Scores, ruled_tensors, score_batches, searched_values
from hiercos.taxonomy import FloatArray, IntArray, Taxonomy, nodes_of_labels

if TYPE_CHECKING:
    from hiercos.encoders import DeviceContext

BROKEN_DOWN = tuple(  # metrics per class or node: averages over samples that need only a ranking of the classes
    spec.name for spec in in_shown_order(RESULTS) if spec.source in ("ranking", "list") and spec.average == "samples"
)
MetricRow = Mapping[str, str | int | float]
AnswerRow = dict[str, str | int | float]
POINTS = 41  # thresholds on an operating curve
SHOWN = ("precision", "containment", "coverage", "hierarchical_f1", "answered")


@dataclass(frozen=True)
class SampleMetrics:
    """Every value of the metric suite for each sample."""

    names: tuple[str, ...]  # names of the K values
    values: FloatArray  # values, shape (M, K); nan where a sample does not count or too few classes are ranked
    labels: IntArray  # label of each sample, a class index or C + node, shape (M,)

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
    needed = np.array([metric_spec(name).depth(taxonomy.num_classes) for name in names])
    known = np.broadcast_to(predictions.depth, len(values))[:, None] >= needed  # (M, K)
    values[~known] = np.nan
    return SampleMetrics(names, values, predictions.labels)


def model_metrics(
    context: DeviceContext, stored: Classifier, data: LabelledSamples, request: AnswerRequest | None = None
) -> SampleMetrics:
    """The suite's values of each sample under a model and its rule.

    Without a rule or class weights, the prediction at each level is the method's own; else it is the ancestor of the
    top-ranked class.

    Args:
        context: device and precision.
        stored: model with its rule and temperature.
        data: M labelled samples.
        request: request whose restriction to some classes is applied; none by default.
    """
    names = suite_names(stored.model.taxonomy)
    if stored.model.searches:
        return SampleMetrics(names, _searched_values(context, stored, data, request), data.labels.numpy())
    parts = torch.split(torch.arange(len(data)), data.at_once)
    values = [
        _batch_values(stored, scores, data.labels[rows], request or AnswerRequest())
        for rows, scores in zip(parts, score_batches(context, stored.model, data, parts=parts, nodes=True), strict=True)
    ]
    return SampleMetrics(names, np.concatenate(values), data.labels.numpy())


def _searched_values(
    context: DeviceContext, stored: Classifier, data: LabelledSamples, request: AnswerRequest | None
) -> FloatArray:
    """See `searched_values`; a rule that orders the classes otherwise is refused."""
    posterior = labelled_posterior(context, stored, data, request).posterior
    check_order(stored.rule, posterior.taxonomy)
    assert isinstance(posterior, SearchedPosterior)
    values: FloatArray = searched_values(posterior, data.labels.cpu()).numpy()
    return values


def _batch_values(stored: Classifier, scores: Scores, labels: torch.Tensor, request: AnswerRequest) -> FloatArray:
    posterior = request.restricted(stored.calibrated(scores.of_classes()))
    is_own = stored.rule.name == "none" and stored.class_weights is None and not posterior.restricted
    own = scores.nodes.cpu() if is_own and scores.nodes is not None else None
    return _ruled_values(stored.rule, posterior, labels.cpu(), own)


def _ruled_values(
    chosen: Rule, posterior: Posterior, labels: torch.Tensor, node_scores: torch.Tensor | None = None
) -> FloatArray:
    """The suite's values of samples under a rule, shape (M, K).

    Without the method's own scores of nodes, the prediction at each level is the ancestor of the top-ranked class.
    """
    given = ruled_tensors(chosen, posterior)
    values = suite_values(labels=labels, taxonomy=posterior.taxonomy, node_scores=node_scores, **given)
    return np.asarray(values.numpy(), dtype=np.float64)


def posterior_metrics(posterior: Posterior, labels: IntArray, chosen: Rule) -> SampleMetrics:
    """The suite's values of each sample under a rule, from probabilities.

    Args:
        posterior: probabilities of M samples, at least one.
        labels: label of each sample, a class index or C + node, shape (M,).
        chosen: rule that orders the classes; the prediction at each level is the ancestor of the first one.
    """
    parts = torch.split(torch.tensor(labels), ROWS_AT_ONCE)
    batches = zip(posterior.batches(ROWS_AT_ONCE), parts, strict=True)
    values = np.concatenate([_ruled_values(chosen, batch, part) for batch, part in batches])
    return SampleMetrics(suite_names(posterior.taxonomy), values, labels)


def class_rows(samples: SampleMetrics, taxonomy: Taxonomy) -> list[MetricRow]:
    """One row for each class that has samples: its path, the number of answered samples, and the means over them."""
    values = samples.columns(BROKEN_DOWN)
    return [
        {
            "class": taxonomy.class_names[label],
            "path": taxonomy.path_text(int(taxonomy.leaves[label])),
            "samples": _answered(values[rows]),
            **_means(values[rows]),
        }
        for label, rows in _groups(samples.labels)
        if label < taxonomy.num_classes
    ]


def node_rows(samples: SampleMetrics, taxonomy: Taxonomy) -> list[MetricRow]:
    """For each level, one row for all its samples, then one for each of its nodes that has samples.

    The accuracy is that of the prediction at this level, over the answered samples whose label has the level, `samples`
    of them; the other means are over those labelled with a class, `with_class` of them.
    """
    paths = taxonomy.path_table(nodes_of_labels(samples.labels, taxonomy))  # (M, H)
    values = samples.columns(BROKEN_DOWN)
    rows: list[MetricRow] = []
    for level in range(1, taxonomy.height + 1):
        right = samples.columns([f"accuracy_level_{level}"])
        nodes = paths[:, level - 1]
        below = [(taxonomy.path_text(node), chosen) for node, chosen in _groups(nodes) if node >= 0]
        everyone = np.flatnonzero(nodes >= 0)
        rows += [
            {
                "level": level,
                "node": name,
                "accuracy": float(sample_means(right[chosen])[0]),
                "samples": int((~np.isnan(right[chosen])).sum()),
                "with_class": _answered(values[chosen]),
                **_means(values[chosen]),
            }
            for name, chosen in [("(all)", everyone), *below]
            if len(chosen)
        ]
    return rows


def _groups(keys: IntArray) -> Iterator[tuple[int, IntArray]]:
    """Each distinct key in ascending order, with the rows that have it."""
    order = np.argsort(keys, kind="stable")
    present, starts = np.unique(keys[order], return_index=True)
    yield from zip(present.tolist(), np.split(order, starts[1:]), strict=True)


def _means(values: FloatArray) -> dict[str, float]:
    """Mean of each metric over the samples labelled with a class that have an answer."""
    return dict(zip(BROKEN_DOWN, sample_means(values).tolist(), strict=True))


def _answered(values: FloatArray) -> int:
    """Number of the samples that count in the means: those labelled with a class that have an answer."""
    return int((~np.isnan(values[:, BROKEN_DOWN.index("top1")])).sum())


@dataclass(frozen=True)
class LabelledPosterior:
    """Probabilities of labelled samples."""

    posterior: Posterior  # probabilities of M samples
    nodes: IntArray  # true node of each sample, shape (M,)


def labelled_posterior(
    context: DeviceContext, stored: Classifier, data: LabelledSamples, request: AnswerRequest | None = None
) -> LabelledPosterior:
    """Probabilities of a model on labelled samples, over the classes that a request allows."""
    posterior = stored.calibrated(stored.sample_scores(context, data))
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
    return interval_rows(HF.ANSWER_METRICS, node_answer_values(tested, decided), seed=seed)


def interval_rows(
    names: Sequence[str], values: FloatArray, averages: ClassAverages | None = None, *, seed: int = 0
) -> list[AnswerRow]:
    """A row for each metric: its value, its 95% interval and the number of samples; see `bootstrap_interval`."""
    found, counts = bootstrap_interval(values, averages, seed=seed), (~np.isnan(values)).sum(axis=0)
    columns = zip(names, found.mean, found.low, found.high, counts, strict=True)
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
    yield from ((name, float("nan"), rule(name)) for name in ("majority", "plurality", "speciesnet", "auto"))


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

    See `level_answers` for the samples that count at a level. A row "(all)" has the calibration error of the level.
    """
    rows: list[AnswerRow] = []
    for level, (confidence, right) in enumerate(_counted_by_level(tested), start=1):
        if not len(right):
            continue
        found = reliability_bins(confidence, right)
        rows.append(_bin_row(level, "(all)", len(right), confidence.mean(), right.mean()) | _error(found.error))
        rows += [
            _bin_row(level, f"{place / BINS:.1f} to {(place + 1) / BINS:.1f}", *values) | _error(float("nan"))
            for place, *values in zip(*found, strict=True)
        ]
    return rows


def _counted_by_level(tested: LabelledPosterior) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Confidence of the answers at each level and whether they are right, without samples that do not count there."""
    answers = level_answers(tested.posterior, tested.nodes)
    for confidence, right in zip(answers.confidence.T, answers.right.T, strict=True):
        counted = ~np.isnan(right)
        yield confidence[counted], right[counted]


def _bin_row(level: int, name: str, samples: int, confidence: float, accuracy: float) -> AnswerRow:
    return {
        "level": level,
        "confidence": name,
        "samples": int(samples),
        "mean_confidence": float(confidence),
        "accuracy": float(accuracy),
    }


def _error(value: float) -> AnswerRow:
    return {"calibration_error": value}
