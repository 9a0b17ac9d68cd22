"""Hierarchy-aware cross-entropy (HACE)."""

from hiercos.losses import HACELoss
from hiercos.methods.heads import linear_head
from hiercos.methods.model import Method
from hiercos.taxonomy import Taxonomy


def hace(
    taxonomy: Taxonomy,
    in_features: int,
    *,
    width: int | None = None,
    dropout: float = 0.0,
    momentum: float = 0.1,
    dilution: float = 0.5,
) -> Method:
    """HACE: cross-entropy of node probabilities with the target spread over the ancestors [chan2026].

    Like `path-softmax` with independent classes, and weights that fall with the distance from the class. Where classes
    have different depths, the loss is least slightly off the true probabilities. Published with `dilution` 0.2, 0.5 or
    0.7 by data set.

    Args:
        taxonomy: the tree.
        in_features: width F of the input features.
        width: width of the transformation module before the linear layer; none, as published, by default.
        dropout: dropout rate, see `TransformationModule`.
        momentum: batch-norm momentum, see `TransformationModule`.
        dilution: share of its target that a node passes up, see `HACELoss`.
    """
    head = linear_head(in_features, taxonomy.num_classes, width=width, dropout=dropout, momentum=momentum)
    return Method.of_class_logits(head, HACELoss(taxonomy, dilution), taxonomy)
