"""The order of the classes with the highest expected HOPS.

The expected cost of a class at a position does not depend on the positions of the others, so the best order is a linear
assignment of classes to positions. Up to a few hundred classes it is solved exactly. Beyond, it is solved for a subset
of the positions at a time, with the classes at these positions: positions in geometric steps, then every s-th, then
the first. Most classes are interchangeable with many others, so a subset of the positions represents the whole problem
well, and no step makes the order worse. The first position is fixed: it holds the rule's answer.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from hiercos.decisions.posterior import Posterior
from hiercos.taxonomy import (
    FloatArray,
    IntArray,
    Taxonomy,
    decay_weights,
    distance_block,
    distance_counts,
    distance_ranks,
    preferred_ranks,
    rank_profiles,
    reversed_disorder,
)

Indices = NDArray[np.intp]


@dataclass(frozen=True)
class CostSteps:
    """Costs of U labels, each as steps along its path.

    Attributes:
        nodes: the root (-1) and the path of each label, shape (U, H + 1), -1 beyond its depth.
        steps: cost that each of these nodes adds to a class below it, at every position, shape (U (H + 1), C); 0 beyond
            a label's depth.
    """

    nodes: IntArray
    steps: FloatArray


def label_entries(taxonomy: Taxonomy) -> int:
    """Number of entries in the cost steps of one label."""
    return (taxonomy.height + 1) * taxonomy.num_classes


def cost_steps(taxonomy: Taxonomy, labels: IntArray) -> CostSteps:
    """Cost steps of labels, shape (U,), in O(U H C)."""
    counts = distance_counts(taxonomy, labels)
    preferred, weights = wanted_ranks(counts)
    paths = taxonomy.path_table(taxonomy.leaves[labels])
    nodes = np.column_stack([np.full(len(paths), -1), paths])
    ranks = ranks_along_path(counts, taxonomy.depths[taxonomy.leaves[labels]])
    steps = np.empty((*nodes.shape, taxonomy.num_classes))
    above = np.zeros_like(weights)
    for level in range(nodes.shape[1]):
        cost = weights * np.abs(preferred - ranks[:, level, None])  # (U, C)
        np.subtract(cost, above, out=steps[:, level])
        above = cost
    return CostSteps(nodes, steps.reshape(-1, taxonomy.num_classes))


def wanted_ranks(counts: IntArray) -> tuple[IntArray, FloatArray]:
    """Rank that each label prefers at each position, and the weight of a rank beside it, shape (U, C) each.

    Args:
        counts: number of classes at each distance from each label, see `distance_counts`.
    """
    profiles = rank_profiles(counts)
    preferred = preferred_ranks(profiles)
    weights = decay_weights(profiles, preferred)
    worst = reversed_disorder(preferred, weights)[:, None]
    return preferred, np.divide(weights, worst, out=np.zeros_like(weights), where=worst > 0)


def ranks_along_path(counts: IntArray, depths: IntArray) -> IntArray:
    """Rank of a class whose path leaves the label's at each depth 0…H, shape (U, H + 1); 0 from the label on."""
    ranks = (np.cumsum(counts > 0, axis=1) - 1)[:, ::-1]  # by common depth
    return np.where(np.arange(ranks.shape[1]) >= depths[:, None], 0, ranks)


def label_ranks(taxonomy: Taxonomy, labels: IntArray) -> IntArray:
    """Preference rank of every class for each label, shape (U, C)."""
    ranks = distance_ranks(distance_counts(taxonomy, labels))  # (U, H + 1)
    return np.take_along_axis(ranks, distance_block(taxonomy, labels), axis=1)


class ExpectedCosts(Protocol):
    """Expected costs of groups of interchangeable classes at positions."""

    @property
    def groups(self) -> Indices:
        """Group of each class, shape (C,)."""
        ...

    def at(self, groups: Indices, positions: Indices) -> FloatArray:
        """Costs of groups at positions, shape (number of positions, number of groups)."""
        ...


@dataclass(frozen=True)
class TreeCosts:
    """Expected costs in a tree: classes that leave the labels' paths at the same node are interchangeable.

    Attributes:
        groups: see `ExpectedCosts`.
        costs: expected cost of each group at each position, shape (G, C).
    """

    groups: Indices
    costs: FloatArray

    def at(self, groups: Indices, positions: Indices) -> FloatArray:
        """See `ExpectedCosts`."""
        return self.costs[:, positions][groups].T  # an assignment is several times faster with positions as rows


