"""A softmax over classes whose logits are sums of node scores along the path, trained with a log-loss."""

from torch import Tensor, nn

from hiercos.geometry import class_path_sums
from hiercos.losses import PathLogLoss
from hiercos.methods.contributions import Comparison
from hiercos.methods.heads import OnTree, linear_head
from hiercos.methods.model import Method
from hiercos.taxonomy import Taxonomy


def path_softmax(
    taxonomy: Taxonomy,
    in_features: int,
    *,
    width: int | None = 512,
    dropout: float = 0.1,
    momentum: float = 0.1,
    inner: float = 0.2,
) -> Method:
    """A softmax over classes whose logits are sums of node scores along the path, with a log-loss at every level.

    Classes under one parent share its score, so they share statistical strength: the parameter sharing of
    [valmadre2022], and with weight decay the recursive regularisation of [gopal2013]. The loss is proper: the
    probabilities can be calibrated, and a decision rule on them (`crm`, `hops`) ranks the classes.

    The default of `hiercos train --unfreeze`. Where all classes have the same depth, `crm` ranks them by the terms
    whose logarithms the loss adds up, so with that rule this is cross-entropy with CRM built in. Compare it with
    `cross-entropy-mlp` under the same rule.

    Args:
        taxonomy: the tree.
        in_features: width F of the input features.
        width: width of the transformation module before the linear layer; None for the linear layer alone.
        dropout: dropout rate, see `linear_head`.
        momentum: batch-norm momentum, see `TransformationModule`.
        inner: weight of the terms above the deepest level, see `PathLogLoss`.
    """
    head = linear_head(in_features, taxonomy.num_nodes, width=width, dropout=dropout, momentum=momentum)

    def contributions(given: Comparison) -> Tensor:
        of_classes = class_path_sums(head.get_parameter("1.weight")[:, given.columns].T, taxonomy)  # (E, C)
        return (of_classes[:, given.classes] - of_classes[:, given.rivals]).T * given.values

    logits = nn.Sequential(head, OnTree(class_path_sums, taxonomy))
    given = contributions if width is None else None
    return Method.of_class_logits(logits, PathLogLoss(taxonomy, inner), taxonomy, contributions=given)
