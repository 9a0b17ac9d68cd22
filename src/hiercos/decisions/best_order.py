"""The order of the classes with the highest expected HOPS.

The expected cost of a class at a position does not depend on the positions of the others, so the best order is an
assignment of classes to positions with the least sum of costs.

In a tree, the cost is a sum along the class's path: to stand below a node v of n classes counts −W_v(j) at the first n
positions and +W_v(j) at the later ones, where W_v(j) = Σ p_y η_y(j) / s_max(y) over the labels y at or below v. So
classes with the same probable nodes above them form a group with one cost at each position, up to the small rest of
their path, their tail; within a group the classes with the smaller tails come first. With few classes the assignment
is solved as it stands. Otherwise positions are filled from the first to the last, for many samples at a time, each with
the group that would lose most by waiting: its cost there less its mean cost at the later positions. Then the classes at
the ends of the runs of each group are assigned anew, with fine groups where that helps, until nothing changes.
"""

import weakref
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from hiercos.decisions.posterior import Posterior
from hiercos.taxonomy import (
    FloatArray,
    IntArray,
    Taxonomy,
    classes_below,
    decay_weights,
    descendant_sums,
    distance_block,
    distance_counts,
    distance_ranks,
    node_values,
    preferred_ranks,
    rank_profiles,
    reversed_disorder,
)

MOST_EXACT = 128  # classes for one assignment of all positions, which takes less than a millisecond
MOST_LABELS = 64  # most labels of a graph that are considered
TABLE = 1 << 23  # entries of the table of costs of the samples that are filled together
BLOCK = 1 << 20  # entries of the tables of costs that are computed together, which a cache holds
PROBABLE = 1e-6  # least P(v) n² / C of the nodes v of n classes that groups distinguish
NEGLIGIBLE = 1e-7  # probability of siblings that may be left out of the costs
RUNS = ((0.1, 1), (1e-2, 1), (1e-3, 0))  # least P(v) n of a group with runs of its own, and places beside their ends
MOST_ENDS = 40  # of runs, those of the heaviest groups, in one assignment
LEAST_GAIN = 1e-8  # of expected HOPS by one more assignment
MOST_TURNS = 64  # assignments of a sample


@dataclass(frozen=True)
class Block:
    """Expected costs of B samples: groups of classes at positions."""

    rows: IntArray  # (B,) row number of each sample
    queue: IntArray  # (B, C) the answer, then the classes by group, the smaller tails first, then the lower index
    groups: IntArray  # (B, C) group of each class in the queue
    tails: FloatArray  # (B, C) cost of each of these classes beside its group's, in units of the group's shape
    costs: FloatArray  # (B, G, C) cost of each group at each position
    shapes: FloatArray  # (S, C) cost of a tail of 1 at each position
    shape_of: IntArray  # (B, G) shape of each group's tails
    weights: FloatArray  # (B, G) P(v) n of each group's node
    parents: IntArray  # (B, G) group of the node above each group's node

    def parts(self, least: float) -> IntArray:
        """The groups of smaller weight counted as their parents: the group that stands for each, shape (B, G)."""
        stands = np.broadcast_to(np.arange(self.weights.shape[1]), self.weights.shape)
        while True:
            heavy = np.take_along_axis(self.weights, stands, axis=1) >= least
            above = np.where(heavy, stands, np.take_along_axis(self.parents, stands, axis=1))
            if np.array_equal(above, stands):
                return above
            stands = above

    def table(self, row: int, places: IntArray, positions: IntArray) -> FloatArray:
        """Cost at some positions, shape (P,), of the classes at these places of a queue; positions as rows."""
        groups = self.groups[row, places]
        tails = self.shapes[self.shape_of[row, groups][:, None], positions] * self.tails[row, places][:, None]
        costs: FloatArray = (self.costs[row, groups[:, None], positions] + tails).T
        return costs


def queued(classes: IntArray, tails: FloatArray, answers: IntArray) -> tuple[IntArray, IntArray, FloatArray]:
    """Queue of the classes behind the answers, with the group and the tail of each class; three (B, C).

    Args:
        classes: group of each class, shape (B, C).
        tails: tail of each class, shape (B, C).
        answers: first class of each sample, shape (B,).
    """
    by_tail = np.argsort(tails, axis=1, kind="stable")
    groups = np.take_along_axis(classes, by_tail, axis=1)
    groups[by_tail == answers[:, None]] = -1
    queue = np.take_along_axis(by_tail, np.argsort(groups, axis=1, kind="stable"), axis=1)
    return queue, np.take_along_axis(classes, queue, axis=1), np.take_along_axis(tails, queue, axis=1)


