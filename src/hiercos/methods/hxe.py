"""Hierarchical cross-entropy (HXE)."""

from hiercos.losses import HXELoss
from hiercos.methods.heads import linear_head
from hiercos.methods.model import Method
from hiercos.taxonomy import Taxonomy


def hxe(
    taxonomy: Taxonomy,
    in_features: int,
    *,
    width: int | None = None,
    dropout: float = 0.0,
    momentum: float = 0.1,
    alpha: float = 0.1,
) -> Method:
    """Hierarchical cross-entropy: every step down the path is weighted by its depth [bertinetto2020].

    Args:
        taxonomy: the tree.
        in_features: width F of the input features.
        width, dropout, momentum: see `linear_head`; the published head is one linear layer, without a width.
        alpha: decay rate of the weights with depth, see `HXELoss`.
    """
    head = linear_head(in_features, taxonomy.num_classes, width=width, dropout=dropout, momentum=momentum)
    return Method.of_class_logits(head, HXELoss(taxonomy, alpha), taxonomy)
