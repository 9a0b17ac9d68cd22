"""Hierarchy-aware cross-entropy (HACE)."""

from torch import nn

from hiercos.losses import HACELoss
from hiercos.methods.heads import SummedProbabilities, linear_head
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

    Args:
        taxonomy: the tree.
        in_features: width F of the input features.
        width: width of a transformation module before the linear layer; None (default, as published) for no module.
        dropout: dropout rate, see `linear_head`.
        momentum: batch-norm momentum, see `TransformationModule`.
        dilution: share of its target that a node passes up, see `HACELoss`.
    """
    head = linear_head(in_features, taxonomy.num_classes, width=width, dropout=dropout, momentum=momentum)
    return Method(
        head, loss=HACELoss(taxonomy, dilution), class_scores=nn.Identity(), node_scores=SummedProbabilities(taxonomy)
    )