@dataclass(frozen=True)
class GraphCosts:
    """Expected costs in a graph: classes of equal ranks for all labels are interchangeable.

    Attributes:
        groups: see `ExpectedCosts`.
        ranks: rank of each group for each label, shape (U, G).
        preferred: rank that each label prefers at each position, shape (U, C).
        weights: weight of each position for each label, shape (U, C).
    """

    groups: Indices
    ranks: IntArray
    preferred: IntArray
    weights: FloatArray

    @classmethod
    def over_labels(cls, taxonomy: Taxonomy, labels: IntArray, probabilities: FloatArray) -> "GraphCosts":
        """Expected costs over possible true labels, shape (U,), with their probabilities, shape (U,)."""
        preferred, weights = wanted_ranks(distance_counts(taxonomy, labels))
        ranks, groups = np.unique(label_ranks(taxonomy, labels), axis=1, return_inverse=True)
        return cls(groups.reshape(-1), ranks, preferred, weights * probabilities[:, None])

    def at(self, groups: Indices, positions: Indices) -> FloatArray:
        """See `ExpectedCosts`."""
        distinct, places = np.unique(groups, return_inverse=True)
        costs = np.zeros((len(positions), len(distinct)))
        by_label = zip(self.ranks[:, distinct], self.preferred[:, positions], self.weights[:, positions], strict=True)
        for ranks, preferred, weights in by_label:
            costs += weights[:, None] * np.abs(preferred[:, None] - ranks)
        return costs[:, places]


def expected_costs(
    taxonomy: Taxonomy, paths: IntArray, table: CostSteps, labels: IntArray, probabilities: FloatArray
) -> TreeCosts:
    """Expected costs of all classes at all positions, over the possible true labels.

    Args:
        taxonomy: taxonomy of the classes.
        paths: path of each class, shape (C, H), -1 beyond its depth.
        table: cost steps of the labels.
        labels: rows of the table for the possible labels, shape (M,).
        probabilities: probability of each of these labels, shape (M,).
    """
    width = table.nodes.shape[1]
    nodes, rows = np.unique(table.nodes[labels].reshape(-1), return_inverse=True)  # the root (-1) first
    entries = (labels[:, None] * width + np.arange(width)).reshape(-1)
    weights = csr_array((np.repeat(probabilities, width), (rows, entries)), shape=(len(nodes), len(table.steps)))
    costs = weights @ table.steps  # (G, C)
    parents = np.searchsorted(nodes, taxonomy.parents[nodes[1:]])
    starts = 1 + np.searchsorted(nodes[1:], taxonomy.level_starts)
    for start, end in pairwise(starts):
        costs[start:end] += costs[parents[start - 1 : end - 1]]
    group_of_node = np.zeros(taxonomy.num_nodes + 1, dtype=np.intp)  # the last entry stands for -1
    group_of_node[nodes[1:]] = np.arange(1, len(nodes))
    return TreeCosts(groups=group_of_node[paths].max(axis=1), costs=costs)  # deeper nodes have larger numbers


MOST_EXACT = 256  # classes for an exact assignment, which takes milliseconds; time grows with the cube
SPREAD, STRIDED, FIRST = 256, 64, 128  # most positions of each kind of partial assignment
MOST_LABELS = 64  # most labels considered in the approximation
NEGLIGIBLE = 1e-3  # probability of the labels that the approximation may leave out
TABLE = 1 << 24  # entries in the table of costs: 128 MiB


