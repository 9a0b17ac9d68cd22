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

    Use it when a mistake high in the tree is much worse than one among siblings: a large `alpha` trades accuracy for
    milder mistakes. Published with `alpha` 0.1 and 0.6, Adam with AMSGrad at 1e-3 (CIFAR-100), 1e-4 (iNaturalist-19)
    or 1e-5 (tieredImageNet-H). Before training the loss is about 0.03, so SGD needs large learning rates.

    Args:
        taxonomy: the tree.
        in_features: width F of the input features.
        width: width of the transformation module before the linear layer; none, as published, by default.
        dropout: dropout rate, see `TransformationModule`.
        momentum: batch-norm momentum, see `TransformationModule`.
        alpha: decay rate of the weights with depth, see `HXELoss`.
    """
    head = linear_head(in_features, taxonomy.num_classes, width=width, dropout=dropout, momentum=momentum)
    return Method.of_class_logits(head, HXELoss(taxonomy, alpha), taxonomy)
