"""The problem of each node of a taxonomy: which samples of all of its parents are samples of the node itself."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from hiercos.methods.linear.problem_features import ScaledRows, used_columns
from hiercos.methods.linear.sibling_problems import SMALL, TOLERANCE, NodeWeights, TreeWeights, assembled
from hiercos.methods.solver import LabelledFeatures
from hiercos.taxonomy import AnyArray, Floats, IntArray, Taxonomy, ancestor_matrix, ancestor_sums, set_targets

SCORED_ROWS = 1024


class NodeMargins(NamedTuple):
    """Margins of P pairs of a sample and a node, for which all parents of the node are right."""

    values: Floats  # (P,)
    is_right: NDArray[np.bool_]  # (P,) whether the node is right, too
    levels: IntArray  # (P,) level of the node, from 0


class NodeProblems:
    """The problems of all nodes; a node is right for a sample at or above one of its labels.

    A sample whose label is above a node, and leaves open whether the node is right, is no sample of its problem.

    Args:
        train: training samples with one label or several.
        taxonomy: the tree or graph.
        seed: seed of the order of the rows.
    """

    def __init__(self, train: LabelledFeatures, taxonomy: Taxonomy, seed: int) -> None:
        self.taxonomy, self.seed, self.weights = taxonomy, seed, train.weights
        self.scaled = ScaledRows(train.features)
        sets = train.label_nodes(taxonomy)
        rows, columns = np.nonzero(sets >= 0)
        shape = (len(sets), taxonomy.num_nodes)
        labels = csr_array((np.ones(len(rows)), (rows, sets[rows, columns])), shape)
        right = labels @ ancestor_matrix(taxonomy)
        self._labelled = np.unique(rows)
        self._rows_of_labels, self._rows_of_nodes = (_rows_by_column(table) for table in (labels, right))

    def solve(self, strength: float) -> TreeWeights:
        """Weights of all nodes at `C` of LinearSVC."""
        starts, parents = self.taxonomy.parent_lists
        families: dict[tuple[int, ...], list[int]] = {}
        for node in range(self.taxonomy.num_nodes):
            families.setdefault(tuple(parents[starts[node] : starts[node + 1]].tolist()), []).append(node)
        parts = [each for above, nodes in families.items() for each in self._solved(above, nodes, strength)]
        return assembled(parts, self.scaled.rows, self.taxonomy.num_nodes)

    def _solved(self, parents: tuple[int, ...], nodes: list[int], strength: float) -> Iterator[NodeWeights]:
        """Weights of the nodes that have these parents, and samples."""
        rows = self._labelled
        for parent in parents:
            rows = np.intersect1d(rows, self._rows_of_nodes[parent], assume_unique=True)
        if not len(rows):
            return
        above = {node for parent in parents for node in self.taxonomy.ancestors.list(parent).tolist()}
        is_open = np.isin(rows, np.concatenate([[-1], *(self._rows_of_labels[node] for node in above)]))
        features, columns = used_columns(self.scaled.rows[rows])
        for node in nodes:
            is_right = np.isin(rows, self._rows_of_nodes[node])
            known = np.flatnonzero(is_right | ~is_open)
            weights = None if self.weights is None else self.weights[rows[known]]
            vector, bias = self._separated(features[known], is_right[known], weights, strength)
            kept = np.abs(vector) >= (SMALL if issparse(features) else 0.0)
            yield NodeWeights(node, columns[kept].astype(np.int32), vector[kept], bias)

    def _separated(
        self, features: Any, is_right: NDArray[np.bool_], weights: Floats | None, strength: float
    ) -> tuple[AnyArray, float]:
        """Weights and bias that tell the right samples from the others; no weights where all are of one kind."""
        from sklearn.svm import LinearSVC

        if is_right.all() or not is_right.any():
            return np.zeros(features.shape[1], np.float32), 1.0 if is_right.all() else -1.0
        machine = LinearSVC(C=strength, tol=TOLERANCE, dual=True, random_state=self.seed)
        machine.fit(features, is_right, sample_weight=weights)
        return machine.coef_[0].astype(np.float32), float(machine.intercept_[0])

    def as_given(self, solved: TreeWeights, slopes: AnyArray, offsets: AnyArray) -> TreeWeights:
        """Weights for features as they are given, after a line for each node, (N,) each, from margins to log-odds."""
        matrix, bias = self.scaled.as_given(solved.matrix, solved.bias * slopes + offsets, slopes)
        return TreeWeights(matrix, bias.astype(np.float32), solved.seen)

    def margins(self, solved: TreeWeights, held_out: LabelledFeatures) -> NodeMargins:
        """Margins of held-out samples."""
        count, taxonomy = self.taxonomy.num_nodes, self.taxonomy
        given = self.as_given(solved, np.ones(count, np.float32), np.zeros(count, np.float32))
        sets, parts = held_out.label_nodes(taxonomy), []
        for start in range(0, len(sets), SCORED_ROWS):
            rows = slice(start, start + SCORED_ROWS)
            product = held_out.features[rows] @ given.matrix
            margins = (product if isinstance(product, np.ndarray) else product.toarray()) + given.bias  # (B, N)
            right, known = set_targets(sets[rows], taxonomy)
            above = ancestor_sums(right.astype(np.float64), taxonomy) - right
            counts = known & (above == taxonomy.ancestor_counts - 1) & solved.seen
            parts.append((margins[counts], right[counts], np.nonzero(counts)[1]))
        values, is_right, nodes = (np.concatenate(each) for each in zip(*parts, strict=True))
        return NodeMargins(values.astype(np.float64), is_right, taxonomy.depths[nodes] - 1)


def _rows_by_column(table: Any) -> list[IntArray]:
    """Rows of the entries of each column of a sparse matrix."""
    columns = table.tocsc()
    return np.split(columns.indices, columns.indptr[1:-1])
