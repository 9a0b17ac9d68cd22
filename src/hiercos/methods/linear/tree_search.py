"""Best-first search of a tree with linear weights at its inner nodes: the likeliest nodes without all of them."""

import itertools
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from hiercos.taxonomy import AnyArray, Floats, IntArray, Taxonomy

AT_ONCE = 4  # nodes of a row that are opened in one round
ROWS_AT_ONCE = 2048  # rows that are searched together


class Nodes(NamedTuple):
    """Nodes with their log-probabilities: E entries, each of one row."""

    rows: IntArray
    nodes: IntArray  # of the tree with virtual nodes; -1 the root
    logs: Floats

    def take(self, chosen: Any) -> "Nodes":
        """The chosen entries."""
        return Nodes(*(part[chosen] for part in self))

    def plus(self, other: "Nodes") -> "Nodes":
        """The entries of both."""
        return Nodes(*(np.concatenate(parts) for parts in zip(self, other, strict=True)))

    def best(self, count: int) -> "Nodes":
        """The likeliest entries of each row, the lower node first among equals, by row."""
        ordered = self.take(np.lexsort((self.nodes, -self.logs, self.rows)))
        places = np.arange(len(ordered.rows)) - np.searchsorted(ordered.rows, ordered.rows)
        return ordered.take(places < count)


class FamilyWeights:
    """Weights (F, K) of the nodes of a tree by family: the siblings below one parent, for the features that they use.

    Args:
        tree: tree of K nodes, siblings next to each other.
        matrix: sparse CSR or dense weights, shape (F, K).
        bias: shape (K,).
        seen: whether each node had training rows, shape (K,).
    """

    def __init__(self, tree: Taxonomy, matrix: Any, bias: AnyArray, seen: NDArray[np.bool_]) -> None:
        self.bias, self.seen, self.matrix = bias.astype(np.float64), seen, matrix
        ends = np.searchsorted(tree.parents, np.arange(-1, tree.num_nodes), side="right")
        self.first, self.sizes = np.append(0, ends[:-1]), np.diff(ends, prepend=0)  # (K + 1,) the root's first
        if issparse(matrix):
            self._by_family(tree.parents + 1)

    def _by_family(self, families: IntArray) -> None:
        """Order weights by family, then feature: each pair of these is a key, with a row of weights of its own."""
        weights, shape = self.matrix, (self.matrix.shape[0], len(self.sizes))
        entries = np.arange(weights.nnz, dtype=np.int32)
        ordered = csr_array((entries, families[weights.indices].astype(np.int32), weights.indptr), shape).tocsc()
        features, entries = ordered.indices, ordered.data
        is_new = np.diff(features, prepend=-1) != 0
        is_new[ordered.indptr[:-1][ordered.indptr[:-1] < weights.nnz]] = True
        starts = np.flatnonzero(is_new)
        self.key_features = features[starts]
        self.keys = np.searchsorted(starts, ordered.indptr)  # (K + 2,) first key of each family
        nodes = weights.indices[entries]
        columns = nodes - self.first[families[nodes]].astype(nodes.dtype)
        bounds = np.concatenate([[0], starts, [weights.nnz]])  # row 0, of other features, has no weights
        shape = (len(starts) + 1, int(self.sizes.max()))
        self.of_keys = csr_array((weights.data[entries], columns, bounds), shape)

    def margins(self, features: Any, rows: IntArray, parents: IntArray) -> tuple[Floats, IntArray]:
        """Margins of the children of parents, each for a row of the features.

        Args:
            features: sparse CSR or dense features, shape (M, F).
            rows: row of each pair, shape (P,).
            parents: parent of each pair, -1 the root, in ascending order, shape (P,).

        Returns:
            Margins of the children of the first pair, then of the next ones, shape (E,), and where each pair's begin.
        """
        families, sizes = parents + 1, self.sizes[parents + 1]
        starts = np.cumsum(sizes) - sizes
        own = np.arange(sizes.sum()) + np.repeat(self.first[families] - starts, sizes)  # (E,) children
        values = self.bias[own]
        bounds = np.append(np.flatnonzero(np.diff(families, prepend=-1)), len(families)).tolist()
        if not issparse(self.matrix):
            for begin, end in itertools.pairwise(bounds):
                first, size = self.first[families[begin]], self.sizes[families[begin]]
                product = features[rows[begin:end]].astype(np.float64) @ self.matrix[:, first : first + size]
                values[starts[begin] : starts[begin] + product.size] += product.ravel()
            return values, starts
        chosen = features[rows]
        keys, key_of = np.empty(chosen.nnz, np.int32), np.zeros(features.shape[1], np.int32)
        for begin, end in itertools.pairwise(bounds):
            known = slice(*self.keys[families[begin] : families[begin] + 2])
            own_features, entries = self.key_features[known], slice(chosen.indptr[begin], chosen.indptr[end])
            key_of[own_features] = np.arange(known.start + 1, known.stop + 1)
            keys[entries] = key_of[chosen.indices[entries]]
            key_of[own_features] = 0
        found = csr_array((chosen.data, keys, chosen.indptr), (len(rows), self.of_keys.shape[0])) @ self.of_keys
        values[np.repeat(starts, np.diff(found.indptr)) + found.indices] += found.data
        return values, starts

    def children(self, features: Any, parents: Nodes) -> Nodes:
        """The children of nodes with their log-probabilities: softmax of siblings on top of those of the parents."""
        parents = parents.take(np.argsort(parents.nodes, kind="stable"))
        sizes = self.sizes[parents.nodes + 1]
        values, starts = self.margins(features, parents.rows, parents.nodes)
        nodes = np.arange(len(values)) + np.repeat(self.first[parents.nodes + 1] - starts, sizes)
        if not self.seen.all():  # those without training rows stand below all of their siblings
            seen = self.seen[nodes]
            least = np.minimum.reduceat(np.where(seen, values, np.inf), starts)
            least[least == np.inf] = 0
            values = np.where(seen, values, np.repeat(least, sizes) + self.bias[nodes])
        values -= np.repeat(np.maximum.reduceat(values, starts), sizes)
        values -= np.repeat(np.log(np.add.reduceat(np.exp(values), starts)), sizes)
        return Nodes(np.repeat(parents.rows, sizes), nodes, values + np.repeat(parents.logs, sizes))


