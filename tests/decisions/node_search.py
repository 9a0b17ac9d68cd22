"""Answers by a search of all nodes, slowly and from the definitions; nothing is shared with the code under test."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hiercos import Taxonomy
from trees import ancestor_sets

ROOT = -1


class AllNodes:
    """The nodes of a tree or graph with the root, their ancestors as sets, and their probabilities for one sample."""

    def __init__(self, taxonomy: Taxonomy, probabilities: NDArray[np.float64]) -> None:
        self.taxonomy, self.classes = taxonomy, probabilities
        self.above = {ROOT: {ROOT}, **{node: {ROOT} | own for node, own in enumerate(ancestor_sets(taxonomy))}}
        self.leaves = taxonomy.leaves.tolist()
        self.depth = {node: len(path) - 1 for node, path in self.above.items()}
        self.probability = {
            node: sum(probabilities[c] for c, leaf in enumerate(self.leaves) if node in self.above[leaf])
            for node in self.above
        }

    def expected(self, value: Callable[[int, int], float], answer: int) -> float:
        """Expected value of an answer over the true leaf."""
        return float(sum(p * value(answer, leaf) for p, leaf in zip(self.classes, self.leaves, strict=True)))

    def edges(self, answer: int, leaf: int) -> int:
        """Number of edges between an answer and a leaf."""
        return len(self.above[answer] ^ self.above[leaf])

    def f_beta(self, beta: float) -> Callable[[int, int], float]:
        """The hierarchical F score of an answer and a leaf, the root counted in both paths."""

        def score(answer: int, leaf: int) -> float:
            mine, true = self.above[answer], self.above[leaf]
            both = len(mine & true)
            precision, recall = both / len(mine), both / len(true)
            return (1 + beta**2) * precision * recall / (beta**2 * precision + recall)

        return score

    def parents(self, node: int) -> list[int]:
        """Parents of a node in ascending order, the root for a node without parents."""
        return sorted(self.taxonomy.parent_lists.list(node).tolist()) or [ROOT]

    def children(self, node: int) -> list[int]:
        """Children of a node in ascending order."""
        return [child for child in range(self.taxonomy.num_nodes) if node in self.parents(child)]

    def likeliest(self, nodes: list[int]) -> int:
        """The likeliest of some nodes, the lowest among equals."""
        return max(nodes, key=lambda node: (round(self.probability[node], 12), -node))

    def chain(self) -> list[int]:
        """From the root always to the likeliest child, and from the leaf back up, always to the likeliest parent."""
        current = ROOT
        while children := self.children(current):
            current = self.likeliest(children)
        nodes = []
        while current != ROOT:
            nodes.append(current)
            current = self.likeliest(self.parents(current))
        return nodes[::-1]

    def apart(self, node: int) -> list[int]:
        """Nodes that are neither above nor below a node."""
        return [other for other in self.above if other not in self.above[node] and node not in self.above[other]]
