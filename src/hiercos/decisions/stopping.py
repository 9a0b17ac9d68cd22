"""Rules of the literature that answer with one node of any depth, and the ranking `hie`."""

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from hiercos.decisions.base import ROOT, ClassRule, Decision, NodeRule, RuleError
from hiercos.decisions.chains import likeliest_chains, rival_probabilities
from hiercos.decisions.posterior import Posterior
from hiercos.taxonomy import (
    Floats,
    IntArray,
    Taxonomy,
    ancestor_sums,
    classes_below,
    descendant_sums,
    is_at_or_above,
    node_values,
    parent_values,
)


@dataclass(frozen=True)
class Majority(NodeRule):
    """The deepest node with a probability above one half, else the root.

    In a tree it has the least expected number of edges to the true class among all nodes. In a graph it is the deepest
    such node of the chain, see `Chains`.
    """

    name = "majority"

    def __call__(self, posterior: Posterior) -> Decision:
        """The deepest node of each sample with a majority."""
        chains = likeliest_chains(posterior)
        return self.decision(chains.down_to(chains.deepest(chains.probabilities > 0.5)), posterior)


@dataclass(frozen=True)
class Plurality(NodeRule):
    """The deepest node that is likelier than every node that is neither above nor below it [valmadre2022].

    In a tree: from the root, go to the likeliest child as long as it is likelier than all that was passed by. In a
    graph: the deepest such node of the chain, see `Chains`.
    """

    name = "plurality"

    def __call__(self, posterior: Posterior) -> Decision:
        """The deepest node of each sample with a plurality."""
        chains = likeliest_chains(posterior)
        likelier = (chains.nodes >= 0) & (chains.probabilities > rival_probabilities(posterior, chains))
        return self.decision(chains.down_to(chains.deepest(likelier)), posterior)


@dataclass(frozen=True)
class SpeciesNetConstants(NodeRule):
    """The class above 0.8, else the deepest inner node of at least 0.65: the constants of SpeciesNet.

    Args:
        of_class: the likeliest class must be above it.
        of_node: an inner node must reach it.
    """

    name = "speciesnet"

    of_class: float = 0.8
    of_node: float = 0.65

    def __call__(self, posterior: Posterior) -> Decision:
        """The class or the inner node of each sample, else the root."""
        chains = likeliest_chains(posterior)
        likely_node, likely_class = chains.probabilities >= self.of_node, chains.probabilities > self.of_class
        sure = np.where(chains.is_inner, likely_node, likely_class)
        return self.decision(chains.down_to(chains.deepest(sure & (chains.nodes >= 0))), posterior)


@dataclass(frozen=True)
class BestNodeRule(NodeRule):
    """Rule that gives every node and the root a value and answers with the highest; the shallowest among equals."""

    @abstractmethod
    def node_values(self, posterior: Posterior) -> Floats:
        """Value of each node as the answer, shape (M, N)."""

    @abstractmethod
    def root_values(self, posterior: Posterior) -> Floats:
        """Value of the root as the answer, shape (M,)."""

    def __call__(self, posterior: Posterior) -> Decision:
        """The node with the highest value for each sample."""
        parts = [self._batch(batch) for batch in posterior.batches()]
        nodes = np.concatenate([np.empty(0, dtype=np.int64), *(part[0] for part in parts)])
        return self.decision(nodes, posterior, np.concatenate([np.empty(0), *(part[1] for part in parts)]))

    def _batch(self, posterior: Posterior) -> tuple[IntArray, Floats]:
        values, root = self.node_values(posterior), self.root_values(posterior)
        best = values.argmax(axis=1)
        highest = np.take_along_axis(values, best[:, None], axis=1)[:, 0]
        return np.where(highest > root, best, ROOT), np.maximum(highest, root)


def information(taxonomy: Taxonomy) -> Floats:
    """Bits that an answer with each node gives, log2 C - log2 of the number of its classes, shape (N,)."""
    bits: Floats = np.log2(taxonomy.num_classes / classes_below(taxonomy))
    return bits


@dataclass(frozen=True)
class Darts(BestNodeRule):
    """The node with the highest expected information plus a reward for being right: (r_v + reward) P(v) [deng2012].

    r_v is the information of the node in bits, 0 for the root. `fit` chooses the smallest reward for which the share
    of right answers on held-out samples reaches `accuracy`, by bisection.

    Args:
        accuracy: share of answers that contain the truth.
        reward: reward of a right answer in bits, from 0 (information alone) up; None before `fit`.
    """

    name = "darts"

    accuracy: float = 0.9
    reward: float | None = None
    criterion = "expected reward"
    fitted = ("reward",)

    def __post_init__(self) -> None:
        if not 0 < self.accuracy < 1:
            raise RuleError(f"rule 'darts': expected an accuracy above 0 and below 1, got {self.accuracy}")
        if self.reward is not None and not self.reward >= 0:
            raise RuleError(f"rule 'darts': expected a reward of at least 0, got {self.reward}")

    def node_values(self, posterior: Posterior) -> Floats:
        """Expected reward of each node, shape (M, N)."""
        values: Floats = (information(posterior.taxonomy) + self._reward) * posterior.nodes
        return values

    def root_values(self, posterior: Posterior) -> Floats:
        """The reward of the root, which is always right, shape (M,)."""
        return np.full(len(posterior), self._reward)

    @property
    def _reward(self) -> float:
        if self.reward is None:
            raise RuleError("rule 'darts': expected a reward, or a rule fitted on held-out samples")
        return self.reward

    def fit(self, posterior: Posterior, labels: IntArray) -> Self:
        """The rule with the smallest reward that reaches the accuracy on held-out samples; see `Rule.fit`."""
        low, high = 0.0, 1.0
        if not len(posterior) or _share_right(replace(self, reward=low), posterior, labels) >= self.accuracy:
            return replace(self, reward=low)
        while _share_right(replace(self, reward=high), posterior, labels) < self.accuracy and high < 2**40:
            low, high = high, 2 * high
        for _ in range(30):
            middle = (low + high) / 2
            enough = _share_right(replace(self, reward=middle), posterior, labels) >= self.accuracy
            low, high = (low, middle) if enough else (middle, high)
        return replace(self, reward=high)