def best_order(posterior: Posterior, answers: IntArray, *, exact_up_to: int = MOST_EXACT) -> IntArray:
    """Order of the classes with the highest expected published HOPS among those that begin with the answer.

    The expectation is over the true class, drawn from the posterior, and of HOPS before its clip at 0: an order that
    the clip would lift to 0 for an improbable label still counts as below 0 for it.

    Note:
        With more classes than `exact_up_to` the best order is searched for; the expected HOPS of what is found is
        usually within 1e-6 of the best. In a graph the 64 most probable labels of a sample are considered.

    Args:
        posterior: probabilities of M samples.
        answers: class that stays first, shape (M,).
        exact_up_to: largest number of classes for which one assignment over all positions is solved.

    Returns:
        Classes, first to last, shape (M, C); the lower class first among interchangeable ones.
    """
    orders = np.empty(posterior.classes.shape, dtype=np.int64)
    exact = posterior.taxonomy.num_classes <= exact_up_to
    every = tree_blocks if posterior.taxonomy.is_tree else graph_blocks
    for blocks in every(posterior, answers, exact=exact):
        filled = iter(np.concatenate([block.groups for block in blocks]) if exact else _filled(blocks))
        for block in blocks:
            runs = [] if exact else [(block.parts(least), beside) for least, beside in RUNS]
            for row, number in enumerate(block.rows):
                own = next(filled)
                if exact:
                    _assign(block, row, own, np.arange(1, len(own)))
                _improve(block, row, own, [(part[row], beside) for part, beside in runs])
                orders[number] = block.queue[row, _places(own)]
    return orders


def likely_labels(probabilities: FloatArray) -> IntArray:
    """At most 64 most probable labels, shape (M,), the likeliest first."""
    return np.argsort(-probabilities, kind="stable")[:MOST_LABELS]


def label_ranks(taxonomy: Taxonomy, labels: IntArray) -> IntArray:
    """Preference rank of every class for each label, shape (U, C)."""
    ranks = distance_ranks(distance_counts(taxonomy, labels))  # (U, H + 1)
    return np.take_along_axis(ranks, distance_block(taxonomy, labels), axis=1)


def wanted_ranks(taxonomy: Taxonomy, labels: IntArray) -> tuple[IntArray, FloatArray]:
    """Rank that each label prefers at each position, and η / s_max, the weight of a rank beside it; (U, C) each."""
    profiles = rank_profiles(distance_counts(taxonomy, labels))
    preferred = preferred_ranks(profiles)
    weights = decay_weights(profiles, preferred)
    worst = reversed_disorder(preferred, weights)[:, None]
    return preferred, np.divide(weights, worst, out=np.zeros_like(weights), where=worst > 0)


@dataclass(frozen=True)
class Siblings:
    """The F sets of classes with one parent, whose labels weigh the positions alike."""

    of_class: IntArray  # (C,) set of each class
    first: IntArray  # (F,) first class of each set
    totals: FloatArray  # (F,) sum of the weights of all positions
    below: IntArray  # (1 + N,) a set at or below the root and each node
    shapes: FloatArray | None  # (F, C) weight of each position by these sums; None if the table would be large

    def shapes_of(self, taxonomy: Taxonomy, sets: IntArray) -> tuple[IntArray, FloatArray]:
        """Some of the sets, shape (U,), at least the given ones, and their shapes, shape (U, C)."""
        if self.shapes is not None:
            return np.arange(len(self.first)), self.shapes
        used = np.unique(sets)
        return used, wanted_ranks(taxonomy, self.first[used])[1] / self.totals[used, None]


_siblings: "weakref.WeakKeyDictionary[Taxonomy, Siblings]" = weakref.WeakKeyDictionary()


