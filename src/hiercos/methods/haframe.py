"""HAFrame: features that collapse onto a fixed frame built from the tree."""

import torch
from torch import Tensor, nn

from hiercos.geometry import class_frame, decaying_similarities
from hiercos.losses import HAFrameLoss
from hiercos.methods.heads import SummedProbabilities, TransformationModule
from hiercos.methods.layers import aligned
from hiercos.methods.model import Method
from hiercos.taxonomy import Taxonomy


def haframe(
    taxonomy: Taxonomy,
    in_features: int,
    *,
    width: int | None = None,
    dropout: float = 0.0,
    momentum: float = 0.1,
    gamma: float = 2.0,
    alpha: float = 0.4,
) -> Method:
    """HAFrame: a frozen classifier whose cosines decay with tree distance, and features aligned with it [liang2023].

    Use it when the features themselves should follow the tree and C is moderate: the C x C frame is stored with the
    weights. Published with SGD, and (`gamma`, `alpha`) of (1, 0.5) on FGVC-Aircraft, (2, 0.4) on CIFAR-100, (5, 0.4)
    on iNaturalist-19, (3, 0.5) on tieredImageNet-H.

    Note:
        The official code finds the floor of the similarities on a grid of 100 values; here it is exact
        (`similarity_floor`). It rotates the frame at random, which changes no cosine; here it is not rotated.

    Args:
        taxonomy: the tree; see `class_frame` for the cost with many classes.
        in_features: width F of the input features.
        width: width of the transformation module, which a linear map to C follows; C, as published, by default.
        dropout: dropout rate, see `TransformationModule`.
        momentum: batch-norm momentum, see `TransformationModule`.
        gamma: decay rate of the similarities, see `decaying_similarities`; published: 1 (FGVC-Aircraft) to 5
            (iNaturalist-19).
        alpha: weight of the cosine term, see `HAFrameLoss`.
    """
    similarities = decaying_similarities(taxonomy, gamma)
    blocks_width = taxonomy.num_classes if width is None else width
    body: nn.Module = TransformationModule(in_features, blocks_width, momentum=momentum, dropout=dropout)
    if width is not None:
        body = nn.Sequential(body, nn.Linear(width, taxonomy.num_classes))
    return Method(
        head=FrameHead(body, class_frame(similarities)),
        loss=HAFrameLoss(torch.tensor(similarities, dtype=torch.get_default_dtype()), alpha),
        class_scores=FrameLogits(),
        node_scores=nn.Sequential(FrameLogits(), SummedProbabilities(taxonomy)),
    )


class FrameHead(nn.Module):
    """Dot products with a frozen frame, and the length of the feature vector, which turns them into cosines.

    Shape:
        features: (B, F). Output: (B, C + 1), the dot products of f with the C vectors, then the length of f.
    """

    frame: Tensor  # (C, C), rows of length 1, saved with the weights

    def __init__(self, body: nn.Module, frame: Tensor) -> None:
        super().__init__()
        self.body = body
        self.register_buffer("frame", frame)

    def forward(self, features: Tensor) -> Tensor:
        """Shape (B, F) to (B, C + 1)."""
        f = self.body(features)  # (B, C)
        return torch.cat([aligned(f) @ self.frame.T, f.norm(dim=1, keepdim=True)], dim=1)


class FrameLogits(nn.Module):
    """The dot products without the length. Shape: (B, C + 1) to (B, C)."""

    def forward(self, outputs: Tensor) -> Tensor:
        """Shape (B, C + 1) to (B, C)."""
        return outputs[:, :-1]
