"""Analysis of the test answers of a run for its report: nodes, mistakes, confidence by level, orders of the classes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hiercos.analysis import (
    Analysis,
    Answers,
    ConfusedPair,
    LevelCurves,
    Mistake,
    NodeStatistics,
    Tree,
    VariantRankings,
)
from hiercos.benchmark.answer_rows import rule_of
from hiercos.benchmark.reliability import level_answers, nodes_by_level, reliability_bins
from hiercos.decisions import Posterior, Rule
from hiercos.engine import tested_run
from hiercos.records import Record
from hiercos.taxonomy import (
    AnyArray,
    FloatArray,
    IntArray,
    Taxonomy,
    decay_weights,
    distance_counts,
    preferred_ranks,
    rank_profiles,
)

BoolArray = NDArray[np.bool_]
MOST_ANSWERS, MOST_MISTAKES, MOST_PAIRS, MOST_SUSPECTED = 20_000, 60, 20, 200
CONFIDENT, NOT_FAR = 0.9, 1  # a label is suspected if the answer is at least this probable and farther than this
POINTS = 60  # points of a curve of precision against coverage
MAP_ROWS, MAP_RANKS, GROUPS = 120, 20, 100  # samples and ranks of a map of distances; groups of classes of a matrix


@dataclass(frozen=True, eq=False)
class VariantAnswers:
    """Test answers of one run under a rule.

    Attributes:
        name: name of the variant.
        method: name of its method.
        rule: rule that answers and ranks.
        posterior: posterior of M test samples.
        labels: true class of each, shape (M,).
        rows: row of each in the test split, shape (M,); from 0 to M - 1 by default.
    """

    name: str
    method: str
    rule: Rule
    posterior: Posterior
    labels: IntArray
    rows: IntArray = None  # type: ignore[assignment]  # filled in below

    def __post_init__(self) -> None:
        if self.rows is None:
            object.__setattr__(self, "rows", np.arange(len(self.labels)))

    @classmethod
    def read(cls, record: Record, folder: Path) -> "VariantAnswers":
        """The answers of a finished run under the rule of a record, from the stored scores in its folder.

        Test samples labelled with an inner node are left out.
        """
        tested = tested_run(folder)
        rows = np.flatnonzero(tested.labels < tested.posterior.taxonomy.num_classes)
        decided, posterior = rule_of(record, folder), tested.posterior.rows(rows)
        return cls(record.name, record.method, decided, posterior, tested.labels[rows], rows)

    @property
    def taxonomy(self) -> Taxonomy:
        """Taxonomy of the classes."""
        return self.posterior.taxonomy

    @cached_property
    def nodes(self) -> IntArray:
        """Answered node of each sample, shape (M,); -1 for the root."""
        return np.concatenate([self.rule(batch).nodes for batch in self.posterior.batches()])

    @cached_property
    def paths(self) -> IntArray:
        """Nodes from level 1 down to each answer, shape (M, H), -1 beyond its depth."""
        return self.taxonomy.path_table(self.nodes)

    @cached_property
    def true_paths(self) -> IntArray:
        """Nodes from level 1 down to each true class, shape (M, H), -1 beyond its depth."""
        return self.taxonomy.path_table(self.taxonomy.leaves[self.labels])

    @cached_property
    def is_wrong(self) -> BoolArray:
        """Whether each answer is another node than the true class, shape (M,)."""
        wrong: BoolArray = self.nodes != self.taxonomy.leaves[self.labels]
        return wrong

    @cached_property
    def distances(self) -> IntArray:
        """Tree distance of each answer, H - depth(LCA), 0 where it is right, shape (M,)."""
        return np.where(self.is_wrong, self.taxonomy.height - _shared(self.paths, self.true_paths), 0)

    @cached_property
    def probabilities(self) -> FloatArray:
        """Probability of each answer, shape (M,)."""
        batches = zip(self.posterior.batches(), _parts(self.nodes, self.posterior), strict=True)
        return np.concatenate([batch.of_nodes(nodes) for batch, nodes in batches])


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
        tree=Tree(taxonomy.names, taxonomy.parents, taxonomy.leaves),
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
        level: level, 1 is the coarsest.
        confidence: probability of the likeliest node.
        right: 1 if it is the true one, else 0.
        given: node that the variant answers at the level, -1 if it stops above.
        wanted: true node at the level.
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


def variant_rankings(variants: Sequence[VariantAnswers]) -> VariantRankings:
    """Rankings of the classes by each variant, of some samples by rank and of all on average."""
    first = variants[0]
    taxonomy, order = first.taxonomy, tree_order(first.taxonomy)
    place = np.argsort(order)
    sorted_rows = np.argsort(place[first.labels], kind="stable")
    rows = sorted_rows[np.linspace(0, len(sorted_rows) - 1, min(MAP_ROWS, len(sorted_rows))).astype(np.int64)]
    groups = np.minimum(np.arange(len(order)) * GROUPS // len(order), len(order) - 1) if len(order) > GROUPS else None
    group_of = place if groups is None else groups[place]  # group of each class in tree order
    middles = order[[int(np.flatnonzero(group_of[order] == group).mean()) for group in range(group_of.max() + 1)]]
    paths = taxonomy.path_table(taxonomy.leaves[middles])
    ideal = -np.where(np.eye(len(middles)) > 0, 0, taxonomy.height - _shared(paths[:, None], paths[None]))
    counts = distance_counts(taxonomy, first.labels[rows])
    ranks = min(MAP_RANKS, taxonomy.num_classes)
    best = np.stack([np.repeat(np.arange(taxonomy.height + 1), count)[:ranks] for count in counts])
    by_method = {variant.method: variant for variant in reversed(variants)}  # a rule does not change the probabilities
    return VariantRankings(
        distances={variant.name: rank_distances(variant, rows, ranks) for variant in variants},
        best=best,
        log_probabilities={method: mean_logs(variant, group_of) for method, variant in by_method.items()},
        ideal=ideal.astype(np.float64),
    )


def tree_order(taxonomy: Taxonomy) -> IntArray:
    """The classes sorted along the tree, so that those below a node are neighbours, shape (C,)."""
    return np.lexsort(taxonomy.path_table(taxonomy.leaves)[:, ::-1].T)


def rank_distances(variant: VariantAnswers, rows: IntArray, ranks: int) -> IntArray:
    """Tree distance of the first classes of samples from the true one, shape (S, ranks)."""
    taxonomy = variant.taxonomy
    scores = variant.rule.ranking(variant.posterior.rows(rows))
    classes = np.argsort(-scores, axis=1, kind="stable")[:, :ranks]  # (S, ranks)
    paths = taxonomy.path_table(taxonomy.leaves)
    shared = _shared(paths[classes], paths[variant.labels[rows]][:, None])
    return np.where(classes == variant.labels[rows][:, None], 0, taxonomy.height - shared)


def mean_logs(variant: VariantAnswers, group_of: IntArray) -> FloatArray:
    """Mean log-probability of each group of classes for the samples of each group, shape (G, G); nan without samples.

    Args:
        variant: tested variant.
        group_of: group of each class, shape (C,), numbered from 0.
    """
    sizes = np.bincount(group_of)
    sums, counts = np.zeros((len(sizes), len(sizes))), np.bincount(group_of[variant.labels], minlength=len(sizes))
    columns = np.argsort(group_of, kind="stable")
    starts = np.cumsum(sizes) - sizes
    for batch, labels in zip(variant.posterior.batches(), _parts(variant.labels, variant.posterior), strict=True):
        by_group = np.add.reduceat(batch.logs[:, columns], starts, axis=1) / sizes  # (B, G)
        np.add.at(sums, group_of[labels], by_group)
    with np.errstate(invalid="ignore"):
        found: FloatArray = np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], np.nan)
    return found


def hops_weights(variant: VariantAnswers) -> FloatArray:
    """Weight of each rank in HOPS for the class with the most test samples, shape (C,)."""
    label = int(np.bincount(variant.labels).argmax())
    profiles = rank_profiles(distance_counts(variant.taxonomy, [label]))
    found: FloatArray = decay_weights(profiles, preferred_ranks(profiles))[0]
    return found


def _answers(variant: VariantAnswers) -> Answers:
    """All answers, or evenly spaced ones if there are more than MOST_ANSWERS."""
    count = len(variant.labels)
    rows = np.linspace(0, count - 1, min(count, MOST_ANSWERS)).astype(np.int64)
    return Answers(variant.rows[rows], variant.labels[rows], variant.nodes[rows], variant.probabilities[rows])


def _shared(paths: IntArray, others: IntArray) -> IntArray:
    """Number of common nodes of paths, the depth of the lowest common ancestor: (..., H) -> (...)."""
    found: IntArray = ((paths == others) & (paths >= 0)).sum(axis=-1)
    return found


def _parts(values: IntArray, posterior: Posterior) -> list[IntArray]:
    """Values of the samples in the batches of a posterior."""
    sizes = [len(batch) for batch in posterior.batches()]
    return np.split(values, np.cumsum(sizes)[:-1])
