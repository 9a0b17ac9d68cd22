"""C-HMCNN: a sigmoid of each node, coherent by maxima over descendants, for samples with several labels."""

from torch import Tensor

from hiercos.geometry import tree_operations
from hiercos.losses import MCLoss
from hiercos.methods.heads import OnTree, linear_head
from hiercos.methods.model import Method
from hiercos.taxonomy import Taxonomy


def c_hmcnn(
    taxonomy: Taxonomy,
    in_features: int,
    *,
    width: int | None = 512,
    dropout: float = 0.1,
    momentum: float = 0.1,
) -> Method:
    """A sigmoid of each node, coherent by maxima over descendants [giunchiglia2020]; learns from several labels.

    The score of a node is the largest sigmoid at or below it, so no node scores higher than one above it. Samples may
    have one label or several, on a tree or a graph.

    For answers of one class the softmax of the classes' logits is used; `hiercos predict --probabilities nodes` writes
    the coherent scores. With one label of each sample, log-loss methods are better calibrated. The network is the
    transformation module instead of the paper's.

    Args:
        taxonomy: the tree or graph.
        in_features: width F of the input features.
        width: width of the transformation module before the linear layer; None for the linear layer alone.
        dropout: dropout rate, see `linear_head`.
        momentum: batch-norm momentum, see `TransformationModule`.
    """
    return Method(
        head=linear_head(in_features, taxonomy.num_nodes, width=width, dropout=dropout, momentum=momentum),
        loss=MCLoss(taxonomy),
        class_scores=OnTree(class_logits, taxonomy),
        node_scores=OnTree(coherent_scores, taxonomy),
    )


def class_logits(logits: Tensor, taxonomy: Taxonomy) -> Tensor:
    """Logits of the classes: (B, N) to (B, C)."""
    return tree_operations(taxonomy, logits.device).class_values(logits)


def coherent_scores(logits: Tensor, taxonomy: Taxonomy) -> Tensor:
    """Largest sigmoid at or below each node: (B, N) to (B, N)."""
    return tree_operations(taxonomy, logits.device).descendant_maxima(logits.sigmoid())
