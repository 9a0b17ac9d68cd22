"""Soft labels."""

from hiercos.losses import SoftLabelsLoss
from hiercos.methods.heads import linear_head
from hiercos.methods.model import Method
from hiercos.taxonomy import Taxonomy


def soft_labels(
    taxonomy: Taxonomy,
    in_features: int,
    *,
    width: int | None = None,
    dropout: float = 0.0,
    momentum: float = 0.1,
    beta: float = 30.0,
) -> Method:
    """Soft labels: the target of a class is spread over its neighbours in the tree [bertinetto2020].

    Args:
        taxonomy: the tree.
        in_features: width F of the input features.
        width, dropout, momentum: see `linear_head`; the published head is one linear layer, without a width.
        beta: decay rate of the targets with distance, see `SoftLabelsLoss`.
    """
    head = linear_head(in_features, taxonomy.num_classes, width=width, dropout=dropout, momentum=momentum)
    return Method.of_class_logits(head, SoftLabelsLoss(taxonomy, beta), taxonomy)
