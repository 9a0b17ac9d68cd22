"""What each place in an order of the classes is expected to cost under HOPS, from tree sums.

If the true class is y, class c at position j costs η_j(y) |z_j(y) − rank(y, c)| / s_max(y); over all positions these
sum to 1 − HOPS (without its clip at 0). The rank depends only on how far the paths of y and c run together, so a
cost is a sum over the nodes that they share: each node of y's path adds the change it brings. Over several labels that
makes one row of costs for each node on their paths, and classes that leave those paths at the same node cost the same.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from hiercos.taxonomy import (
    FloatArray,
    IntArray,
    Taxonomy,
    decay_weights,
    distance_counts,
    preferred_ranks,
    rank_profiles,
    reversed_disorder,
)


@dataclass(frozen=True)
class CostSteps:
    """The costs of some labels, each as steps along its path.

    Attributes:
        nodes: the root (-1) and the path of each label, shape (U, H + 1), -1 beyond its depth.
        steps: what each of these nodes adds to the cost of a class below it, at every position: shape
            (U (H + 1), C), 0 beyond a label's depth.
    """

    nodes: IntArray
    steps: FloatArray


def label_entries(taxonomy: Taxonomy) -> int:
    """How many numbers the steps of one label are."""
    return (taxonomy.height + 1) * taxonomy.num_classes


def cost_steps(taxonomy: Taxonomy, labels: IntArray) -> CostSteps:
    """The steps of the labels given, shape (U,); O(U H C)."""
    counts = distance_counts(taxonomy, labels)
    profiles = rank_profiles(counts)
    preferred = preferred_ranks(profiles)
    weights = decay_weights(profiles, preferred)
    worst = reversed_disorder(preferred, weights)[:, None]
    weights = np.divide(weights, worst, out=np.zeros_like(weights), where=worst > 0)
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


def ranks_along_path(counts: IntArray, depths: IntArray) -> IntArray:
    """Rank of a class whose path leaves the label's at each depth 0…H, shape (U, H + 1); 0 from the label on."""
    ranks = (np.cumsum(counts > 0, axis=1) - 1)[:, ::-1]  # by common depth
    return np.where(np.arange(ranks.shape[1]) >= depths[:, None], 0, ranks)


@dataclass(frozen=True)
class ExpectedCosts:
    """Expected costs of groups of classes that are interchangeable.

    Attributes:
        groups: the group of each class, shape (C,).
        costs: of each group at each position, shape (G, C).
    """

    groups: NDArray[np.intp]
    costs: FloatArray


def expected_costs(
    taxonomy: Taxonomy, paths: IntArray, table: CostSteps, labels: IntArray, probabilities: FloatArray
) -> ExpectedCosts:
    """Costs of all classes at all positions, if the true class is one of some labels.

    Args:
        taxonomy: the tree.
        paths: of all classes, shape (C, H), -1 beyond a class's depth.
        table: the steps of some labels.
        labels: rows of that table, shape (M,).
        probabilities: of these labels, shape (M,).
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
    return ExpectedCosts(groups=group_of_node[paths].max(axis=1), costs=costs)  # deeper nodes have larger numbers
