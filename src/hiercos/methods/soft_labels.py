"""Soft labels."""

from torch import nn

from hiercos.losses import SoftLabelsLoss
from hiercos.methods.heads import SummedProbabilities, linear_head
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
        width: width of a transformation module before the linear layer; None (default, as published) for no module.
        dropout: dropout rate, see `linear_head`.
        momentum: batch-norm momentum, see `TransformationModule`.
        beta: decay rate of the targets with distance, see `SoftLabelsLoss`.
    """
    head = linear_head(in_features, taxonomy.num_classes, width=width, dropout=dropout, momentum=momentum)
    return Method(
        head, loss=SoftLabelsLoss(taxonomy, beta), class_scores=nn.Identity(), node_scores=SummedProbabilities(taxonomy)
    )
