"""Barz and Denzler's hierarchy-based embeddings."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from hiercos.geometry import class_frame, height_similarities, tree_operations
from hiercos.losses import BarzDenzlerLoss
from hiercos.methods.heads import linear_head
from hiercos.methods.registry import METHODS, Method
from hiercos.taxonomy import Taxonomy


@METHODS.register("barz-denzler")
def barz_denzler(
    taxonomy: Taxonomy,
    in_features: int,
    *,
    width: int | None = None,
    dropout: float = 0.0,
    momentum: float = 0.1,
) -> Method:
    """Barz and Denzler: fixed class embeddings whose cosines are tree similarities; the nearest wins [barz2019].

    The scores of the classes are cosines. Their softmax, the distribution this method has to offer, is nearly
    flat: fit a temperature before its probabilities are used as such. For the same reason no probabilities are
    summed for the levels: a node scores as its nearest class does.

    Note:
        Similarity is 1 - height(LCA) / H with the height of the common ancestor's own subtree, as the
        published embeddings of tieredImageNet-H have it. Those of CIFAR-100 came from another hierarchy of eight
        levels, so those cells cannot be matched.

    Args:
        taxonomy: the tree; see `class_frame` for what many classes cost.
        in_features: F.
        width: of a transformation module before the linear layer; none, as published, by default.
        dropout: see `linear_head`.
        momentum: see `TransformationModule`.
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
    """Cosines with the embeddings of the classes. Shape: f (B, C) to (B, C)."""

    embeddings: Tensor  # (C, C), rows of length 1

    def __init__(self, embeddings: Tensor) -> None:
        super().__init__()
        self.register_buffer("embeddings", embeddings, persistent=False)

    def forward(self, f: Tensor) -> Tensor:
        """Shape (B, C) to (B, C)."""
        return F.normalize(f, dim=1) @ self.embeddings.T


class NearestClassBelow(nn.Module):
    """The score of a node is the best score of a class at or below it. Shape: outputs to (B, N)."""

    def __init__(self, taxonomy: Taxonomy, class_scores: nn.Module) -> None:
        super().__init__()
        self.taxonomy, self.class_scores = taxonomy, class_scores

    def forward(self, outputs: Tensor) -> Tensor:
        """Outputs to (B, N)."""
        operations = tree_operations(self.taxonomy, outputs.device)
        return operations.descendant_maxima(operations.node_values(self.class_scores(outputs), empty=-torch.inf))
