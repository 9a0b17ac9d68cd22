"""A linear one-vs-rest model at each inner node of a tree, over its children, with sparse weights."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import torch
from scipy.sparse import csr_array, issparse
from torch import Tensor, nn

from hiercos.geometry import cascade_log_probabilities, tree_operations
from hiercos.losses import CrossEntropyLoss
from hiercos.methods.contributions import Comparison
from hiercos.methods.heads import SummedProbabilities
from hiercos.methods.linear.linear_svm import ENOUGH_TO_CHOOSE_STRENGTH
from hiercos.methods.linear.logistic import lowest
from hiercos.methods.linear.sibling_problems import NodeWeights, SiblingProblem, TreeWeights, tree_of_parents
from hiercos.methods.linear.solved_weights import SolvedWeights
from hiercos.methods.linear.tree_search import FamilyWeights, TreeSearch
from hiercos.methods.model import Method
from hiercos.methods.solver import LabelledFeatures, Solved, Solver
from hiercos.methods.table import MethodError
from hiercos.taxonomy import IntArray, Taxonomy

STRENGTHS = tuple(2.0**power for power in range(-3, 5))  # to choose from
USUAL_STRENGTH, USUAL_INVERSE = 2.0, 4.0  # C, and inverse temperature of a level
MOST_TO_CHOOSE = 2 * 10**7  # stored entries times children of the inner nodes that the strength is chosen on


def siblings(taxonomy: Taxonomy, in_features: int, *, strength: float | None = None) -> Method:
    """A linear SVM at each inner node over its children, and a softmax of siblings, multiplied along the path.

    For many classes on texts: a row touches the models on a few paths only. Children have margins of a squared hinge,
    and each level one inverse temperature, so node probabilities add up to those of the parent. A node with more than
    24 children, and rows that store more than 10⁹ entries times children, gets virtual groups of children, by k-means
    of their means. The strength is chosen from 2 in powers of two between 1/8 and 16; it is 2 with fewer than 200
    validation samples. Weights on n-grams below 0.03 are dropped. A label at an inner node teaches the models above
    it; a class without samples stands one margin below its siblings. The order of the classes is that of probabilities
    alone: use a decision rule. Graphs are refused, and an ONNX export holds all weights, zeros too. From 10,000 classes
    on the likeliest classes are searched for, best first and exactly, see [many classes](../training.md#many-classes).

    Args:
        taxonomy: the tree.
        in_features: width F of the input features.
        strength: inverse strength of the penalty, `C` of LinearSVC; None (default) to choose it on validation samples.
    """
    if strength is not None and strength <= 0:
        raise MethodError(f"strength: expected a number above 0, got {strength:g}")
    head = SiblingHead(in_features, taxonomy)
    loss, node_scores = CrossEntropyLoss(taxonomy), SummedProbabilities(taxonomy)
    solver = SiblingSolver(head, strength)
    method = Method(head, loss, nn.Identity(), node_scores, contributions=head.contributions, solver=solver)
    return replace(method, search=head.search)


class SiblingHead(SolvedWeights):
    """Log-probabilities of the classes from margins of all nodes, whose weights a solver sets.

    Args:
        in_features: width F of the input features.
        taxonomy: the tree.

    Shape:
        features: (B, F), dense or sparse CSR. Output: (B, C).
    """

    parents: Tensor  # (K,) parent of each node, virtual ones behind those of the taxonomy
    bias: Tensor  # (K,) of each node of `tree`, which numbers them level by level
    seen: Tensor  # (K,) whether a node of `tree` had training rows

    def __init__(self, in_features: int, taxonomy: Taxonomy) -> None:
        super().__init__(in_features)
        self.taxonomy, count = taxonomy, taxonomy.num_nodes
        for name in ("parents", "bias", "seen"):
            self.register_buffer(name, torch.empty(0))
        no_weights = csr_array((in_features, count), dtype=np.float32)
        self.set(taxonomy.parents, TreeWeights(no_weights, np.zeros(count, np.float32), np.ones(count, np.bool_)))

    @property
    def out_features(self) -> int:
        """Number of nodes K."""
        return len(self.parents)

    def set(self, parents: IntArray, solved: TreeWeights) -> None:
        """Set the weights of a tree of K nodes with these parents, see `SiblingProblem`."""
        self.set_weights(solved.matrix, parents=parents.copy(), bias=solved.bias, seen=solved.seen)

    def check(self) -> None:
        """See `SolvedWeights`."""
        if not self.tree.num_nodes == len(self.bias) == len(self.seen):
            raise ValueError("expected a bias of each node")

    @cached_property
    def tree(self) -> Taxonomy:
        """The tree with its virtual nodes."""
        return tree_of_parents(self.taxonomy, self.parents.cpu().numpy())[0]

    @cached_property
    def family(self) -> Tensor | None:
        """Parent of each node of the tree plus 1, shape (K,), if some had no training rows."""
        return None if bool(self.seen.all()) else torch.from_numpy(self.tree.parents + 1)

    @cached_property
    def families(self) -> FamilyWeights:
        """The weights by family, for a search."""
        matrix = self.matrix if self.values.ndim == 1 else self.values.cpu().numpy()
        return FamilyWeights(self.tree, matrix, self.bias.cpu().numpy(), self.seen.cpu().numpy())

    def search(self, features: Any) -> TreeSearch:
        """A search for the nodes of samples, dense or sparse CSR, shape (M, F)."""
        places = tree_of_parents(self.taxonomy, self.parents.cpu().numpy())[1][: self.taxonomy.num_nodes]
        features = csr_array(features) if issparse(self.families.matrix) else features
        return TreeSearch(self.families, self.tree, places, features)

    def forward(self, features: Tensor) -> Tensor:
        """Shape (B, F) to (B, C)."""
        margins = self.products(features) + self.bias  # (B, K)
        if self.family is not None:  # those of nodes without training rows stand below all of their siblings
            family = self.family.to(margins.device).expand_as(margins)
            least = margins.new_full((margins.shape[0], len(self.parents) + 1), torch.inf)
            least = least.scatter_reduce(1, family, margins.masked_fill(~self.seen, torch.inf), "amin")
            least = least.masked_fill(least == torch.inf, 0).gather(1, family)
            margins = torch.where(self.seen, margins, least + self.bias)
        logs = cascade_log_probabilities(margins, self.tree)
        return tree_operations(self.tree, margins.device).class_values(logs)

    def contributions(self, given: Comparison) -> Tensor:
        """See `Contributions`: to the margins of the two siblings at which the paths part; below them scores vary."""
        paths = self.tree.path_table(self.tree.leaves)
        own, others = (paths[part.cpu().numpy()] for part in (given.classes, given.rivals))
        parting, pairs = (own != others).argmax(axis=1), np.arange(len(own))
        weights = self.of_pairs(given.columns, own[pairs, parting], others[pairs, parting])
        return weights * given.values


@dataclass(eq=False)
class SiblingSolver(Solver):
    """Solves the problem of each inner node on its own, on the rows below it.

    Strength and temperatures are chosen in the first call; later calls keep them.
    """

    head: SiblingHead  # head to set
    strength: float | None  # inverse strength of the penalty; None before it is chosen
    # inverse temperature of the softmax of siblings by level, from 0; the usual one where there is none
    inverses: dict[int, float] | None = None
    chosen: ClassVar = ("strength", "inverses")

    def __call__(
        self,
        train: LabelledFeatures,
        val: LabelledFeatures | None,
        *,
        seed: int,
    ) -> Solved:
        """See `Solver`; without validation samples in the first call, strength and temperatures are usual ones."""
        problem = SiblingProblem(train, self.head.taxonomy, seed)
        if val is not None and len(val) and self.inverses is None:
            return self._choose(problem, val)
        self.strength, self.inverses = self.strength or USUAL_STRENGTH, self.inverses or {}
        self._set(problem, problem.assembled(problem.solve(problem.families, self.strength)))
        return Solved()

    def _choose(self, problem: SiblingProblem, val: LabelledFeatures) -> Solved:
        """Set the head with the strength and the temperatures of the smallest log-loss on validation samples.

        The log-loss is a sum over the inner nodes, so a sample of these tells the strength where all would take long.
        """
        sampled, others = problem.sample(MOST_TO_CHOOSE)
        tried: dict[float, list[NodeWeights]] = {}

        def loss(strength: float) -> float:
            tried[strength] = problem.solve(sampled, strength)
            margins = problem.margins(problem.assembled(tried[strength]), val)
            return sum(each.best_inverse()[1] for each in margins.values())

        strength = self.strength or USUAL_STRENGTH
        if self.strength is None and len(val) >= ENOUGH_TO_CHOOSE_STRENGTH:
            strength, _ = lowest(loss, STRENGTHS, STRENGTHS.index(USUAL_STRENGTH))
        rest = others if tried else problem.families
        solved = problem.assembled([*tried.get(strength, ()), *problem.solve(rest, strength)])
        self.strength = strength
        self.inverses = {level: each.best_inverse()[0] for level, each in problem.margins(solved, val).items()}
        self._set(problem, solved)
        return Solved(f"C {strength:g}" if tried else "")

    def _set(self, problem: SiblingProblem, solved: TreeWeights) -> None:
        known = self.inverses or {}
        inverses = np.array([known.get(level, USUAL_INVERSE) for level in problem.levels.tolist()], np.float32)
        self.head.set(problem.parents, problem.as_given(solved, inverses))
