"""HAFeat: hierarchy-aware features from consistent classifiers of all levels."""

from collections.abc import Sequence

from torch import nn

from hiercos.geometry import padded_levels
from hiercos.losses import HAFeatLoss
from hiercos.methods.heads import TransformationModule, UnitRowLinear, class_columns, hidden_layer, node_columns
from hiercos.methods.model import Method
from hiercos.taxonomy import Taxonomy


def hafeat_1(
    taxonomy: Taxonomy, in_features: int, *, hidden: int | None = None, margin_levels: Sequence[int] | None = None
) -> Method:
    """HAFeat I: classifiers of all levels on the same features, with consistency, geometry and margin terms [garg2022].

    Use it when classes and coarse answers count and levels should rarely contradict each other. Only the classes have
    a cross-entropy, and coarse classifiers learn from them later: after a few epochs full-path accuracy can be far
    below top-1. Published with SGD, classifiers 0.1, 100 epochs.

    Note:
        The official code scores with a softmax of a softmax, whose small values become equal and are ranked by
        class index; here the scores are logits. See `HAFeatLoss` for the differences in the loss.

    Args:
        taxonomy: the tree.
        in_features: width F of the input features.
        hidden: width of a layer before the classifiers, see `hidden_layer`; None (default) for no layer.
        margin_levels: levels with a margin term, see `HAFeatLoss`; published: 2 (FGVC-Aircraft), 1 to 4 (CIFAR-100),
            2 to 6 (iNaturalist-19), 5 to 11 (tieredImageNet-H).
    """
    body, width = hidden_layer(in_features, hidden)
    return _hafeat(body, width, taxonomy, margin_levels)


def hafeat_2(
    taxonomy: Taxonomy,
    in_features: int,
    *,
    width: int | None = None,
    dropout: float = 0.0,
    momentum: float = 0.1,
    margin_levels: Sequence[int] | None = None,
) -> Method:
    """HAFeat II: HAFeat I after the transformation module [garg2022, as run by liang2023].

    Args:
        taxonomy: the tree.
        in_features: width F of the input features.
        width: width of the transformation module; C, as published, by default.
        dropout: dropout rate, see `TransformationModule`.
        momentum: batch-norm momentum, see `TransformationModule`.
        margin_levels: levels with a margin term, see `hafeat_1`.
    """
    width = taxonomy.num_classes if width is None else width
    body = TransformationModule(in_features, width, momentum=momentum, dropout=dropout)
    return _hafeat(body, width, taxonomy, margin_levels)


def _hafeat(body: nn.Module, width: int, taxonomy: Taxonomy, margin_levels: Sequence[int] | None) -> Method:
    levels = padded_levels(taxonomy)
    classifier = UnitRowLinear(width, sum(levels.sizes))
    return Method(
        head=nn.Sequential(body, classifier),
        loss=HAFeatLoss(taxonomy, classifier.unit_rows, margin_levels=margin_levels),
        class_scores=class_columns(levels),
        node_scores=node_columns(levels),
    )
