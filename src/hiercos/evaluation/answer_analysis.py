"""Analysis of the test answers of a run for its report: nodes, mistakes, pairs, confidence by level."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hiercos.evaluation.class_rankings import VariantRankings, hops_weights, variant_rankings
from hiercos.evaluation.reliability import level_answers, nodes_by_level, reliability_bins
from hiercos.evaluation.variant_answers import VariantAnswers
from hiercos.taxonomy import AnyArray, FloatArray, IntArray, Taxonomy

MOST_ANSWERS, MOST_MISTAKES, MOST_PAIRS, MOST_SUSPECTED = 20_000, 60, 20, 200
CONFIDENT, NOT_FAR = 0.9, 1  # a label is suspected if the answer is at least this probable and farther than this
POINTS = 60  # points of a curve of precision against coverage


@dataclass(frozen=True, eq=False)
class Answers:
    """Every answer to M test samples."""

    rows: IntArray  # row of each sample in the test split, shape (M,)
    labels: IntArray  # true class of each sample, shape (M,)
    nodes: IntArray  # answered node, shape (M,); -1 for the root
    probabilities: FloatArray  # probability of the answer, shape (M,)


@dataclass(frozen=True, eq=False)
class NodeStatistics:
    """Statistics of every node over the test samples of the classes at or below it, shape (N,) each."""

    support: IntArray  # number of samples
    accuracy: FloatArray  # share of the samples whose answer is at or below the node too; nan without samples
    severity: FloatArray  # mean tree distance of the wrong answers; nan without any
    gain: FloatArray  # accuracy minus that of the reference variant; nan without a reference or samples


def node_statistics(variant: VariantAnswers, reference: VariantAnswers | None) -> NodeStatistics:
    """Support, accuracy, severity and gain of every node."""
    support = _sums(variant, np.ones(len(variant.labels)))
    accuracy = _accuracies(variant, support)
    wrong = _sums(variant, variant.is_wrong)
    with np.errstate(invalid="ignore", divide="ignore"):
        severity = _sums(variant, variant.distances) / wrong
    gain = np.full(len(support), np.nan) if reference is None else accuracy - _accuracies(reference, support)
    return NodeStatistics(support.astype(np.int64), accuracy, severity, gain)


def _sums(variant: VariantAnswers, values: AnyArray) -> FloatArray:
    """Sum of values (M,) or (M, H) of the samples over the nodes of their true paths, shape (N,)."""
    there = variant.true_paths >= 0
    spread = np.broadcast_to(values if values.ndim == 2 else values[:, None], there.shape)
    sums = np.bincount(variant.true_paths[there], spread[there], variant.taxonomy.num_nodes)
    return sums.astype(np.float64)


def _accuracies(variant: VariantAnswers, support: FloatArray) -> FloatArray:
    with np.errstate(invalid="ignore", divide="ignore"):
        found: FloatArray = _sums(variant, variant.paths == variant.true_paths) / support
    return found


def worst_rows(variant: VariantAnswers) -> IntArray:
    """Rows of the wrong answers: the farthest first, among equals the most probable, then the first row."""
    rows = np.flatnonzero(variant.is_wrong)
    return rows[np.lexsort((rows, -variant.probabilities[rows], -variant.distances[rows]))]


@dataclass(frozen=True)
class Mistake:
    """A wrong answer."""

    row: int  # row in the test split
    true: int  # node of the true class
    answer: int  # answered node, -1 for the root
    distance: int  # tree distance of the two
    probabilities: Mapping[int, float]  # probability of each node on the two paths


def mistake(variant: VariantAnswers, row: int) -> Mistake:
    """A wrong answer with the probabilities along the true and the answered path."""
    true, answer = int(variant.taxonomy.leaves[variant.labels[row]]), int(variant.nodes[row])
    nodes = variant.posterior.rows([row]).nodes[0]
    on_paths = sorted({int(node) for node in (*variant.paths[row], *variant.true_paths[row]) if node >= 0})
    return Mistake(
        int(variant.rows[row]),
        true,
        answer,
        int(variant.distances[row]),
        {node: float(nodes[node]) for node in on_paths},
    )


@dataclass(frozen=True)
class ConfusedPair:
    """A class and a wrong answer to its samples: their nodes, the number of samples, and rows of some of them."""

    true: int
    answer: int
    count: int
    rows: tuple[int, ...]


def confused_pairs(variant: VariantAnswers, *, most: int = MOST_PAIRS, of_each: int = 5) -> tuple[ConfusedPair, ...]:
    """The most frequent pairs of a class and a wrong answer, at least two samples; the lower nodes first if equal."""
    rows = np.flatnonzero(variant.is_wrong)
    both = np.stack([variant.taxonomy.leaves[variant.labels[rows]], variant.nodes[rows]], axis=1)
    pairs, members, counts = np.unique(both, axis=0, return_inverse=True, return_counts=True)
    frequent = np.argsort(-counts, kind="stable")[:most].tolist()
    members = members.reshape(-1)
    return tuple(
        ConfusedPair(
            true=int(pairs[pair, 0]),
            answer=int(pairs[pair, 1]),
            count=int(counts[pair]),
            rows=tuple(variant.rows[rows[members == pair][:of_each]].tolist()),
        )
        for pair in frequent
        if counts[pair] > 1
    )


@dataclass(frozen=True)
class LevelCurves:
    """Confidence and precision of the likeliest node of one level; a class that ends above it is its own node there."""

    level: int  # level, 1 is the coarsest
    confidence: tuple[float, ...]  # mean confidence in each bin of confidence that has samples
    accuracy: tuple[float, ...]  # share of right predictions in the same bins
    samples: tuple[int, ...]  # number of samples in the same bins
    coverage: tuple[float, ...]  # shares of the samples, the most confident first
    precision: tuple[float, ...]  # share of right predictions among them
    answered: float  # share of the samples that the variant answers at this level or deeper, or with a class above it
    answered_precision: float  # share of these whose answer is right at this level; nan without any


def level_curves(variant: VariantAnswers) -> tuple[LevelCurves, ...]:
    """Reliability, and precision against coverage, of the likeliest node of every level; see `level_answers`."""
    true = variant.taxonomy.leaves[variant.labels]
    answers = level_answers(variant.posterior, true)
    given, wanted = (nodes_by_level(nodes, variant.taxonomy) for nodes in (variant.nodes, true))  # (M, H) each
    return tuple(
        _level_curve(
            level + 1, answers.confidence[:, level], answers.right[:, level], given[:, level], wanted[:, level]
        )
        for level in range(variant.taxonomy.height)
    )


def _level_curve(
    level: int, confidence: FloatArray, right: FloatArray, given: IntArray, wanted: IntArray
) -> LevelCurves:
    """Curves of one level, from arrays of shape (M,).

    Args:
        right: 1 if it is the true one, else 0.
        given: node that the variant answers at the level, -1 if it stops above.
    """
    bins, count = reliability_bins(confidence, right), len(right)
    running = np.cumsum(right[np.argsort(-confidence, kind="stable")]) / np.arange(1, count + 1)
    points = sorted({int(point) for point in np.linspace(1, count, min(POINTS, count))})
    answered = given >= 0
    is_right = (given == wanted)[answered]
    return LevelCurves(
        level=level,
        confidence=tuple(bins.confidence.tolist()),
        accuracy=tuple(bins.accuracy.tolist()),
        samples=tuple(bins.samples.tolist()),
        coverage=tuple(point / count for point in points),
        precision=tuple(float(running[point - 1]) for point in points),
        answered=float(answered.mean()) if count else 0.0,
        answered_precision=float(is_right.mean()) if len(is_right) else float("nan"),
    )


@dataclass(frozen=True, eq=False)
class Analysis:
    """Test answers of one variant, analysed."""

    variant: str  # name of the variant
    seed: int  # seed of the run
    reference: str  # name of the variant that gains refer to; "" without one
    taxonomy: Taxonomy  # taxonomy of the classes, a tree
    nodes: NodeStatistics  # statistics of its nodes
    answers: Answers  # answers to the test samples, or to evenly spaced ones if there are many
    total: int  # number of all test samples
    mistakes: tuple[Mistake, ...]  # worst mistakes, the farthest and most confident first
    pairs: tuple[ConfusedPair, ...]  # most confused pairs of classes, the most frequent first
    suspected_labels: tuple[Mistake, ...]  # mistakes that are far and confident: the label may be wrong
    levels: tuple[LevelCurves, ...]  # confidence at each level
    rankings: VariantRankings  # rankings of the classes by some variants
    hops_weights: FloatArray  # weight of each rank in HOPS for the class with the most samples, shape (C,)
    # stored inputs by row, each with a "name" and a "text" or an "image"
    inputs: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)


def analyse(
    variant: VariantAnswers,
    others: Sequence[VariantAnswers],
    *,
    reference: str,
    seed: int,
    inputs: Mapping[int, Mapping[str, Any]],
) -> Analysis:
    """Analyse the test answers of one variant.

    Args:
        variant: variant to analyse.
        others: further variants whose orders of the classes are shown, of the same test samples.
        reference: name of the variant that gains refer to, among the others; "" for none.
        seed: seed of the run.
        inputs: stored inputs by row, see `read_report_inputs`; may be empty.
    """
    taxonomy = variant.taxonomy
    flat = next((other for other in others if other.name == reference), None)
    worst = worst_rows(variant)
    suspected = worst[(variant.distances[worst] > NOT_FAR) & (variant.probabilities[worst] >= CONFIDENT)]
    return Analysis(
        variant=variant.name,
        seed=seed,
        reference=reference if flat else "",
        taxonomy=taxonomy,
        nodes=node_statistics(variant, flat),
        answers=_answers(variant),
        total=len(variant.labels),
        mistakes=tuple(mistake(variant, int(row)) for row in worst[:MOST_MISTAKES]),
        pairs=confused_pairs(variant),
        suspected_labels=tuple(mistake(variant, int(row)) for row in suspected[:MOST_SUSPECTED]),
        levels=level_curves(variant),
        rankings=variant_rankings([variant, *others]),
        hops_weights=hops_weights(variant),
        inputs=inputs,
    )


def _answers(variant: VariantAnswers) -> Answers:
    """All answers, or evenly spaced ones if there are more than MOST_ANSWERS."""
    count = len(variant.labels)
    rows = np.linspace(0, count - 1, min(count, MOST_ANSWERS)).astype(np.int64)
    return Answers(variant.rows[rows], variant.labels[rows], variant.nodes[rows], variant.probabilities[rows])
