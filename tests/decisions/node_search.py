"""Answers by a search of all nodes, slowly and from the definitions; nothing is shared with the code under test."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hiercos import Taxonomy
from trees import ancestor_sets

ROOT = -1


class AllNodes:
    """The nodes of a tree with the root, their paths as sets, and their probabilities for one sample."""

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

    def children(self, node: int) -> list[int]:
        """Children of a node in ascending order."""
        return [child for child, parent in enumerate(self.taxonomy.parents.tolist()) if parent == node]

    def chain(self) -> list[int]:
        """From the root always to the likeliest child."""
        nodes, current = [], ROOT
        while children := self.children(current):
            current = max(children, key=lambda child: (round(self.probability[child], 12), -child))
            nodes.append(current)
        return nodes
