"""Barz and Denzler's hierarchy-based embeddings."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from hiercos.geometry import class_frame, height_similarities, tree_operations
from hiercos.losses import BarzDenzlerLoss
from hiercos.methods.heads import linear_head
from hiercos.methods.layers import aligned
from hiercos.methods.model import Method
from hiercos.taxonomy import Taxonomy


def barz_denzler(
    taxonomy: Taxonomy,
    in_features: int,
    *,
    width: int | None = None,
    dropout: float = 0.0,
    momentum: float = 0.1,
) -> Method:
    """Barz and Denzler: fixed class embeddings whose cosines are tree similarities; the nearest wins [barz2019].

    The class scores are cosines. Their softmax, the method's distribution over the classes, is nearly flat: fit
    a temperature before using it as probabilities. For the same reason node scores are not sums of
    probabilities: the score of a node is the best score of its classes.

    For retrieval: distances of embeddings are tree distances. As a classifier it is seldom the best. Published with
    Adam at 1e-4, weight decay 5e-4 on the head, batch 256, 100 epochs. Keeps a C x C table and decomposes it once.

    Note:
        Similarity is 1 - height(LCA) / H with the height of the common ancestor's own subtree, as in the
        published embeddings of tieredImageNet-H. Those of CIFAR-100 came from another hierarchy of eight
        levels, so those published results cannot be reproduced.

    Args:
        taxonomy: the tree; see `class_frame` for the cost with many classes.
        in_features: width F of the input features.
        width: width of the transformation module before the linear layer; none, as published, by default.
        dropout: dropout rate, see `TransformationModule`.
        momentum: batch-norm momentum, see `TransformationModule`.
    """
    embeddings = class_frame(height_similarities(taxonomy))
    cosines = EmbeddingCosines(embeddings)
    return Method(
        head=linear_head(in_features, taxonomy.num_classes, width=width, dropout=dropout, momentum=momentum),
        loss=BarzDenzlerLoss(embeddings),
        class_scores=cosines,
        node_scores=NearestClassBelow(taxonomy, cosines),
    )


class EmbeddingCosines(nn.Module):
    """Cosines with the class embeddings. Shape: f (B, C) to (B, C)."""

    embeddings: Tensor  # (C, C), rows of length 1

    def __init__(self, embeddings: Tensor) -> None:
        super().__init__()
        self.register_buffer("embeddings", embeddings, persistent=False)

    def forward(self, f: Tensor) -> Tensor:
        """Shape (B, C) to (B, C)."""
        return aligned(F.normalize(f, dim=1)) @ self.embeddings.T


class NearestClassBelow(nn.Module):
    """Node scores: the best score of a class at or below each node. Shape: outputs to (B, N)."""

    def __init__(self, taxonomy: Taxonomy, class_scores: nn.Module) -> None:
        super().__init__()
        self.taxonomy, self.class_scores = taxonomy, class_scores

    def forward(self, outputs: Tensor) -> Tensor:
        """Outputs to (B, N)."""
        operations = tree_operations(self.taxonomy, outputs.device)
        return operations.descendant_maxima(operations.node_values(self.class_scores(outputs), empty=-torch.inf))