@dataclass(frozen=True, eq=False)
class TreeSearch:
    """Searches a tree for the likeliest nodes of M rows of features.

    Attributes:
        weights: weights of the tree with its virtual nodes.
        tree: that tree.
        places: its node for each node of the taxonomy, shape (N,).
        features: sparse CSR or dense features, shape (M, F).
    """

    weights: FamilyWeights
    tree: Taxonomy
    places: IntArray
    features: Any

    def __len__(self) -> int:
        return int(self.features.shape[0])

    def rows(self, chosen: Any) -> Self:
        """The search for the chosen rows."""
        return replace(self, features=self.features[chosen])

    def best_classes(self, count: int, starts: IntArray | None = None, logs: Floats | None = None) -> tuple[Any, Any]:
        """The likeliest classes of each row, best first, exactly.

        Args:
            count: number of classes.
            starts: V nodes of the taxonomy to search below; the root by default.
            logs: their log-probabilities, shape (M, V); only with `starts`.

        Returns:
            Classes, -1 where there are fewer, and log-probabilities, both of shape (M, count).
        """
        is_class = np.zeros(self.tree.num_nodes, np.bool_)
        is_class[self.tree.leaves] = True
        class_of = np.full(self.tree.num_nodes + 1, -1)
        class_of[self.tree.leaves] = np.arange(len(self.tree.leaves))
        nodes = np.array([-1]) if starts is None else self.places[starts]
        found = self._searched(self._started(nodes, logs), count, is_class)
        return class_of[found[0]], found[1]

    def best_children(self, nodes: IntArray) -> IntArray:
        """The likeliest child of one node of each row, -1 the root: (M,) to (M,); -1 for a class."""
        node_of = np.full(self.tree.num_nodes + 1, -1)
        node_of[self.places] = np.arange(len(self.places))
        inner = np.flatnonzero(self.weights.sizes[self._placed(nodes) + 1] > 0)
        started = Nodes(inner, self._placed(nodes[inner]), np.zeros(len(inner)))
        return node_of[self._searched(started, 1, node_of[:-1] >= 0)[0][:, 0]]

    def logs(self, nodes: IntArray) -> Floats:
        """Log-probability of one node for each row, -1 the root: (M,) to (M,)."""
        found = np.zeros(len(self))
        current = self._placed(nodes)
        while (rows := np.flatnonzero(current >= 0)).size:
            own = current[rows]
            current[rows] = self.tree.parents[own]
            for part in np.array_split(np.arange(len(rows)), -(-len(rows) // ROWS_AT_ONCE)):
                above = Nodes(rows[part], self.tree.parents[own[part]], np.zeros(len(part)))
                children = self.weights.children(self.features, above)
                target = np.full(len(self), -1)
                target[rows[part]] = own[part]
                chosen = children.take(children.nodes == target[children.rows])
                found[chosen.rows] += chosen.logs
        return found

    def _placed(self, nodes: IntArray) -> IntArray:
        return np.where(nodes < 0, -1, self.places[nodes])

    def _started(self, nodes: IntArray, logs: Floats | None) -> Nodes:
        rows = np.repeat(np.arange(len(self)), len(nodes))
        values = np.zeros(len(rows)) if logs is None else logs.ravel()
        return Nodes(rows, np.tile(nodes, len(self)), values)

    def _searched(self, started: Nodes, count: int, is_goal: NDArray[np.bool_]) -> tuple[IntArray, Floats]:
        """The likeliest nodes among goals of each row and their log-probabilities, (M, count), -1 where fewer."""
        nodes, logs = np.full((len(self), count), -1), np.full((len(self), count), -np.inf)
        started = started.take(np.argsort(started.rows, kind="stable"))
        for first in range(0, len(self), ROWS_AT_ONCE):
            bounds = np.searchsorted(started.rows, [first, first + ROWS_AT_ONCE])
            found = self._best_goals(started.take(slice(*bounds)), count, is_goal)
            places = np.arange(len(found.rows)) - np.searchsorted(found.rows, found.rows)
            nodes[found.rows, places], logs[found.rows, places] = found.nodes, found.logs
        return nodes, logs

    def _best_goals(self, opened: Nodes, count: int, is_goal: NDArray[np.bool_]) -> Nodes:
        """The likeliest goals below the opened nodes of each row; below a node no probability is above its own."""
        is_start_goal = (opened.nodes >= 0) & is_goal[opened.nodes] & (self.weights.sizes[opened.nodes + 1] == 0)
        found, opened = opened.take(is_start_goal).best(count), opened.take(~is_start_goal)
        while len(opened.rows):
            chosen = opened.best(max(AT_ONCE, count if count == len(self.tree.leaves) else 0))
            key, others = (each.rows * (self.tree.num_nodes + 1) + each.nodes for each in (opened, chosen))
            children = self.weights.children(self.features, chosen)
            reached = is_goal[children.nodes]
            found = found.plus(children.take(reached)).best(count)
            bounds = np.full(len(self), -np.inf)
            starts, sizes = np.unique(found.rows, return_index=True, return_counts=True)[1:]
            full = starts[sizes == count]
            bounds[found.rows[full]] = found.logs[full + count - 1]
            opened = opened.take(~np.isin(key, others)).plus(children.take(~reached))
            opened = opened.take(opened.logs > bounds[opened.rows])
        return found