def _share_right(rule: NodeRule, posterior: Posterior, labels: IntArray) -> float:
    nodes = rule(posterior).nodes
    return float(is_at_or_above(nodes[:, None], labels, posterior.taxonomy).mean())


@dataclass(frozen=True)
class HighestF(BestNodeRule):
    """The node with the highest expected hierarchical F-beta score of its path, the root counted [plaud2025].

    hF = (1 + beta^2) |A and B| / (|A| + beta^2 |B|), where A and B are the paths of the answer and of the true class,
    in a graph their sets of ancestors. For answers with equally many ancestors the denominators depend on the class
    alone, so their values are path sums of node sums: two passes through the tree for each number of ancestors.

    Args:
        beta: weight of recall; 1 by default, and below 1 shorter paths are preferred.
    """

    name = "hf-beta"

    beta: float = 1.0
    criterion = "expected hierarchical F score"

    def __post_init__(self) -> None:
        if not self.beta > 0:
            raise RuleError(f"rule 'hf-beta': expected a beta above 0, got {self.beta}")

    def node_values(self, posterior: Posterior) -> Floats:
        """Expected score of each node, shape (M, N)."""
        taxonomy = posterior.taxonomy
        values = np.empty((len(posterior), taxonomy.num_nodes))
        for count in np.unique(taxonomy.ancestor_counts).tolist():
            weighted = self._weighted(posterior, count + 1)
            shared = ancestor_sums(descendant_sums(node_values(weighted, taxonomy), taxonomy), taxonomy)
            nodes = np.flatnonzero(taxonomy.ancestor_counts == count)
            values[:, nodes] = shared[:, nodes] + weighted.sum(axis=1, keepdims=True)  # the root is shared by all
        return values

    def root_values(self, posterior: Posterior) -> Floats:
        """Expected score of the root, shape (M,)."""
        scores: Floats = self._weighted(posterior, 1).sum(axis=1)
        return scores

    def _weighted(self, posterior: Posterior, length: int) -> Floats:
        """Probability of each class over the denominator for an answer whose path has so many nodes, shape (M, C)."""
        taxonomy, square = posterior.taxonomy, self.beta**2
        denominators = length + square * (taxonomy.ancestor_counts[taxonomy.leaves] + 1)
        weighted: Floats = (1 + square) * posterior.classes / denominators
        return weighted


@dataclass(frozen=True)
class ParentAmended(ClassRule):
    """The class with the highest product of its probability and its parent's [jain2023]; it ranks by that product.

    In a graph the likeliest parent counts.
    """

    name = "hie"
    criterion = "probability times that of the parent"

    def class_values(self, posterior: Posterior) -> Floats:
        """Product of each class's probability and its likeliest parent's, 1 for the root; shape (M, C)."""
        of_parents = parent_values(posterior.nodes, posterior.taxonomy, root=1.0)[:, posterior.taxonomy.leaves]
        products: Floats = posterior.classes * of_parents
        return products


@dataclass(frozen=True)
class LeastCost(NodeRule):
    """The answer with the least expected cost under a table of costs.

    Args:
        answers: nodes that may be answered, -1 for the root; see `read_costs`.
        costs: cost of each answer (row) if each class (column) is the true one, shape (A, C).
    """

    name = "costs"

    answers: tuple[int, ...] = ()
    costs: tuple[tuple[float, ...], ...] = ()
    criterion = "minus the expected cost"

    def __post_init__(self) -> None:
        object.__setattr__(self, "answers", tuple(self.answers))
        object.__setattr__(self, "costs", tuple(map(tuple, self.costs)))
        if len(self.answers) != len(self.costs):
            raise RuleError(
                f"rule 'costs': expected a row of costs for each answer, got {len(self.costs)} rows for "
                f"{len(self.answers)} answers"
            )

    def __call__(self, posterior: Posterior) -> Decision:
        """The answer with the least expected cost for each sample, the first among equals."""
        if not self.costs:
            raise RuleError("rule 'costs': expected a table of costs, got none")
        table, count = np.array(self.costs), posterior.taxonomy.num_classes
        if table.shape[1] != count or max(self.answers) >= posterior.taxonomy.num_nodes:
            raise RuleError(f"rule 'costs': expected costs of {count} classes, got {table.shape[1]}")
        expected = posterior.classes @ table.T  # (M, A)
        if posterior.restricted:
            nodes = np.concatenate([posterior.nodes, np.ones((len(posterior), 1))], axis=1)
            expected[nodes[:, self.answers] <= 0] = np.inf
        best = expected.argmin(axis=1)
        values = -np.take_along_axis(expected, best[:, None], axis=1)[:, 0]
        return self.decision(np.array(self.answers)[best], posterior, values)
