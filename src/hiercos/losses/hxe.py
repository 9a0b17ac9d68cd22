"""Hierarchical cross-entropy (HXE) along the path of the label."""

import numpy as np
import torch
from torch import Tensor, nn

from hiercos.geometry import node_log_probabilities
from hiercos.losses.paths import LabelPaths, weighted_mean
from hiercos.taxonomy import Taxonomy


class HXELoss(nn.Module):
    """Weighted cross-entropies of the conditional probabilities along the path of the label [bertinetto2020].

    With p(v) the summed softmax of the classes below v: - sum over levels l of lambda_l log(p(v_l) / p(v_{l-1})),
    p(root) = 1 and lambda_l = exp(-alpha l) / T, where T is the sum of exp(-alpha depth) over all nodes
    and the root. alpha = 0 is cross-entropy over T.

    Note:
        The official code counts the depth from the root and divides by T, and so does this class. The value is
        therefore small (about 0.03 on a hundred classes before training), which matters to optimisers that are not
        scale-invariant: the published learning rates assume this scale.

    Args:
        taxonomy: the tree.
        alpha: decay rate of the weights with depth; 0.1 by default.

    Shape:
        logits: (B, C). labels: (B,), class indices, or C + node for an inner node. weights: (B,) >= 0, optional.
        Output: scalar, nan for an empty batch.
    """

    level_weights: Tensor  # (H,) lambda

    def __init__(self, taxonomy: Taxonomy, alpha: float = 0.1) -> None:
        super().__init__()
        self.taxonomy = taxonomy
        self.paths = LabelPaths(taxonomy, inner=True)
        self.register_buffer("level_weights", torch.tensor(level_weights(taxonomy, alpha)), persistent=False)

    def forward(self, logits: Tensor, labels: Tensor, weights: Tensor | None = None) -> Tensor:
        """Logits (B, C) and labels (B,) to a scalar."""
        on_path = node_log_probabilities(logits, self.taxonomy).gather(1, self.paths(labels).nodes)  # (B, H)
        steps = on_path.diff(dim=1, prepend=torch.zeros_like(on_path[:, :1]))  # (B, H), 0 beyond the label's depth
        return weighted_mean(-(steps * self.level_weights.to(steps.dtype)).sum(dim=1), weights)


def level_weights(taxonomy: Taxonomy, alpha: float) -> list[float]:
    """lambda_l = exp(-alpha l) / T for the levels 1…H, with T summed over all nodes and the root."""
    total = 1 + np.exp(-alpha * taxonomy.depths).sum()
    return [float(weight) for weight in np.exp(-alpha * np.arange(1, taxonomy.height + 1)) / total]
