"""C-HMCNN: a sigmoid of each node, coherent by maxima over descendants, for samples with several labels."""

from torch import Tensor, nn

from hiercos.geometry import tree_operations
from hiercos.losses import MCLoss
from hiercos.methods.heads import linear_head
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
        class_scores=LeafLogits(taxonomy),
        node_scores=CoherentScores(taxonomy),
    )


class LeafLogits(nn.Module):
    """Logits of the classes. Shape: (B, N) to (B, C)."""

    def __init__(self, taxonomy: Taxonomy) -> None:
        super().__init__()
        self.taxonomy = taxonomy

    def forward(self, logits: Tensor) -> Tensor:
        """Shape (B, N) to (B, C)."""
        return tree_operations(self.taxonomy, logits.device).class_values(logits)


class CoherentScores(nn.Module):
    """Largest sigmoid at or below each node, the scores of C-HMCNN. Shape: (B, N) to (B, N)."""

    def __init__(self, taxonomy: Taxonomy) -> None:
        super().__init__()
        self.taxonomy = taxonomy

    def forward(self, logits: Tensor) -> Tensor:
        """Shape (B, N) to (B, N)."""
        return tree_operations(self.taxonomy, logits.device).descendant_maxima(logits.sigmoid())
