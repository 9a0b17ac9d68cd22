"""The order of the classes with the highest expected HOPS.

The expected cost of a class at a position does not depend on where the others stand, so the best order is a linear
assignment of classes to positions. It is solved as such for a few hundred classes. Beyond, it is solved for some
positions at a time, with the classes that stand there: positions that lie ever further apart, then every s-th, then
the first. Most classes have many like them, which cost the same everywhere, so thinned-out positions are the whole
problem in miniature; and no step makes the order worse. NumPy only: models that run without torch use it too.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from hiercos.decisions.expected_cost import ExpectedCosts, cost_steps, expected_costs, label_entries
from hiercos.taxonomy import FloatArray, IntArray, Taxonomy

MOST_EXACT = 256  # classes; an assignment takes a few milliseconds then, and grows with the cube
SPREAD, STRIDED, FIRST = 256, 64, 128  # most positions in the assignments of each kind beyond that
MOST_LABELS = 64  # labels looked at beyond that
NEGLIGIBLE = 1e-3  # probability of the labels left out beyond that, if so many are not needed
TABLE = 1 << 24  # entries in the table of costs: 128 MiB

Positions = NDArray[np.intp]


@dataclass(frozen=True)
class Effort:
    """How much of the problem is solved.

    Attributes:
        labels: the most labels looked at.
        negligible: the share of the probability that may be left out with the least likely labels.
        assignments: the positions of each assignment, in turn.
    """

    labels: int
    negligible: float
    assignments: list[Positions]

    @classmethod
    def whole(cls, taxonomy: Taxonomy) -> "Effort":
        """All labels, and one assignment of all positions."""
        return cls(taxonomy.num_classes, 0.0, [np.arange(taxonomy.num_classes)])

    @classmethod
    def thinned(cls, taxonomy: Taxonomy) -> "Effort":
        """Likely labels; positions in geometric steps, every s-th from each start in turn, and the first ones."""
        count = taxonomy.num_classes
        stride = -(-count // STRIDED)
        spread = np.unique(np.geomspace(1, count, SPREAD).astype(np.intp)) - 1  # small steps coincide
        strided = [np.arange(first, count, stride) for first in range(stride)]
        labels = max(1, min(MOST_LABELS, TABLE // label_entries(taxonomy)))
        return cls(labels, NEGLIGIBLE, [spread, *strided, np.arange(min(count, FIRST))])


def best_order_scores(
    probabilities: FloatArray, risks: FloatArray, taxonomy: Taxonomy, *, exact_up_to: int = MOST_EXACT
) -> NDArray[np.float32]:
    """`hops_order_scores` of arrays, from the order of `crm_scores` on.

    Args:
        probabilities: of the classes, shape (B, C), each row of sum 1.
        risks: their `crm_scores`, shape (B, C).
        taxonomy: the tree.
        exact_up_to: the most classes for which one assignment over all positions is solved.

    Returns:
        Scores, shape (B, C): C for the first class of the order down to 1 for the last.

    Raises:
        ValueError: for a probability that is not a number.
    """
    for row in np.flatnonzero(np.isnan(risks).any(axis=1))[:1]:
        raise ValueError(f"row {row}: a probability is NaN")
    count = taxonomy.num_classes
    effort = Effort.whole(taxonomy) if count <= exact_up_to else Effort.thinned(taxonomy)
    starts = np.argsort(-risks, axis=1, kind="stable")  # (B, C)
    scores = np.empty(risks.shape, dtype=np.float32)
    for own, start, costs in zip(scores, starts, _costs_of_rows(probabilities, taxonomy, effort), strict=True):
        own[_improved_order(start, costs, effort)] = np.arange(count, 0, -1)
    return scores


def _costs_of_rows(probabilities: FloatArray, taxonomy: Taxonomy, effort: Effort) -> Iterator[ExpectedCosts]:
    """The expected costs for each row in turn; the steps of labels are tabulated for as many rows as memory allows."""
    paths = taxonomy.path_table(taxonomy.leaves)
    all_fit = taxonomy.num_classes * label_entries(taxonomy) <= TABLE
    rows = max(1, len(probabilities) if all_fit else TABLE // (effort.labels * label_entries(taxonomy)))
    for start in range(0, len(probabilities), rows):
        values = probabilities[start : start + rows]
        kept = [likely_labels(row, effort.labels, effort.negligible) for row in values]
        labels = np.unique(np.concatenate(kept))
        table = cost_steps(taxonomy, labels)
        for row, own in zip(values, kept, strict=True):
            yield expected_costs(taxonomy, paths, table, np.searchsorted(labels, own), row[own])


def likely_labels(probabilities: FloatArray, most: int, negligible: float) -> IntArray:
    """The likeliest labels, shape (M,): as many as leave out no more than a share of the probability, or `most`."""
    labels = np.argsort(-probabilities, kind="stable")
    reached = np.cumsum(probabilities[labels])
    needed = 1 + np.count_nonzero(reached[:-1] < (1 - negligible) * reached[-1])
    return labels[: min(needed, most)]


def _improved_order(start: IntArray, costs: ExpectedCosts, effort: Effort) -> IntArray:
    """The classes in their new order, shape (C,); those of a group keep their order among themselves."""
    groups = costs.groups[start]  # at each position
    for positions in effort.assignments:
        groups[positions] = _assigned_groups(groups[positions], costs.costs, positions)
    order = np.empty_like(start)
    order[np.argsort(groups, kind="stable")] = start[np.argsort(costs.groups[start], kind="stable")]
    return order


def _assigned_groups(groups: Positions, costs: FloatArray, positions: Positions) -> Positions:
    """The same groups, each placed on one of the positions so that the sum of costs is the least."""
    by_position = costs[:, positions][groups].T  # positions as rows are solved several times faster than as columns
    chosen: Positions = linear_sum_assignment(by_position)[1]
    return groups[chosen]
