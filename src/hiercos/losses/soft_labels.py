"""Soft labels: target probabilities that decay with tree distance from the true class."""

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from hiercos.geometry import label_rows
from hiercos.losses.paths import weighted_mean
from hiercos.taxonomy import Taxonomy


class SoftLabelsLoss(nn.Module):
    """KL divergence of the softmax from targets that decay with tree distance [bertinetto2020].

    KL(q | p) / C with q_j proportional to exp(-beta D(j, y) / D_max). The targets are a C x C table: 4 MB
    in single precision for 1,000 classes, 400 MB for 10,000.

    Note:
        The official code takes the mean over samples and classes, so the divergence is divided by C. This class
        follows the code.

    Args:
        taxonomy: the tree.
        beta: decay rate of the targets with distance; 30 (default) is close to one-hot, 4 is wide.

    Shape:
        logits: (B, C). labels: (B,). weights: (B,) >= 0, optional. Output: scalar, nan for an empty batch.
    """

    targets: Tensor  # (C, C), rows sum to 1
    entropies: Tensor  # (C,) entropy of each row

    def __init__(self, taxonomy: Taxonomy, beta: float = 30.0) -> None:
        super().__init__()
        targets = soft_targets(taxonomy, beta)
        entropies = -torch.xlogy(targets, targets).sum(dim=1)
        self.register_buffer("targets", targets.to(torch.get_default_dtype()), persistent=False)
        self.register_buffer("entropies", entropies.to(torch.get_default_dtype()), persistent=False)

    def forward(self, logits: Tensor, labels: Tensor, weights: Tensor | None = None) -> Tensor:
        """Logits (B, C) and classes (B,) to a scalar."""
        cross = (label_rows(self.targets, labels) * F.log_softmax(logits, dim=1)).sum(dim=1)  # (B,)
        divergence = -cross - label_rows(self.entropies, labels)
        return weighted_mean(divergence, weights) / logits.shape[1]


def soft_targets(taxonomy: Taxonomy, beta: float) -> Tensor:
    """Targets of every class, softmax of -beta D / D_max over each row, shape (C, C), float64."""
    distances = taxonomy.distance_matrix()
    scaled = np.divide(distances, max(distances.max(), 1))  # the largest distance is 0 for a single class
    return torch.tensor(-beta * scaled, dtype=torch.float64).softmax(dim=1)