@dataclass(frozen=True)
class AssignmentPlan:
    """Labels and positions of the assignment problems to solve.

    Attributes:
        labels: largest number of labels considered.
        negligible: probability that may be left out with the least probable labels.
        assignments: positions of each assignment, in the order they are solved.
    """

    labels: int
    negligible: float
    assignments: list[Indices]

    @classmethod
    def whole(cls, taxonomy: Taxonomy) -> "AssignmentPlan":
        """All labels, and one assignment of all positions."""
        return cls(taxonomy.num_classes, 0.0, [np.arange(1, taxonomy.num_classes)])

    @classmethod
    def thinned(cls, taxonomy: Taxonomy) -> "AssignmentPlan":
        """Probable labels; positions in geometric steps, every s-th from each start in turn, and the first ones."""
        count = taxonomy.num_classes
        stride = -(-count // STRIDED)
        spread = np.unique(np.geomspace(2, count, SPREAD).astype(np.intp)) - 1  # small steps coincide
        strided = [np.arange(first, count, stride) for first in range(1, stride + 1)]
        labels = max(1, min(MOST_LABELS, TABLE // label_entries(taxonomy)))
        return cls(labels, NEGLIGIBLE, [spread, *strided, np.arange(1, min(count, FIRST))])


def best_order(posterior: Posterior, starts: IntArray, answers: IntArray, *, exact_up_to: int = MOST_EXACT) -> IntArray:
    """Order of the classes with the highest expected published HOPS among those that begin with the answer.

    The expectation is over the true class, drawn from the posterior, and of HOPS before its clip at 0: an order that
    the clip would lift to 0 for an improbable label still counts as below 0 for it.

    Note:
        With more classes than `exact_up_to` it is an approximation: the most probable labels are considered until all
        but 0.001 of the probability is covered, 64 at most, and the given order is improved by assignments of 64 to
        256 positions each. For the labels considered it is never worse than the given order.

    Args:
        posterior: probabilities of M samples.
        starts: order of the classes to improve, shape (M, C); interchangeable classes keep their relative order.
        answers: class that stays first, shape (M,).
        exact_up_to: largest number of classes for which one assignment over all positions is solved.

    Returns:
        Classes, first to last, shape (M, C).
    """
    taxonomy = posterior.taxonomy
    plan = AssignmentPlan.whole(taxonomy) if taxonomy.num_classes <= exact_up_to else AssignmentPlan.thinned(taxonomy)
    behind = starts[starts != answers[:, None]].reshape(len(starts), -1)
    begun = np.column_stack([answers, behind])  # (M, C)
    costs = _costs_of_rows(posterior.classes, taxonomy, plan)
    rows = [_improved_order(start, own, plan) for start, own in zip(begun, costs, strict=True)]
    return np.array(rows, dtype=np.int64).reshape(begun.shape)


def _costs_of_rows(probabilities: FloatArray, taxonomy: Taxonomy, plan: AssignmentPlan) -> Iterator[ExpectedCosts]:
    """Expected costs of each row in turn; cost steps are tabulated for as many rows as memory allows."""
    if not taxonomy.is_tree:
        for row in probabilities:
            own = likely_labels(row, min(plan.labels, MOST_LABELS), plan.negligible)
            yield GraphCosts.over_labels(taxonomy, own, row[own])
        return
    paths = taxonomy.path_table(taxonomy.leaves)
    all_fit = taxonomy.num_classes * label_entries(taxonomy) <= TABLE
    rows = max(1, len(probabilities) if all_fit else TABLE // (plan.labels * label_entries(taxonomy)))
    for start in range(0, len(probabilities), rows):
        values = probabilities[start : start + rows]
        kept = [likely_labels(row, plan.labels, plan.negligible) for row in values]
        labels = np.unique(np.concatenate(kept))
        table = cost_steps(taxonomy, labels)
        for row, own in zip(values, kept, strict=True):
            yield expected_costs(taxonomy, paths, table, np.searchsorted(labels, own), row[own])


def likely_labels(probabilities: FloatArray, most: int, negligible: float) -> IntArray:
    """Most probable labels, shape (M,): at most `most`, or fewer that leave out at most `negligible` probability."""
    labels = np.argsort(-probabilities, kind="stable")
    reached = np.cumsum(probabilities[labels])
    needed = 1 + np.count_nonzero(reached[:-1] < (1 - negligible) * reached[-1])
    return labels[: min(needed, most)]


def _improved_order(start: IntArray, costs: ExpectedCosts, plan: AssignmentPlan) -> IntArray:
    """Improved order of the classes, shape (C,); classes of a group keep their relative order."""
    groups = costs.groups[start]  # group at each position
    for positions in plan.assignments:
        groups[positions] = _assigned_groups(groups[positions], costs, positions)
    order = np.empty_like(start)
    order[np.argsort(groups, kind="stable")] = start[np.argsort(costs.groups[start], kind="stable")]
    return order


def _assigned_groups(groups: Indices, costs: ExpectedCosts, positions: Indices) -> Indices:
    """The same groups, assigned to the positions so that the sum of costs is smallest."""
    from scipy.optimize import linear_sum_assignment  # late: predictions without it start sooner

    chosen: Indices = linear_sum_assignment(costs.at(groups, positions))[1]
    return groups[chosen]
