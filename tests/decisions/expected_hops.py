"""The expected HOPS of orders, slowly and from the definition; nothing is shared with the code under test."""

import numpy as np
from numpy.typing import NDArray

from hiercos import Taxonomy


def cost_table(taxonomy: Taxonomy) -> NDArray[np.float64]:
    """What class c at position j costs if the true class is y, shape (C, C, C) by y, j, c."""
    distances = taxonomy.distance_matrix()
    count = taxonomy.num_classes
    table = np.zeros((count, count, count))
    for label in range(count):
        ranks = np.unique(distances[label], return_inverse=True)[1].reshape(-1)
        preferred = np.sort(ranks)
        weights = np.array([position_weight(preferred, position) for position in range(count)])
        worst = float(np.sum(weights * np.abs(preferred - preferred[::-1])))
        if worst > 0:
            table[label] = weights[:, None] * np.abs(preferred[:, None] - ranks[None, :]) / worst
    return table


def position_weight(preferred: NDArray[np.int64], position: int) -> float:
    """The published weight of one position of the preferred order."""
    rank = preferred[position]
    first, members = np.flatnonzero(preferred == rank)[0], np.count_nonzero(preferred == rank)
    top = 0.5**rank
    bottom = 0.0 if rank == preferred[-1] else top / 2
    return float(top - (position - first) * (top - bottom) / members)


def expected_hops(order: NDArray[np.int64], probabilities: NDArray[np.float64], table: NDArray[np.float64]) -> float:
    """Expected HOPS of one order without the clip at 0."""
    return 1 - float(probabilities @ table[:, np.arange(len(order)), order].sum(axis=1))
