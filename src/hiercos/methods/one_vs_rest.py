"""A linear model of each node given its parents, with a sigmoid: for samples with one label or several."""

from dataclasses import dataclass

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor
from torch.nn import functional as F

from hiercos.geometry import tree_operations
from hiercos.losses import MCLoss
from hiercos.methods.heads import OnTree
from hiercos.methods.linear.linear_svm import ENOUGH_TO_CHOOSE_STRENGTH
from hiercos.methods.linear.logistic import lowest
from hiercos.methods.linear.node_problems import NodeMargins, NodeProblems
from hiercos.methods.linear.sibling_problems import TreeWeights
from hiercos.methods.linear.solved_weights import SolvedWeights
from hiercos.methods.model import Method
from hiercos.methods.solver import LabelledFeatures, Solved, Solver
from hiercos.methods.table import MethodError
from hiercos.taxonomy import Taxonomy

STRENGTHS = (0.125, 0.5, 2.0, 8.0)  # to choose from
USUAL_STRENGTH = 0.5  # C
USUAL_LINE = (4.0, 0.0)  # slope and offset from a margin to log-odds
LEAST_PAIRS = 20  # held-out pairs of a level, right ones and others, for a line of its own


def one_vs_rest(taxonomy: Taxonomy, in_features: int, *, strength: float | None = None) -> Method:
    """A linear SVM of each node given its parents, with sigmoids multiplied over ancestors; learns several labels.

    A node is never likelier than one above it. The probabilities of the nodes need not sum to 1: a sample may belong to
    several classes.

    Args:
        taxonomy: the tree or graph.
        in_features: width F of the input features.
        strength: inverse strength of the penalty, `C` of LinearSVC; None (default) to choose it on validation samples.
    """
    if strength is not None and strength <= 0:
        raise MethodError(f"strength: expected a number above 0, got {strength:g}")
    head = OneVsRestHead(in_features, taxonomy)
    return Method(
        head,
        MCLoss(taxonomy),
        class_scores=OnTree(class_log_probabilities, taxonomy),
        node_scores=OnTree(independent_probabilities, taxonomy),
        solver=OneVsRestSolver(head, strength),
    )


def class_log_probabilities(logits: Tensor, taxonomy: Taxonomy) -> Tensor:
    """Log-probabilities of the classes, each for itself: (B, N) to (B, C)."""
    operations = tree_operations(taxonomy, logits.device)
    return operations.class_values(operations.ancestor_sums(F.logsigmoid(logits)))


def independent_probabilities(logits: Tensor, taxonomy: Taxonomy) -> Tensor:
    """Probability of each node: (B, N) to (B, N)."""
    return tree_operations(taxonomy, logits.device).ancestor_sums(F.logsigmoid(logits)).exp()


class OneVsRestHead(SolvedWeights):
    """Log-odds of every node given its parents, whose weights a solver sets.

    Args:
        in_features: width F of the input features.
        taxonomy: the tree or graph.

    Shape:
        features: (B, F), dense or sparse CSR. Output: (B, N).
    """

    bias: Tensor  # (N,)

    def __init__(self, in_features: int, taxonomy: Taxonomy) -> None:
        super().__init__(in_features)
        self.taxonomy, count = taxonomy, taxonomy.num_nodes
        self.register_buffer("bias", torch.empty(0))
        self.set_weights(csr_array((in_features, count), dtype=np.float32), bias=np.zeros(count, np.float32))

    @property
    def out_features(self) -> int:
        """Number of nodes N."""
        return self.taxonomy.num_nodes

    def check(self) -> None:
        """See `SolvedWeights`."""
        if len(self.bias) != self.taxonomy.num_nodes:
            raise ValueError("expected a bias of each node")

    def forward(self, features: Tensor) -> Tensor:
        """Shape (B, F) to (B, N)."""
        return self.products(features) + self.bias


@dataclass(eq=False)
class OneVsRestSolver(Solver):
    """Solves the problem of each node on its own; strength and lines are chosen in the first call, then kept.

    Attributes:
        head: head to set.
        strength: inverse strength of the penalty; None before it is chosen.
        lines: slope and offset by level, from 0, that turn margins into log-odds; None before they are chosen.
    """

    chosen = ("strength", "lines")

    head: OneVsRestHead
    strength: float | None
    lines: list[tuple[float, float]] | None = None

    def __call__(self, train: LabelledFeatures, val: LabelledFeatures | None, *, seed: int) -> Solved:
        """See `Solver`; without validation samples in the first call, strength and lines are usual ones."""
        problem = NodeProblems(train, self.head.taxonomy, seed)
        if val is None or not len(val) or self.lines is not None:
            self.strength = self.strength or USUAL_STRENGTH
            self.lines = self.lines or [USUAL_LINE] * problem.taxonomy.height
            self._set(problem, problem.solve(self.strength))
            return Solved()
        tried: dict[float, TreeWeights] = {}

        def loss(strength: float) -> float:
            tried[strength] = problem.solve(strength)
            return _fitted(problem.margins(tried[strength], val), problem.taxonomy.height)[1]

        strength = self.strength or USUAL_STRENGTH
        if self.strength is None and len(val) >= ENOUGH_TO_CHOOSE_STRENGTH:
            strength, _ = lowest(loss, STRENGTHS, STRENGTHS.index(USUAL_STRENGTH))
        solved = tried[strength] if tried else problem.solve(strength)
        self.strength = strength
        self.lines, _ = _fitted(problem.margins(solved, val), problem.taxonomy.height)
        self._set(problem, solved)
        return Solved(f"C {strength:g}" if tried else "")

    def _set(self, problem: NodeProblems, solved: TreeWeights) -> None:
        lines = np.array(self.lines, np.float32)[problem.taxonomy.depths - 1]  # (N, 2)
        given = problem.as_given(solved, lines[:, 0], lines[:, 1])
        self.head.set_weights(given.matrix, bias=np.where(given.seen, given.bias, lines @ [-1, 1]).astype(np.float32))


def _fitted(margins: NodeMargins, height: int) -> tuple[list[tuple[float, float]], float]:
    """The line of each level with the smallest log-loss, a usual one for few pairs; and the summed loss."""
    from sklearn.linear_model import LogisticRegression

    lines, total = [], 0.0
    for level in range(height):
        own = margins.levels == level
        values, is_right = margins.values[own], margins.is_right[own]
        line = USUAL_LINE
        if min(is_right.sum(), (~is_right).sum()) >= LEAST_PAIRS:
            machine = LogisticRegression(C=1e3).fit(values[:, None], is_right)
            line = (max(float(machine.coef_[0, 0]), 1e-3), float(machine.intercept_[0]))
        logits = line[0] * values + line[1]
        total += float(np.logaddexp(0, np.where(is_right, -logits, logits)).sum())
        lines.append(line)
    return lines, total
