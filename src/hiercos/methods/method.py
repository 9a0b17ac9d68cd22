"""A method: four modules that the engine trains and calls without knowing which method they belong to."""

from dataclasses import dataclass

from torch import Tensor, nn

from hiercos.geometry import node_probabilities
from hiercos.taxonomy import Taxonomy


@dataclass(frozen=True)
class Method:
    """A classifier over a taxonomy, ready to be trained.

    Attributes:
        head: features (B, F) to outputs, whatever the other parts read.
        loss: (outputs, labels (B,), weights (B,) or None) to a scalar.
        class_scores: outputs to scores of the classes (B, C), higher is better; their softmax is the method's
            distribution over the classes.
        node_scores: outputs to scores of the nodes (B, N), comparable within a level: the method's own answer at
            each level.
    """

    head: nn.Module
    loss: nn.Module
    class_scores: nn.Module
    node_scores: nn.Module

    def __repr__(self) -> str:
        parts = ", ".join(f"{name}={type(part).__name__}" for name, part in vars(self).items())
        return f"Method({parts})"


class SummedProbabilities(nn.Module):
    """Node scores of a method without an answer of its own above the leaves: sums of class probabilities.

    Shape:
        logits: (B, C). Output: (B, N) probabilities of the nodes.
    """

    def __init__(self, taxonomy: Taxonomy) -> None:
        super().__init__()
        self.taxonomy = taxonomy

    def forward(self, logits: Tensor) -> Tensor:
        """Shape (B, C) to (B, N)."""
        return node_probabilities(logits.softmax(dim=1), self.taxonomy)
