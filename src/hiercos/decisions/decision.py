"""Answers of a rule: one node for each sample, with its probability and the reason for it."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hiercos.taxonomy import Floats, IntArray, Taxonomy

ROOT = -1  # the answer "cannot say"
MOST_SHOWN = 3  # answers in the text of a decision


@dataclass(frozen=True, eq=False, repr=False)
class Decision:
    """One node for each of M samples: a class, an inner node, or the root.

    Attributes:
        nodes: node of each answer, shape (M,); -1 for the root.
        probabilities: probability that the true class is at or below the answer, shape (M,).
        values: value of each answer under the criterion, shape (M,), higher is better; the rule chose the highest.
        criterion: name of the values, such as "minus the expected tree distance".
        taxonomy: taxonomy of the nodes.
        guarantee: guarantee of these answers with its assumption, as a sentence; "" without one.
    """

    nodes: IntArray
    probabilities: Floats
    values: Floats
    criterion: str
    taxonomy: Taxonomy
    guarantee: str = ""

    @cached_property
    def classes(self) -> IntArray:
        """Class of each answer, shape (M,); -1 for an inner node or the root."""
        class_of_node = np.full(self.taxonomy.num_nodes + 1, -1)  # the last entry stands for the root
        class_of_node[self.taxonomy.leaves] = np.arange(self.taxonomy.num_classes)
        found: IntArray = class_of_node[self.nodes]
        return found

    @property
    def levels(self) -> IntArray:
        """Level of each answer, shape (M,); 0 for the root."""
        return np.where(self.nodes < 0, 0, self.taxonomy.depths[self.nodes])

    @cached_property
    def paths(self) -> IntArray:
        """Nodes from level 1 down to each answer, shape (M, H), -1 beyond its depth."""
        answered = self.nodes >= 0
        table = np.full((len(self.nodes), self.taxonomy.height), -1)
        table[answered] = self.taxonomy.path_table(self.nodes[answered])
        return table

    def why(self, row: int) -> str:
        """The reason for one answer as a sentence."""
        node = int(self.nodes[row])
        name = self.taxonomy.path_text(node) if node >= 0 else "the root"
        value = "" if self.criterion == "probability" else f", {self.criterion} {self.values[row]:.4g}"
        return f"{name}: probability {self.probabilities[row]:.3g}{value}"

    def __len__(self) -> int:
        return len(self.nodes)

    def __repr__(self) -> str:
        """The first answers with their probabilities."""
        pairs = zip(self.nodes[:MOST_SHOWN].tolist(), self.probabilities[:MOST_SHOWN].tolist(), strict=True)
        names = [
            f"{self.taxonomy.path_text(node)!r} {probability:.2f}" if node >= 0 else "cannot say"
            for node, probability in pairs
        ]
        shown = ", ".join([*names, *["…"] * (len(self) > MOST_SHOWN)])
        return f"Decision({len(self)} answer{'s' * (len(self) != 1)}{': ' if names else ''}{shown})"


@dataclass(frozen=True, eq=False)
class ShortList:
    """The first K classes for each of M samples.

    Attributes:
        classes: classes of each sample, best first, shape (M, K); -1 where fewer are allowed.
        values: value of each class under the rule, shape (M, K), higher is better.
        probabilities: probability of each class, shape (M, K).
    """

    classes: IntArray
    values: Floats
    probabilities: Floats
