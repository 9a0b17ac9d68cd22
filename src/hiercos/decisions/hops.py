"""The decision rule `hops`: the answer and the ranking with the highest expected HOPS."""

import weakref
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from hiercos.decisions.base import RULES, ClassRule, LeastRisk
from hiercos.decisions.best_order import (
    MOST_EXACT,
    MOST_LABELS,
    best_order,
    label_ranks,
    likely_labels,
    ranks_along_path,
)
from hiercos.decisions.posterior import ROWS_AT_ONCE, Posterior
from hiercos.taxonomy import (
    Floats,
    IntArray,
    Taxonomy,
    decay_weights,
    distance_counts,
    preferred_ranks,
    rank_profiles,
    reversed_disorder,
)

GRAPH_ROWS = 64  # samples of a graph whose labels are looked up together
ROWS_IN_CACHE = 512  # samples whose costs are computed together
TABLE = 1 << 22  # entries of the table of rank profiles by positions that are computed at a time


@RULES.register("hops")
@dataclass(frozen=True)
class HighestHops(ClassRule):
    """The class with the lowest expected cost in the first position, and on request the best order behind it.

    If y is true, class c in the first position costs rank(y, c) / s_max(y) of the published HOPS before its clip at 0.
    The answer minimises the expectation of that: one pass through the tree. The ranking is the order of all other
    classes with the highest expected HOPS, by linear assignment.

    Note:
        The best order of all need not begin with the answer: for the classes a > 1, a > 2, a > 3, b with
        probabilities .33, .19, .05, .43 it begins with the first, and the answer is b. Beyond `exact_up_to` classes the
        order is an approximation, see `best_order`. In a graph the 64 most probable labels of a sample are considered.

    Args:
        exact_up_to: largest number of classes for which one assignment over all positions is solved.

    Example:
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> HighestHops().ranking(Posterior([[0.5, 0.1, 0.4]], t))  # the dog before the car, though less likely
        array([[3., 2., 1.]])
    """

    exact_up_to: int = MOST_EXACT
    criterion = "minus the expected loss of HOPS in the first position"

    def class_values(self, posterior: Posterior) -> Floats:
        """Minus the expected cost of each class in the first position, shape (M, C)."""
        taxonomy = posterior.taxonomy
        if taxonomy.num_classes == 1:
            return np.zeros_like(posterior.classes)
        if not taxonomy.is_tree:
            return graph_values(posterior)
        values = np.empty(posterior.classes.shape)
        for start in range(0, len(values), ROWS_IN_CACHE):
            rows = slice(start, start + ROWS_IN_CACHE)
            costs = first_place_changes(taxonomy) @ np.ascontiguousarray(posterior.classes[rows].T)  # (1 + N, rows)
            costs[1:] = _path_sums(costs[1:], taxonomy)
            np.negative((costs[0] + costs[1 + taxonomy.leaves]).T, out=values[rows])
        return values

    def ranking(self, posterior: Posterior) -> Floats:
        """Ranking scores from C for the first class to 1 for the last.

        On a tree of one level all mistakes are equally far; there the likeliest classes come first.
        Among interchangeable classes the one with the smaller expected tree distance comes first, then the lower
        index.
        """
        if posterior.taxonomy.most_ancestors == 1:
            return np.asarray(posterior.scores)
        return hops_ranking(posterior, self, exact_up_to=self.exact_up_to)


def hops_ranking(posterior: Posterior, rule: ClassRule, *, exact_up_to: int = MOST_EXACT) -> Floats:
    """Ranking scores, shape (M, C), of the order with the highest expected HOPS that begins with a rule's answer.

    Args:
        posterior: probabilities of M samples.
        rule: rule whose answer comes first.
        exact_up_to: see `best_order`.
    """
    scores = np.empty(posterior.classes.shape)
    for number, batch in enumerate(posterior.batches()):
        nearest_first = np.argsort(-LeastRisk().class_values(batch), axis=1, kind="stable")  # (B, C)
        order = best_order(batch, nearest_first, rule(batch).classes, exact_up_to=exact_up_to)
        scores[number * ROWS_AT_ONCE :][: len(batch)] = rank_scores(order)
    return scores


