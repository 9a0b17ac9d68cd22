"""One-vs-rest problems at the inner nodes of a tree, each solved on the rows below its node alone."""

import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, issparse, vstack

from hiercos.methods.linear.problem_features import ScaledRows, used_columns
from hiercos.methods.linear.tree_search import FamilyWeights
from hiercos.methods.solver import LabelledFeatures
from hiercos.taxonomy import AnyArray, Floats, IntArray, Taxonomy, nodes_of_labels

WIDE = 24  # children up to which a node is never split
MOST_PRODUCTS = 10**9  # stored entries of the rows of a node times its children, beyond which a wide node is split
LARGEST_GROUP = 0.9  # share of the children in one group beyond which groups of equal sizes replace those of k-means
MOST_COEFFICIENTS = 1 << 24  # of the children that are solved together, before small ones are dropped
SMALL = 0.03  # weights of sparse features that are dropped, on rows of mean squared norm 1
TOLERANCE = 0.1  # of liblinear's dual; the held-out losses at 0.0001 are the same to three digits
SCORED_ROWS = 4096


class Family(NamedTuple):
    """Children of an inner node, from `first` to before `end`, the R rows below them, and the child of each row."""

    first: int
    end: int
    rows: IntArray
    children: IntArray


def row_families(tree: Taxonomy, nodes: IntArray) -> Iterator[Family]:
    """The families of all inner nodes with rows below them, for rows labelled with nodes (M,)."""
    current = nodes.copy()
    for level in range(tree.height, 0, -1):
        rows = np.flatnonzero((current >= 0) & (tree.depths[current] == level))
        parents = tree.parents[current[rows]]
        order = np.argsort(parents, kind="stable")
        for part in np.split(order, np.flatnonzero(np.diff(parents[order])) + 1) if len(rows) else ():
            first, end = np.searchsorted(tree.parents, [parents[part[0]], parents[part[0]] + 1])
            yield Family(int(first), int(end), rows[part], current[rows[part]])
        current[rows] = parents


@dataclass(eq=False)
class WideNodes:
    """Splits wide nodes by virtual ones: groups of children whose centroids are close, in groups again if need be."""

    parents: list[int]  # of each node so far, the real ones first
    entries: list[int]  # stored entries of the rows at or below each node
    seed: int
    centroids: dict[int, Any]  # sums of the rows below each child of the node that is being split, shape (1, F)

    def split(self, parent: int, children: Sequence[int]) -> None:
        """Put children below a parent, directly or below virtual nodes."""
        nodes = list(children)
        while len(nodes) > WIDE and sum(self.entries[node] for node in nodes) * len(nodes) > MOST_PRODUCTS:
            nodes = [group[0] if len(group) == 1 else self._above(group) for group in self._groups(nodes)]
        for node in nodes:
            self.parents[node] = parent

    def _above(self, group: Sequence[int]) -> int:
        """A new virtual node above a group."""
        node = len(self.parents)
        self.parents.append(-1)
        self.entries.append(sum(self.entries[child] for child in group))
        self.centroids[node] = sum((self.centroids[child] for child in group[1:]), self.centroids[group[0]])
        self.split(node, group)
        return node

    def _groups(self, nodes: Sequence[int]) -> list[list[int]]:
        """Close nodes in groups, about as many as the square root of their number."""
        from sklearn.cluster import KMeans
        from sklearn.preprocessing import normalize

        count, rows = math.isqrt(len(nodes)), [self.centroids[node] for node in nodes]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # fewer distinct centroids than groups
            machine = KMeans(count, n_init=1, max_iter=20, random_state=self.seed)
            found = machine.fit_predict(normalize(vstack(rows, format="csr") if issparse(rows[0]) else np.vstack(rows)))
        if np.bincount(found).max() > LARGEST_GROUP * len(nodes):
            found = np.arange(len(nodes)) * count // len(nodes)
        return [[nodes[int(place)] for place in np.flatnonzero(found == group)] for group in np.unique(found)]


def tree_of_parents(taxonomy: Taxonomy, parents: IntArray) -> tuple[Taxonomy, IntArray, IntArray]:
    """A tree with virtual nodes; the place of each node in it, shape (K,); the level of each of its nodes, from 0.

    The level of a virtual node is that of the nodes that it groups, whose temperature it has.

    Raises:
        ValueError: if the tree without its virtual nodes is not the taxonomy; a TaxonomyError for parents of no tree.
    """
    count = taxonomy.num_nodes
    if np.array_equal(parents, taxonomy.parents):
        return taxonomy, np.arange(count), taxonomy.depths - 1
    tree = Taxonomy.from_arrays([str(node) for node in range(len(parents))], parents, taxonomy.leaves)
    real = parents
    while (real >= count).any():
        real = np.where(real >= count, parents[real], real)
    if not np.array_equal(real[:count], taxonomy.parents):
        raise ValueError("expected virtual nodes within the taxonomy")
    order = np.array(tree.names, dtype=np.int64)
    return tree, np.argsort(order), np.where(real < 0, 0, taxonomy.depths[real])[order]


