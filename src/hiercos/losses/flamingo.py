"""Flamingo's loss: a cross-entropy at every level."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from hiercos.geometry import label_rows, padded_levels
from hiercos.losses.paths import weighted_mean
from hiercos.taxonomy import Taxonomy


class FlamingoLoss(nn.Module):
    """The sum of the cross-entropies of all levels, each with weight 1 [chang2021].

    Args:
        taxonomy: the tree; classes above the deepest level are repeated at the levels below, see `padded_levels`.

    Shape:
        logits: (B, T), the padded levels concatenated. labels: (B,). weights: (B,) >= 0, optional.
        Output: scalar, nan for an empty batch.

    Raises:
        ValueError: on call, for weights of another shape.
        IndexError: on call, for a label that is not a class (on a GPU, the device's own error).
    """

    level_labels: Tensor  # (C, H) position of each class within each level

    def __init__(self, taxonomy: Taxonomy) -> None:
        super().__init__()
        levels = padded_levels(taxonomy)
        self.sizes = levels.sizes
        self.register_buffer("level_labels", torch.tensor(levels.class_columns - levels.starts), persistent=False)

    def forward(self, logits: Tensor, labels: Tensor, weights: Tensor | None = None) -> Tensor:
        """Logits of all levels (B, T) and classes (B,) to a scalar."""
        targets = label_rows(self.level_labels, labels).unbind(dim=1)  # H times (B,)
        levels = logits.split_with_sizes(self.sizes, dim=1)
        entropies = [
            F.cross_entropy(own, target, reduction="none") for own, target in zip(levels, targets, strict=True)
        ]
        return weighted_mean(torch.stack(entropies).sum(dim=0), weights)
