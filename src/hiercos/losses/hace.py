"""Hierarchy-aware cross-entropy (HACE): a target spread over the ancestors of the label."""

import torch
from torch import Tensor, nn

from hiercos.geometry import node_log_probabilities
from hiercos.losses.paths import LabelPaths, weighted_mean
from hiercos.taxonomy import Taxonomy


class HACELoss(nn.Module):
    """Cross-entropy of node probabilities with an ancestrally smoothed target [chan2026].

    −sum over v on the path of q_v log P(v), with P(v) the summed softmax of the classes at or below v. Every node of
    the path passes the share `dilution` of its target up to its parent, so q_v = (1 - dilution) dilution^k for the
    node k steps above the label; the root takes the rest, and adds nothing because its probability is 1.

    Note:
        Targets divided by their sum over the path, root excluded, differ from these by the factor
        1 - dilution^depth: in scale only, where all classes have the same depth.

    Args:
        taxonomy: the tree.
        dilution: share that a node passes up, from 0 (cross-entropy) to below 1; 0.5 by default.

    Shape:
        logits: (B, C). labels: (B,), class indices, or C + node for an inner node. weights: (B,) >= 0, optional.
        Output: scalar, nan for an empty batch.

    Example:
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> logits = torch.tensor([[0.5, 0.25, 0.25]]).log()
        >>> round(float(HACELoss(t)(logits, torch.tensor([0]))), 4)  # - 0.5 log 0.5 - 0.25 log 0.75
        0.4185
    """

    def __init__(self, taxonomy: Taxonomy, dilution: float = 0.5) -> None:
        super().__init__()
        if not 0 <= dilution < 1:
            raise ValueError(f"expected a dilution from 0 to below 1, got {dilution}")
        self.taxonomy, self.dilution = taxonomy, dilution
        self.paths = LabelPaths(taxonomy, inner=True)

    def forward(self, logits: Tensor, labels: Tensor, weights: Tensor | None = None) -> Tensor:
        """Logits (B, C) and labels (B,) to a scalar."""
        nodes, mask = self.paths(labels)  # (B, H) each
        on_path = node_log_probabilities(logits, self.taxonomy).gather(1, nodes)  # (B, H)
        levels = torch.arange(1, nodes.shape[1] + 1, device=nodes.device)
        steps_up = (mask.sum(dim=1, keepdim=True) - levels).clamp(min=0)  # (B, H)
        target = (1 - self.dilution) * self.dilution ** steps_up.to(on_path.dtype) * mask
        return weighted_mean(-(target * on_path).sum(dim=1), weights)
