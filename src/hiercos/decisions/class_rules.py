"""The decision rules that answer with a class: `none`, `crm`, `hops` and `auto`."""

import weakref
from dataclasses import dataclass, replace
from typing import Literal, Self

import numpy as np
from scipy.sparse import csr_array

from hiercos.decisions.base import ClassRule, RuleError, listed_classes
from hiercos.decisions.best_order import (
    MOST_EXACT,
    best_order,
    label_ranks,
    likely_labels,
)
from hiercos.decisions.posterior import ROWS_AT_ONCE, Posterior
from hiercos.decisions.searched_posterior import SearchedPosterior
from hiercos.taxonomy import (
    Floats,
    IntArray,
    Taxonomy,
    ancestor_sums,
    decay_weights,
    distance_counts,
    label_indices,
    pair_distances,
    preferred_ranks,
    rank_profiles,
    reversed_disorder,
)

GRAPH_ROWS = 64  # samples of a graph whose labels are looked up together
ROWS_IN_CACHE = 512  # samples whose costs are computed together
TABLE = 1 << 22  # entries of the table of rank profiles by positions that are computed at a time
MOST_TOP1_LOST = 0.001  # top-1 accuracy that a smaller expected distance may cost


@dataclass(frozen=True)
class Likeliest(ClassRule):
    """The class with the highest score of the method, without the tree; it need not be the most probable one."""

    name = "none"
    criterion = "class score"
    by_probability = True  # of a posterior that is searched, which has no other order

    def class_values(self, posterior: Posterior) -> Floats:
        """The method's scores, or the probabilities if there are no scores; shape (M, C)."""
        return np.asarray(posterior.scores if posterior.order is None else posterior.order)


class _MostProbable(Likeliest):
    """The class with the highest probability, which other rules compare with."""

    def class_values(self, posterior: Posterior) -> Floats:
        """Scores of the probabilities, shape (M, C)."""
        return np.asarray(posterior.scores)


@dataclass(frozen=True)
class LeastRisk(ClassRule):
    """The class with the smallest expected tree distance to the true one under the posterior [karthik2021].

    The distance of two classes is H − depth(LCA), so the risk of class c is H minus the probability of every node on
    its path, and its own probability counts for the levels below it too:
    risk(c) = H − Σ_{v ∈ path(c)} P(v) − p_c (H − depth(c)). No table of distances is made: O(N) a sample. In a graph,
    the set of ancestors replaces the path, and its size the depth.

    Example:
        >>> from hiercos.taxonomy import Taxonomy
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> LeastRisk().class_values(Posterior([[0.375, 0.25, 0.375]], t))  # as likely as the car, nearer to the dog
        array([[-1.   , -1.125, -1.25 ]])
    """

    name = "crm"
    criterion = "minus the expected tree distance"

    def class_values(self, posterior: Posterior) -> Floats:
        """Minus the expected tree distance of each class, shape (M, C), from −H to 0."""
        taxonomy = posterior.taxonomy
        on_paths = ancestor_sums(posterior.nodes, taxonomy)[:, taxonomy.leaves]  # (M, C)
        levels_below = taxonomy.most_ancestors - taxonomy.ancestor_counts[taxonomy.leaves]
        values: Floats = on_paths + posterior.classes * levels_below - taxonomy.most_ancestors
        return values


@dataclass(frozen=True)
class HighestHops(ClassRule):
    """The class with the lowest expected cost in the first position, and on request the best order behind it.

    If y is true, class c in the first position costs rank(y, c) / s_max(y) of the published HOPS before its clip at 0.
    The answer minimises the expectation of that: one pass through the tree. The ranking is the order of all other
    classes with the highest expected HOPS, by linear assignment.

    Note:
        The best order of all need not begin with the answer: for the classes a > 1, a > 2, a > 3, b with
        probabilities .33, .19, .05, .43 it begins with the first, and the answer is b. Beyond `exact_up_to` classes the
        order is searched for, see `best_order`. In a graph the 64 most probable labels of a sample are considered.

    Args:
        exact_up_to: largest number of classes for which one assignment over all positions is solved.

    Example:
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> HighestHops().ranking(Posterior([[0.5, 0.1, 0.4]], t))  # the dog before the car, though less likely
        array([[3., 2., 1.]])
    """

    name = "hops"

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
        Among interchangeable classes the lower index comes first.
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
        order = best_order(batch, rule(batch).classes, exact_up_to=exact_up_to)
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
        kept = [likely_labels(row) for row in batch.classes]
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


