"""The conditional softmax cascade with adjusted logits."""

from hiercos.losses import ConditionalSoftmaxLoss
from hiercos.methods.heads import OnTree, linear_head
from hiercos.methods.model import Method
from hiercos.methods.yolo_v2 import cascade_probabilities, class_log_probabilities
from hiercos.taxonomy import Taxonomy


def conditional_softmax(
    taxonomy: Taxonomy,
    in_features: int,
    *,
    width: int | None = None,
    dropout: float = 0.0,
    momentum: float = 0.1,
    tau: float = 1.0,
) -> Method:
    """Conditional softmax: a softmax among siblings, whose logits are adjusted by training shares [plaud2024].

    For long tails, where rare classes count as much as frequent ones. Node scores are products of conditional
    probabilities for siblings that are equally frequent. `--set class_prior=balanced` does the same after training for
    any method, and can be undone; use one of the two. Shares are counted from the training split.

    Args:
        taxonomy: the tree.
        in_features: width F of the input features.
        width: width of the transformation module before the linear layer; none, as published, by default.
        dropout: dropout rate, see `TransformationModule`.
        momentum: batch-norm momentum, see `TransformationModule`.
        tau: strength of the adjustment, see `ConditionalSoftmaxLoss`; 0 for the plain conditional softmax.
    """
    loss = ConditionalSoftmaxLoss(taxonomy, tau)
    return Method(
        head=linear_head(in_features, taxonomy.num_nodes, width=width, dropout=dropout, momentum=momentum),
        loss=loss,
        class_scores=OnTree(class_log_probabilities, taxonomy),
        node_scores=OnTree(cascade_probabilities, taxonomy),
        prepare=loss.prepare,
    )
