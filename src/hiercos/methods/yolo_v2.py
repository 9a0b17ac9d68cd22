"""The conditional softmax cascade of YOLO-v2 (YOLO9000)."""

from torch import Tensor, nn

from hiercos.geometry import cascade_log_probabilities, tree_operations
from hiercos.losses import YOLOv2Loss
from hiercos.methods.heads import linear_head
from hiercos.methods.model import Method
from hiercos.taxonomy import Taxonomy


def yolo_v2(
    taxonomy: Taxonomy,
    in_features: int,
    *,
    width: int | None = None,
    dropout: float = 0.0,
    momentum: float = 0.1,
) -> Method:
    """YOLO-v2: a softmax among siblings at every node, multiplied along the path [redmon2017].

    Note:
        The published tables of CIFAR-100 read the outputs in another class order than that of the labels (names
        sorted as text, labels as numbers), so those results cannot be reproduced. Here column j is node j.

    Args:
        taxonomy: the tree.
        in_features: width F of the input features.
        width: width of a transformation module before the linear layer; None (default, as published) for no module.
        dropout: dropout rate, see `linear_head`.
        momentum: batch-norm momentum, see `TransformationModule`.
    """
    return Method(
        head=linear_head(in_features, taxonomy.num_nodes, width=width, dropout=dropout, momentum=momentum),
        loss=YOLOv2Loss(taxonomy),
        class_scores=LeafLogProbabilities(taxonomy),
        node_scores=CascadeProbabilities(taxonomy),
    )


class LeafLogProbabilities(nn.Module):
    """Log-probabilities of the classes. Shape: node logits (B, N) to (B, C)."""

    def __init__(self, taxonomy: Taxonomy) -> None:
        super().__init__()
        self.taxonomy = taxonomy

    def forward(self, logits: Tensor) -> Tensor:
        """Shape (B, N) to (B, C)."""
        operations = tree_operations(self.taxonomy, logits.device)
        return operations.class_values(cascade_log_probabilities(logits, self.taxonomy))


class CascadeProbabilities(nn.Module):
    """Probabilities of the nodes. Shape: node logits (B, N) to (B, N)."""

    def __init__(self, taxonomy: Taxonomy) -> None:
        super().__init__()
        self.taxonomy = taxonomy

    def forward(self, logits: Tensor) -> Tensor:
        """Shape (B, N) to (B, N)."""
        return cascade_log_probabilities(logits, self.taxonomy).exp()
