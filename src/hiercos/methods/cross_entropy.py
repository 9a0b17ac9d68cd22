"""The flat baselines: trained without the tree if all labels are classes; node scores are sums of probabilities."""

from torch import nn

from hiercos.losses import CrossEntropyLoss
from hiercos.methods.contributions import linear_contributions
from hiercos.methods.heads import TransformationModule, hidden_layer
from hiercos.methods.model import Method
from hiercos.taxonomy import Taxonomy


def cross_entropy(taxonomy: Taxonomy, in_features: int, *, hidden: int | None = None) -> Method:
    """Flat softmax cross-entropy: one linear layer on the features.

    The reference of every comparison; with a decision rule that ranks by expected distance [karthik2021] a strong one.
    Node probabilities are sums over classes. Published with SGD at 0.1, 100 epochs, batch 64 (256 on iNaturalist-19
    and tieredImageNet-H), a cosine schedule and, on images, a layer of 600 units before the classifier.

    Args:
        taxonomy: the tree; training reads it only for labels that are inner nodes.
        in_features: width F of the input features.
        hidden: width of a layer before the classifiers, see `hidden_layer`; None (default) for no layer.
    """
    body, width = hidden_layer(in_features, hidden)
    classifier = nn.Linear(width, taxonomy.num_classes)
    return _flat_method(classifier if hidden is None else nn.Sequential(body, classifier), taxonomy)


def cross_entropy_mlp(
    taxonomy: Taxonomy,
    in_features: int,
    *,
    width: int | None = None,
    dropout: float = 0.0,
    momentum: float = 0.1,
) -> Method:
    """Flat softmax cross-entropy after the same transformation module as Hier-COS.

    The fair baseline for every method with a transformation module.

    Args:
        taxonomy: the tree; training reads it only for labels that are inner nodes.
        in_features: width F of the input features.
        width: width of the transformation module; C, as published, by default.
        dropout: dropout rate, see `TransformationModule`.
        momentum: batch-norm momentum, see `TransformationModule`.
    """
    width = taxonomy.num_classes if width is None else width
    transformation = TransformationModule(in_features, width, momentum=momentum, dropout=dropout)
    return _flat_method(nn.Sequential(transformation, nn.Linear(width, taxonomy.num_classes)), taxonomy)


def _flat_method(head: nn.Module, taxonomy: Taxonomy) -> Method:
    given = linear_contributions(head) if isinstance(head, nn.Linear) else None
    return Method.of_class_logits(head, CrossEntropyLoss(taxonomy), taxonomy, contributions=given)