def rank_scores(order: IntArray) -> Floats:
    """Scores from C for the first class of an order to 1 for the last, shape (M, C)."""
    scores = np.empty(order.shape)
    np.put_along_axis(scores, order, np.arange(order.shape[1], 0.0, -1)[None], axis=1)
    return scores


def _path_sums(columns: Floats, taxonomy: Taxonomy) -> Floats:
    """`ancestor_sums` of values whose nodes are rows, shape (N, M), in place."""
    for level in range(2, taxonomy.height + 1):
        nodes = taxonomy.level(level)
        columns[nodes] += columns[taxonomy.parents[nodes]]
    return columns


def graph_values(posterior: Posterior) -> Floats:
    """Minus the expected cost of each class of a graph in the first place, shape (M, C).

    Ranks in a graph do not follow from a path, so they are looked up for the most probable labels of each sample.
    """
    taxonomy, parts = posterior.taxonomy, [np.empty((0, posterior.taxonomy.num_classes))]
    for batch in posterior.batches(GRAPH_ROWS):
        kept = [likely_labels(row, MOST_LABELS, 0.0) for row in batch.classes]
        labels, places = np.unique(np.concatenate(kept), return_inverse=True)
        rows = np.repeat(np.arange(len(batch)), [len(own) for own in kept])
        shares = batch.classes[rows, labels[places]] / worst_disorders_of(taxonomy, labels)[places]
        weights = csr_array((shares, (rows, places)), shape=(len(batch), len(labels)))
        parts.append(-(weights @ label_ranks(taxonomy, labels).astype(np.float64)))
    return np.concatenate(parts)


_changes: "weakref.WeakKeyDictionary[Taxonomy, csr_array]" = weakref.WeakKeyDictionary()


def first_place_changes(taxonomy: Taxonomy) -> csr_array:
    """Cost of the first position as a sum along paths, shape (1 + N, C): row 0 for the root, row 1 + v for node v.

    The rank of class c as seen from y depends only on where c's path leaves y's, so the cost of c is a sum over
    the nodes that both paths share; entry (v, y) is the cost that node v of y's path adds.
    """
    if taxonomy not in _changes:
        labels = np.arange(taxonomy.num_classes)
        paths = np.column_stack([np.zeros(len(labels), dtype=np.int64), taxonomy.path_table(taxonomy.leaves) + 1])
        ranks = ranks_along_path(distance_counts(taxonomy, labels), taxonomy.depths[taxonomy.leaves])  # (C, H + 1)
        steps = np.diff(ranks, axis=1, prepend=0) / worst_disorders(taxonomy)[:, None]
        inside = np.arange(paths.shape[1]) <= taxonomy.depths[taxonomy.leaves][:, None]
        columns = np.broadcast_to(labels[:, None], paths.shape)
        entries = (steps[inside], (paths[inside], columns[inside]))
        _changes[taxonomy] = csr_array(entries, shape=(1 + taxonomy.num_nodes, taxonomy.num_classes))
    return _changes[taxonomy]


def worst_disorders(taxonomy: Taxonomy) -> Floats:
    """s_max of the published HOPS for each true class, shape (C,); classes with one rank profile share it."""
    return worst_disorders_of(taxonomy, np.arange(taxonomy.num_classes))


def worst_disorders_of(taxonomy: Taxonomy, labels: IntArray) -> Floats:
    """s_max of the published HOPS for some true classes, (U,) to (U,)."""
    counts = rank_profiles(distance_counts(taxonomy, labels))
    profiles, of_class = np.unique(counts, axis=0, return_inverse=True)
    size = max(1, TABLE // taxonomy.num_classes)
    parts = []
    for start in range(0, len(profiles), size):
        some = profiles[start : start + size]
        preferred = preferred_ranks(some)
        parts.append(reversed_disorder(preferred, decay_weights(some, preferred)))
    worst: Floats = np.concatenate(parts)[of_class.reshape(-1)]
    return worst