class NodeWeights(NamedTuple):
    """Weights of one child against its siblings, shape (E,), with their columns among the features, and its bias."""

    node: int
    columns: IntArray
    values: AnyArray
    bias: float


class TreeWeights(NamedTuple):
    """Weights of all K nodes of a tree."""

    matrix: Any  # (F, K), dense or sparse CSR
    bias: AnyArray  # (K,)
    seen: NDArray[np.bool_]  # (K,) whether a node has training rows


def assembled(parts: Sequence[NodeWeights], features: Any, count: int) -> TreeWeights:
    """Weights of K nodes, from those that have rows; sparse if the features (M, F) are."""
    shape = (features.shape[1], count)
    bias, sizes, seen = np.zeros(count), np.zeros(count, np.int64), np.zeros(count, np.bool_)
    for part in (parts := sorted(parts, key=lambda part: part.node)):
        bias[part.node], sizes[part.node], seen[part.node] = part.bias, len(part.columns), True
    columns = np.concatenate([np.empty(0, np.int32), *(part.columns for part in parts)])
    values = np.concatenate([np.empty(0, np.float32), *(part.values for part in parts)])
    matrix = csc_array((values, columns, np.append(0, np.cumsum(sizes))), shape)
    return TreeWeights(matrix.tocsr() if issparse(features) else matrix.toarray(), bias, seen)


class SiblingMargins(NamedTuple):
    """Margins of R nodes on the paths of held-out rows, each with those of its siblings."""

    values: Floats  # (E,) margins of the first node and its siblings, then of the next ones
    starts: IntArray  # (R,) place of the first value of each node
    is_own: NDArray[np.bool_]  # (E,) whether a value is that of the node itself
    weights: AnyArray  # (R,) weight of the row of each node

    def loss(self, inverse: float) -> float:
        """Summed log-loss of the softmax of siblings at an inverse temperature, and of one row that may be of any.

        Without the latter, the smallest loss of rows that are all right would need probabilities of 0 and 1.
        """
        sizes = np.diff(self.starts, append=len(self.values))
        logs = inverse * self.values
        logs -= np.repeat(np.maximum.reduceat(logs, self.starts), sizes)
        logs -= np.repeat(np.log(np.add.reduceat(np.exp(logs), self.starts)), sizes)
        return float(-(self.weights * logs[self.is_own]).sum() - logs.mean())

    def best_inverse(self) -> tuple[float, float]:
        """The inverse temperature of the smallest loss, and that loss."""
        from scipy.optimize import minimize_scalar  # late: predictions without it start sooner

        found = minimize_scalar(lambda log: self.loss(math.exp(log)), bounds=(-4, 6), method="bounded")
        return math.exp(found.x), float(found.fun)


