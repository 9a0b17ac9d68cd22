"""Flamingo: disentangled features for every level of granularity."""

from torch import nn

from hiercos.geometry import padded_levels
from hiercos.losses import FlamingoLoss
from hiercos.methods.heads import SlicedHeads, TransformationModule, class_columns, hidden_layer, node_columns
from hiercos.methods.model import Method
from hiercos.taxonomy import Taxonomy


def flamingo_1(taxonomy: Taxonomy, in_features: int, *, hidden: int | None = None) -> Method:
    """Flamingo I: a classifier for each level, on its own slice of the features and all finer ones [chang2021].

    Use it when coarse answers are needed as often as fine ones. Each level's classifier sees the slices of finer
    levels, but does not change them. Levels are answered independently and may contradict each other. Published with
    SGD, classifiers 0.1, transformation 0.01 (0.1 on FGVC-Aircraft), 100 epochs.

    Note:
        If the features do not divide evenly, the official scripts add the remainder to the finest slice or
        spread it, depending on the data set; here the finest slices get one feature more each. Their level labels
        of tieredImageNet-H belong to other classes, so those published results cannot be reproduced.

    Args:
        taxonomy: the tree.
        in_features: width F of the input features.
        hidden: width of a layer before the classifiers, see `hidden_layer`; None (default) for no layer.
    """
    return _flamingo(*hidden_layer(in_features, hidden), taxonomy)


def flamingo_2(
    taxonomy: Taxonomy,
    in_features: int,
    *,
    width: int | None = None,
    dropout: float = 0.0,
    momentum: float = 0.1,
) -> Method:
    """Flamingo II: Flamingo I after the transformation module [chang2021, as run by liang2023].

    Args:
        taxonomy: the tree.
        in_features: width F of the input features.
        width: width of the transformation module; C, as published, by default.
        dropout: dropout rate, see `TransformationModule`.
        momentum: batch-norm momentum, see `TransformationModule`.
    """
    width = taxonomy.num_classes if width is None else width
    return _flamingo(TransformationModule(in_features, width, momentum=momentum, dropout=dropout), width, taxonomy)


def _flamingo(body: nn.Module, width: int, taxonomy: Taxonomy) -> Method:
    levels = padded_levels(taxonomy)
    return Method(
        head=nn.Sequential(body, SlicedHeads(width, levels.sizes)),
        loss=FlamingoLoss(taxonomy),
        class_scores=class_columns(levels),
        node_scores=node_columns(levels),
    )