def sibling_sets(taxonomy: Taxonomy) -> Siblings:
    """The sets of classes with one parent, found once per taxonomy."""
    if taxonomy not in _siblings:
        _, first, of_class = np.unique(taxonomy.parents[taxonomy.leaves], return_index=True, return_inverse=True)
        parts = np.array_split(first, 1 + len(first) * taxonomy.num_classes // TABLE)
        weights = [wanted_ranks(taxonomy, part)[1] for part in parts[:1]]
        sums = [weights[0].sum(axis=1), *(wanted_ranks(taxonomy, part)[1].sum(axis=1) for part in parts[1:])]
        totals = np.concatenate(sums)
        totals[totals == 0] = 1.0  # all other classes are equally far
        below = np.full(1 + taxonomy.num_nodes, len(first) - 1)
        below[1 + taxonomy.leaves] = of_class
        for level in range(taxonomy.height, 0, -1):
            nodes = _level(taxonomy, level)
            np.minimum.at(below, 1 + taxonomy.parents[nodes - 1], below[nodes])
        shapes = weights[0] / totals[:, None] if len(parts) == 1 else None
        _siblings[taxonomy] = Siblings(of_class, first, totals, below, shapes)
    return _siblings[taxonomy]


def _level(taxonomy: Taxonomy, level: int) -> IntArray:
    """Nodes of a level, counted from 1: 0 is the root."""
    nodes = taxonomy.level(level)
    return np.arange(nodes.start, nodes.stop) + 1


def tree_blocks(posterior: Posterior, answers: IntArray, *, exact: bool) -> Iterator[list[Block]]:
    """Expected costs of samples of a tree with about as many groups, as many together as memory allows."""
    taxonomy, count = posterior.taxonomy, posterior.taxonomy.num_classes
    probable = np.ones((len(posterior), 1 + taxonomy.num_nodes), dtype=bool)
    values = posterior.nodes * classes_below(taxonomy) ** 2.0
    probable[:, 1:] = (taxonomy.child_counts > 0) & (values > (0.0 if exact else PROBABLE * count))
    sizes = probable.sum(axis=1)
    rows = np.argsort(sizes, kind="stable")
    while len(rows):
        entries = np.arange(1, 1 + len(rows)) * sizes[rows] * count
        batch, rows = np.split(rows, [max(1, int(np.searchsorted(entries, TABLE, side="right")))])
        width = int(sizes[batch[-1]])
        some = max(1, BLOCK // (width * count))
        parts = [batch[start : start + some] for start in range(0, len(batch), some)]
        least = 0.0 if exact else NEGLIGIBLE
        yield [
            _tree_block(posterior, part, answers[part], probable[part], width=width, negligible=least) for part in parts
        ]


def _tree_block(
    posterior: Posterior,
    numbers: IntArray,
    answers: IntArray,
    probable: NDArray[np.bool_],
    *,
    width: int,
    negligible: float,
) -> Block:
    """Expected costs of a group for each probable node, shape (B, 1 + N), the root first; those above are probable."""
    taxonomy, sets, count = posterior.taxonomy, sibling_sets(posterior.taxonomy), len(numbers)
    classes, leaves, own_rows = posterior.classes[numbers], 1 + taxonomy.leaves, np.arange(count)[:, None]
    sizes, above = np.append(taxonomy.num_classes, classes_below(taxonomy)), np.append(0, 1 + taxonomy.parents)
    steps = sizes < sizes[above]  # an only child's classes are as far away as its parent's
    groups = np.where(probable, np.cumsum(probable, axis=1) - 1, 0)
    tails = node_values(classes * sets.totals[sets.of_class], taxonomy)
    tails = np.column_stack([np.zeros(count), descendant_sums(tails, taxonomy)]) * (steps & ~probable)
    for level in range(1, taxonomy.height + 1):
        nodes = _level(taxonomy, level)
        own, parents = probable[:, nodes], above[nodes]
        groups[:, nodes] = np.where(own, groups[:, nodes], groups[:, parents])
        tails[:, nodes] += np.where(own, 0.0, tails[:, parents])
    rows, nodes = np.nonzero(probable)
    node_of = np.zeros((count, width), dtype=np.int64)
    node_of[rows, groups[rows, nodes]] = nodes
    parents = groups[own_rows, above[node_of]]
    members = csr_array((np.ones(len(leaves)), (np.arange(len(leaves)), sets.of_class)))
    shares = classes @ members  # (B, F)
    rows, of_set = np.nonzero(shares > negligible)
    shape_of = sets.below[node_of]
    used, shapes = sets.shapes_of(taxonomy, np.append(of_set, shape_of))
    entries = (groups[rows, leaves[sets.first[of_set]]] + width * rows, np.searchsorted(used, of_set))
    own_labels = (shares[rows, of_set] * sets.totals[of_set], entries)
    own_weights = csr_array(own_labels, shape=(node_of.size, len(used))) @ shapes
    costs = _summed_along_paths(own_weights, parents, np.where(steps, sizes, -1)[node_of].reshape(-1))
    weights = np.column_stack([np.zeros(count), posterior.nodes[numbers]])[own_rows, node_of] * sizes[node_of]
    queue = queued(groups[:, leaves], tails[:, leaves], answers)
    costs, shape_of = costs.reshape(count, width, -1), np.searchsorted(used, shape_of)
    return Block(numbers, *queue, costs, shapes, shape_of, weights, parents)


def _summed_along_paths(weights: FloatArray, parents: IntArray, sizes: IntArray) -> FloatArray:
    """Costs of groups from the weights of their own labels, shape (B G, C).

    Args:
        weights: Σ p_y η_y / s_max(y) over the labels of each group, shape (B G, C).
        parents: group above each one, shape (B, G); the first stands above itself.
        sizes: number n of classes at or below each group's node, shape (B G,); -1 for a node that adds no step.
    """
    rows, width = parents.shape
    above = (parents + width * np.arange(rows)[:, None]).reshape(-1)
    every = upper = np.arange(len(above))
    pairs = [np.stack([every, every])]
    while (upper % width).any():
        every, upper = every[upper % width > 0], above[upper[upper % width > 0]]
        pairs.append(np.stack([every, upper]))
    groups, uppers = np.concatenate(pairs, axis=1)
    paths = csr_array((np.ones(len(groups)), (groups, uppers)), shape=(len(above), len(above)))
    below = paths.T.tocsr() @ weights  # (B G, C)
    positions = np.arange(weights.shape[1])
    below *= np.where(positions < sizes[:, None], -1.0, 1.0)
    below[sizes < 0] = 0.0
    costs: FloatArray = paths @ below
    return costs


def graph_blocks(posterior: Posterior, answers: IntArray, *, exact: bool) -> Iterator[list[Block]]:  # noqa: ARG001
    """Expected costs of samples of a graph; classes of equal ranks for all likely labels are a group."""
    taxonomy, count = posterior.taxonomy, posterior.taxonomy.num_classes
    size = max(1, TABLE // count**2)
    for start in range(0, len(posterior), size):
        rows = np.arange(start, min(start + size, len(posterior)))
        found = [_graph_costs(taxonomy, row) for row in posterior.classes[rows]]
        zeros = np.zeros((len(rows), max(len(costs) for _, costs in found)), dtype=np.int64)
        costs, weights = np.zeros((*zeros.shape, count)), np.zeros(zeros.shape)
        for row, (groups, values) in enumerate(found):
            costs[row, : len(values)] = values
            weights[row, : len(values)] = np.bincount(groups, posterior.classes[rows[row]])
        queue = queued(np.stack([groups for groups, _ in found]), np.zeros((len(rows), count)), answers[rows])
        yield [Block(rows, *queue, costs, np.zeros((1, count)), zeros, weights, zeros)]


def _graph_costs(taxonomy: Taxonomy, probabilities: FloatArray) -> tuple[IntArray, FloatArray]:
    """Group of each class, shape (C,), and the expected cost of each group at each position, shape (G, C)."""
    labels = likely_labels(probabilities)
    preferred, weights = wanted_ranks(taxonomy, labels)
    ranks, groups = np.unique(label_ranks(taxonomy, labels), axis=1, return_inverse=True)
    costs = np.zeros((ranks.shape[1], taxonomy.num_classes))
    for own, wanted, weight in zip(ranks, preferred, weights * probabilities[labels, None], strict=True):
        costs += weight * np.abs(wanted - own[:, None])
    return groups.reshape(-1), costs


def _urgency(costs: FloatArray) -> NDArray[np.float32]:
    """Cost at each position less the mean cost at the later ones: (S, C) to (C, S)."""
    urgency = np.ascontiguousarray(costs.T)
    later = np.cumsum(urgency[:0:-1], axis=0)
    later /= np.arange(1, len(urgency))[:, None]
    urgency[:-1] -= later[::-1]
    return urgency.astype(np.float32)


def _filled(blocks: list[Block]) -> IntArray:
    """Group at each position, filled from the second to the last, shape (B, C)."""
    groups, width = np.concatenate([block.groups for block in blocks]), blocks[0].weights.shape[1]
    rows, count = groups.shape
    first = width * np.arange(rows)
    sizes = np.bincount((groups[:, 1:] + first[:, None]).reshape(-1), minlength=rows * width)
    ends = np.cumsum(sizes) + np.repeat(1 + np.arange(rows), width)  # in the queues, each behind its answer
    heads = ends - sizes
    tails = np.append(np.concatenate([block.tails for block in blocks]), 0.0).astype(np.float32)
    columns = np.concatenate([_urgency(block.costs.reshape(-1, count)) for block in blocks], axis=1)  # (C, B G)
    tables = {id(block.shapes): block.shapes for block in blocks}  # one, or one of each block
    starts = dict(zip(tables, np.cumsum([0, *map(len, tables.values())]), strict=False))
    shapes = np.concatenate([_urgency(table) for table in tables.values()], axis=1)
    shape_of = np.concatenate([block.shape_of + starts[id(block.shapes)] for block in blocks]).reshape(-1)
    waiting, closed = tails[heads], np.where(sizes > 0, np.float32(0), np.float32(np.inf))
    for position in range(1, count):
        values = shapes[position].take(shape_of)
        values *= waiting
        values += columns[position]
        values += closed
        chosen = values.reshape(rows, width).argmin(axis=1)
        groups[:, position] = chosen
        chosen += first
        following = heads.take(chosen) + 1
        heads[chosen] = following
        waiting[chosen] = tails.take(following)
        closed[chosen[following == ends.take(chosen)]] = np.inf
    return groups


def _places(groups: IntArray) -> IntArray:
    """Place in the queue of the class at each position, shape (C,), from the group at each position."""
    places = np.zeros_like(groups)
    places[1 + np.argsort(groups[1:], kind="stable")] = np.arange(1, len(groups))
    return places


def _improve(block: Block, row: int, groups: IntArray, runs: list[tuple[IntArray, int]]) -> None:
    """Assign the classes at the ends of runs anew, in place, until that gains nothing.

    Args:
        block: costs of some samples.
        row: one of these samples.
        groups: its group at each position, shape (C,).
        runs: the group that stands for each group, shape (G,), and the number of places beside the ends, in turn.
    """
    turns = 0
    for part, beside in runs:
        while (
            turns < MOST_TURNS
            and _assign(block, row, groups, _run_ends(part[groups[1:]], block.weights[row], beside)) > LEAST_GAIN
        ):
            turns += 1
        if not turns:
            break


def _assign(block: Block, row: int, groups: IntArray, positions: IntArray) -> float:
    """Assign the classes at some positions anew, in place; the gain in expected HOPS."""
    from scipy.optimize import linear_sum_assignment  # late: predictions without it start sooner

    table = block.table(row, _places(groups)[positions], positions)
    chosen = linear_sum_assignment(table)[1]
    groups[positions] = groups[positions[chosen]]
    return float(np.trace(table) - table[np.arange(len(table)), chosen].sum())


def _run_ends(parts: IntArray, weights: FloatArray, beside: int) -> IntArray:
    """Positions at both ends of the runs of the heaviest parts, and so many beside them.

    Args:
        parts: part at each position from the second on, shape (C - 1,).
        weights: weight of each part, shape (G,).
        beside: number of positions on either side of each end.
    """
    ends = np.append(np.flatnonzero(parts[1:] != parts[:-1]), len(parts) - 1)
    if len(ends) > MOST_ENDS:
        heavier = np.maximum(weights[parts[ends]], weights[parts[np.minimum(ends + 1, len(parts) - 1)]])
        ends = ends[np.argsort(-heavier, kind="stable")[:MOST_ENDS]]
    marked = np.zeros(len(parts) + beside + 2, dtype=bool)
    for step in range(beside + 1):
        marked[ends + 1 + step] = True
        marked[np.maximum(ends - step, 0)] = True
    return 1 + np.flatnonzero(marked[: len(parts)])
