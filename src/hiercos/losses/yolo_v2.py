"""Cross-entropy among siblings at every node of the path."""

from torch import Tensor, nn

from hiercos.geometry import sibling_log_softmax
from hiercos.losses.paths import LabelPaths, weighted_mean
from hiercos.taxonomy import Taxonomy


class YOLOv2Loss(nn.Module):
    """Sum of the cross-entropies among siblings along the path of the label, divided by N + 1 [redmon2017].

    −sum over v on the path of log p(v | parent) / (N + 1).

    Note:
        The published code has an output for the root too; without siblings it always has probability 1, adds
        nothing to the loss and gets no gradient, so it is left out here. The divisor N + 1 still counts it.

    Shape:
        logits: (B, N), one for each node. labels: (B,), class indices, or C + node for an inner node.
        weights: (B,) >= 0, optional. Output: scalar, nan for an empty batch.
    """

    def __init__(self, taxonomy: Taxonomy) -> None:
        super().__init__()
        self.taxonomy = taxonomy
        self.paths = LabelPaths(taxonomy, inner=True)

    def forward(self, logits: Tensor, labels: Tensor, weights: Tensor | None = None) -> Tensor:
        """Node logits (B, N) and labels (B,) to a scalar."""
        nodes, mask = self.paths(labels)  # (B, H) each
        conditional = sibling_log_softmax(logits, self.taxonomy).gather(1, nodes)  # (B, H)
        return weighted_mean(-conditional.masked_fill(~mask, 0).sum(dim=1), weights) / (self.taxonomy.num_nodes + 1)