class SiblingProblem:
    """The problems of all inner nodes of a tree, whose wide nodes are split by virtual ones.

    Features are scaled to a mean squared norm of 1, so that the same strengths suit all; dense ones are centred.

    Args:
        train: training samples, labelled with classes or inner nodes.
        taxonomy: the tree.
        seed: seed of the clustering and of the order of the rows.
    """

    def __init__(self, train: LabelledFeatures, taxonomy: Taxonomy, seed: int) -> None:
        self.taxonomy, self.seed, self.weights = taxonomy, seed, train.weights
        self.scaled = ScaledRows(train.features)
        self.features = self.scaled.rows
        is_sparse = issparse(self.features)
        self.entries = np.diff(self.features.indptr).astype(np.int64) if is_sparse else np.full(*self.features.shape)
        nodes = nodes_of_labels(train.labels, taxonomy)
        self.parents = self._split(nodes)
        self.tree, self.places, self.levels = tree_of_parents(taxonomy, self.parents)
        self.families = list(row_families(self.tree, self.places[nodes]))

    def _split(self, nodes: IntArray) -> IntArray:
        """Parents of the nodes of the taxonomy, then of virtual nodes that split its wide ones, shape (K,)."""
        below, wide = np.zeros(self.taxonomy.num_nodes), []
        for family in row_families(self.taxonomy, nodes):
            below += np.bincount(family.children, self.entries[family.rows], minlength=len(below))
            if family.end - family.first > WIDE and self._products(family) > MOST_PRODUCTS:
                wide.append(family)
        split = WideNodes(self.taxonomy.parents.tolist(), below.astype(np.int64).tolist(), self.seed, {})
        for first, end, rows, children in wide:
            ones, places = np.ones(len(rows), np.float32), np.arange(len(rows) + 1, dtype=np.int32)
            of_child = csc_array((ones, (children - first).astype(np.int32), places), (end - first, len(rows)))
            sums = of_child.tocsr() @ self.features[rows]
            split.centroids = {first + place: sums[[place]] for place in range(end - first)}
            split.split(int(self.taxonomy.parents[first]), range(first, end))
        return np.array(split.parents)

    def _products(self, family: Family) -> int:
        return int(self.entries[family.rows].sum()) * (family.end - family.first)

    def sample(self, most: int) -> tuple[list[Family], list[Family]]:
        """Families in random order while their products are at most a number, at least the cheapest; and the rest."""
        costs = np.array([self._products(family) for family in self.families])
        order = np.random.default_rng(self.seed).permutation(len(costs))
        order = order[np.argsort(costs[order] > max(most / 2, costs.min()), kind="stable")]  # expensive ones last
        count = max(1, int((np.cumsum(costs[order]) <= most).sum()))
        return [self.families[place] for place in order[:count]], [self.families[place] for place in order[count:]]

    def solve(self, chosen: Sequence[Family], strength: float) -> list[NodeWeights]:
        """Weights of the nodes of families that have rows, at `C` of LinearSVC."""
        return [node for family in chosen for node in self._solved(family, strength)]

    def _solved(self, family: Family, strength: float) -> Iterator[NodeWeights]:
        from sklearn.svm import LinearSVC

        found, own = np.unique(family.children), self.features[family.rows]
        if len(found) == 1:  # the optimum where all rows are of one child
            yield NodeWeights(int(found[0]), np.empty(0, np.int32), np.empty(0, np.float32), 1.0)
            return
        own, columns = used_columns(own)
        least = SMALL if issparse(own) else 0.0
        at_once = max(1, MOST_COEFFICIENTS // max(1, len(columns)))
        for chosen in np.split(found, range(at_once, len(found), at_once)):
            labels = np.where(np.isin(family.children, chosen), family.children, family.end)  # the rest comes last
            machine = LinearSVC(C=strength, tol=TOLERANCE, dual=True, random_state=self.seed)
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
                machine.fit(own, labels, sample_weight=None if self.weights is None else self.weights[family.rows])
            rows, biases = machine.coef_, machine.intercept_
            if len(machine.classes_) == 2:  # one row separates two classes
                rows, biases = np.concatenate([-rows, rows]), np.concatenate([-biases, biases])
            for node, row, bias in zip(chosen.tolist(), rows, biases.tolist(), strict=False):
                kept = np.abs(row) >= least
                yield NodeWeights(node, columns[kept].astype(np.int32), row[kept].astype(np.float32), bias)

    def assembled(self, parts: Sequence[NodeWeights]) -> TreeWeights:
        """Weights of all nodes of the tree; zeros for those without rows."""
        return assembled(parts, self.features, self.tree.num_nodes)

    def as_given(self, solved: TreeWeights, inverses: AnyArray) -> TreeWeights:
        """Weights for features as they are given, times an inverse temperature of each node, shape (K,).

        The bias of a node without rows is that of its margin below the least one of its siblings.
        """
        matrix, bias = self.scaled.as_given(solved.matrix, solved.bias * inverses, inverses)
        return TreeWeights(matrix, np.where(solved.seen, bias, -inverses).astype(np.float32), solved.seen)

    def margins(self, solved: TreeWeights, held_out: LabelledFeatures) -> dict[int, SiblingMargins]:
        """Margins of held-out samples by level, of nodes with siblings; those without training rows are left out."""
        given, tree, parts = self.as_given(solved, np.ones(self.tree.num_nodes, np.float32)), self.tree, []
        families = FamilyWeights(tree, given.matrix, given.bias, given.seen)
        paths = tree.path_table(self.places[nodes_of_labels(held_out.labels, self.taxonomy)])
        weights = np.ones(len(held_out)) if held_out.weights is None else held_out.weights
        first, sizes = families.first[tree.parents + 1], families.sizes[tree.parents + 1]
        counts = np.append(0, np.cumsum(solved.seen))
        usable = np.append(solved.seen & (counts[first + sizes] - counts[first] > 1), False)  # the last: an ended path
        for start in range(0, len(held_out), SCORED_ROWS):
            rows, columns = np.nonzero(usable[paths[start : start + SCORED_ROWS]])
            path = paths[start + rows, columns]  # (R,)
            order = np.argsort(tree.parents[path], kind="stable")
            rows, path = start + rows[order], path[order]
            values, starts = families.margins(held_out.features, rows, tree.parents[path])
            owners = np.repeat(np.arange(len(path)), sizes[path])
            siblings = np.arange(len(values)) + np.repeat(first[path] - starts, sizes[path])  # (E,)
            seen = solved.seen[siblings]
            values, owners, siblings = values[seen], owners[seen], siblings[seen]
            own, place = siblings == path[owners], start * tree.height + owners
            parts.append((values, place, own, weights[rows[owners]], siblings))
        values, owners, own, weights, siblings = (np.concatenate(each) for each in zip(*parts, strict=True))
        found = {}
        for level in np.unique(self.levels[siblings]).tolist():
            here = self.levels[siblings] == level
            starts = np.flatnonzero(np.diff(owners[here], prepend=-1))
            found[level] = SiblingMargins(values[here], starts, own[here], weights[here][starts])
        return found