def ranks_along_path(counts: IntArray, depths: IntArray) -> IntArray:
    """Rank of a class whose path leaves the label's at each depth 0…H, shape (U, H + 1); 0 from the label on."""
    ranks = (np.cumsum(counts > 0, axis=1) - 1)[:, ::-1]  # by common depth
    return np.where(np.arange(ranks.shape[1]) >= depths[:, None], 0, ranks)


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


ANSWERS: dict[str, ClassRule] = {"none": _MostProbable(), "crm": LeastRisk()}


@dataclass(frozen=True)
class Auto(ClassRule):
    """The answer by probability or by expected distance, the list by probability, the order by expected HOPS.

    The answer is the likeliest class, or that of `crm` if held-out samples show that it is nearer to the truth: its
    mean tree distance is smaller by more than one standard error of the paired difference, and its top-1 accuracy
    lower by at most 0.001. The short list has the answer first and then the likeliest other classes. The ranking has
    the answer first and then the order with the highest expected HOPS.

    Args:
        answer: rule of the answer, "none" (the likeliest class) or "crm"; set by `fit`.
        exact_up_to: see `best_order`.

    Example:
        >>> from hiercos.taxonomy import Taxonomy
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> posterior = Posterior([[0.5, 0.1, 0.4]], t)
        >>> Auto().short_list(posterior, 3).classes, Auto().ranking(posterior)
        (array([[0, 2, 1]]), array([[3., 2., 1.]]))
    """

    name = "auto"

    answer: Literal["none", "crm"] = "none"
    exact_up_to: int = MOST_EXACT
    fitted = ("answer",)
    lists_by_probability = True

    def __post_init__(self) -> None:
        if self.answer not in ANSWERS:
            raise RuleError(f"rule 'auto': expected the answer 'none' or 'crm', got {self.answer!r}")

    @property
    def criterion(self) -> str:  # type: ignore[override]  # that of the answer
        """Name of the values of the answers."""
        return ANSWERS[self.answer].criterion

    @property
    def by_probability(self) -> bool:
        """Whether the answer is the likeliest class."""
        return self.answer == "none"

    def class_values(self, posterior: Posterior) -> Floats:
        """Values under the rule of the answer, shape (M, C)."""
        return ANSWERS[self.answer].class_values(posterior)

    def ranking(self, posterior: Posterior) -> Floats:
        """Ranking scores from C for the answer to 1 for the last class of the best order behind it.

        On a tree of one level all mistakes are equally far; there the likeliest classes follow.
        """
        if posterior.taxonomy.height == 1:
            return rank_scores(listed_classes(self(posterior).classes, posterior, posterior.taxonomy.num_classes))
        return hops_ranking(posterior, self, exact_up_to=self.exact_up_to)

    def fit(self, posterior: Posterior, labels: IntArray) -> Self:
        """The rule with the better answer on held-out samples; labels at inner nodes do not count."""
        indices = label_indices(labels, posterior.taxonomy)
        rows = np.flatnonzero(indices < posterior.taxonomy.num_classes)
        if len(rows) < 2 or isinstance(posterior, SearchedPosterior):
            return replace(self, answer="none")
        known, true = posterior.rows(rows), indices[rows]
        likeliest, nearest = (ANSWERS[name](known).classes for name in ("none", "crm"))
        gains = _distances(true, likeliest, posterior) - _distances(true, nearest, posterior)
        lost = np.mean(likeliest == true) - np.mean(nearest == true)
        noise = gains.std(ddof=1) / len(rows) ** 0.5
        return replace(self, answer="crm" if gains.mean() > noise and lost <= MOST_TOP1_LOST else "none")


def _distances(labels: IntArray, classes: IntArray, posterior: Posterior) -> IntArray:
    return pair_distances(posterior.taxonomy, labels, classes)
