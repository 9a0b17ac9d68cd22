"""The conditional softmax cascade of YOLO-v2 (YOLO9000)."""

from torch import Tensor

from hiercos.geometry import cascade_log_probabilities, tree_operations
from hiercos.losses import YOLOv2Loss
from hiercos.methods.heads import OnTree, linear_head
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

    Use it when every level needs a probability, or families are small in a large tree. A node's probability is the
    product down to it, the sum of its children's. Published with Adam and AMSGrad at 1e-3 (CIFAR-100) or 1e-5
    (iNaturalist-19, tieredImageNet-H).

    Note:
        The published tables of CIFAR-100 read the outputs in another class order than that of the labels (names
        sorted as text, labels as numbers), so those results cannot be reproduced. Here column j is node j.

    Args:
        taxonomy: the tree.
        in_features: width F of the input features.
        width: width of the transformation module before the linear layer; none, as published, by default.
        dropout: dropout rate, see `TransformationModule`.
        momentum: batch-norm momentum, see `TransformationModule`.
    """
    return Method(
        head=linear_head(in_features, taxonomy.num_nodes, width=width, dropout=dropout, momentum=momentum),
        loss=YOLOv2Loss(taxonomy),
        class_scores=OnTree(class_log_probabilities, taxonomy),
        node_scores=OnTree(cascade_probabilities, taxonomy),
    )


def class_log_probabilities(logits: Tensor, taxonomy: Taxonomy) -> Tensor:
    """Log-probabilities of the classes: node logits (B, N) to (B, C)."""
    return tree_operations(taxonomy, logits.device).class_values(cascade_log_probabilities(logits, taxonomy))


def cascade_probabilities(logits: Tensor, taxonomy: Taxonomy) -> Tensor:
    """Probabilities of the nodes: node logits (B, N) to (B, N)."""
    return cascade_log_probabilities(logits, taxonomy).exp()
