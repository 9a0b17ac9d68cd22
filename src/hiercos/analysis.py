"""Analysis of the test answers of one variant of a comparison: the values that its report shows."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.integer[Any]]
Floats = NDArray[np.floating[Any]]


@dataclass(frozen=True, eq=False)
class Tree:
    """The taxonomy of an analysis as plain values.

    Attributes:
        names: name of each node, parents first.
        parents: parent of each node, shape (N,); -1 for the root.
        leaves: node of each class, shape (C,).
    """

    names: tuple[str, ...]
    parents: Ints
    leaves: Ints


@dataclass(frozen=True, eq=False)
class NodeStatistics:
    """Statistics of every node over the test samples of the classes at or below it, shape (N,) each.

    Attributes:
        support: number of samples.
        accuracy: share of the samples whose answer is at or below the node too; nan without samples.
        severity: mean tree distance of the wrong answers; nan without any.
        gain: accuracy minus that of the reference variant; nan without a reference or samples.
    """

    support: Ints
    accuracy: Floats
    severity: Floats
    gain: Floats


@dataclass(frozen=True, eq=False)
class Answers:
    """Every answer to M test samples.

    Attributes:
        rows: row of each sample in the test split, shape (M,).
        labels: true class of each sample, shape (M,).
        nodes: answered node, shape (M,); -1 for the root.
        probabilities: probability of the answer, shape (M,).
    """

    rows: Ints
    labels: Ints
    nodes: Ints
    probabilities: Floats


@dataclass(frozen=True)
class Mistake:
    """A wrong answer.

    Attributes:
        row: row in the test split.
        true: node of the true class.
        answer: answered node, -1 for the root.
        distance: tree distance of the two.
        probabilities: probability of each node on the two paths.
    """

    row: int
    true: int
    answer: int
    distance: int
    probabilities: Mapping[int, float]


@dataclass(frozen=True)
class ConfusedPair:
    """A class and a wrong answer to its samples: their nodes, the number of samples, and rows of some of them."""

    true: int
    answer: int
    count: int
    rows: tuple[int, ...]


@dataclass(frozen=True)
class LevelCurves:
    """Confidence and precision of the likeliest node of one level; a class that ends above it is its own node there.

    Attributes:
        level: level, 1 is the coarsest.
        confidence: mean confidence in each bin of confidence that has samples.
        accuracy: share of right predictions in the same bins.
        samples: number of samples in the same bins.
        coverage: shares of the samples, the most confident first.
        precision: share of right predictions among them.
        answered: share of the samples that the variant answers at this level or deeper, or with a class above it.
        answered_precision: share of these whose answer is right at this level; nan without any.
    """

    level: int
    confidence: tuple[float, ...]
    accuracy: tuple[float, ...]
    samples: tuple[int, ...]
    coverage: tuple[float, ...]
    precision: tuple[float, ...]
    answered: float
    answered_precision: float


@dataclass(frozen=True, eq=False)
class VariantRankings:
    """Rankings of the classes by some variants, and the one that the tree prefers.

    Attributes:
        distances: tree distance of the first k classes from the true one, by name of the variant, shape (S, k) each;
            the same S samples in all, sorted by class in tree order.
        best: the same for the order that the tree prefers, shape (S, k).
        log_probabilities: mean natural logarithm of the probabilities by method, shape (G, G) each: rows are true
            classes, columns classes, both in tree order and averaged in G groups of neighbours; nan without samples.
        ideal: minus the tree distance between the groups, shape (G, G).
    """

    distances: Mapping[str, Ints]
    best: Ints
    log_probabilities: Mapping[str, Floats]
    ideal: Floats

    @property
    def worst(self) -> Ints:
        """The best order reversed, shape (S, k)."""
        return self.best[:, ::-1]


@dataclass(frozen=True, eq=False)
class Analysis:
    """Test answers of one variant, analysed.

    Attributes:
        variant: name of the variant.
        seed: seed of the run.
        reference: name of the variant that gains refer to; "" without one.
        tree: taxonomy.
        nodes: statistics of its nodes.
        answers: answers to the test samples, or to evenly spaced ones if there are many.
        total: number of all test samples.
        mistakes: worst mistakes, the farthest and most confident first.
        pairs: most confused pairs of classes, the most frequent first.
        suspected_labels: mistakes that are far and confident: the label may be wrong.
        levels: confidence at each level.
        rankings: rankings of the classes by some variants.
        hops_weights: weight of each rank in HOPS for the class with the most samples, shape (C,).
        inputs: stored inputs by row, each with a "name" and a "text" or an "image".
    """

    variant: str
    seed: int
    reference: str
    tree: Tree
    nodes: NodeStatistics
    answers: Answers
    total: int
    mistakes: tuple[Mistake, ...]
    pairs: tuple[ConfusedPair, ...]
    suspected_labels: tuple[Mistake, ...]
    levels: tuple[LevelCurves, ...]
    rankings: VariantRankings
    hops_weights: Floats
    inputs: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
