"""Cross-entropy with a weight for each sample, and labels of any depth."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from hiercos.geometry import label_nodes, node_log_probabilities
from hiercos.losses.paths import has_inner_labels, weighted_mean
from hiercos.taxonomy import Taxonomy

UNUSED_LABEL = torch.iinfo(torch.int64).min  # torch ignores one label, by default -100; no label has this value


class CrossEntropyLoss(nn.Module):
    """Mean negative log-probability of the label, optionally weighted by sample.

    The probability of an inner node is the sum over the classes below it.

    Args:
        taxonomy: the tree, for labels that are inner nodes; None (default) if all labels are classes.

    Shape:
        logits: (B, C). labels: (B,), class indices, or C + node for an inner node. weights: (B,) >= 0, optional.
        Output: scalar, nan for an empty batch.

    Example:
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> logits = torch.tensor([[0.5, 0.25, 0.25]]).log()
        >>> round(float(CrossEntropyLoss(t)(logits, torch.tensor([3])).exp()), 4)  # pet, probability 3 / 4
        1.3333
    """

    def __init__(self, taxonomy: Taxonomy | None = None) -> None:
        super().__init__()
        self.taxonomy = taxonomy

    def forward(self, logits: Tensor, labels: Tensor, weights: Tensor | None = None) -> Tensor:
        """Logits (B, C) and labels (B,) to a scalar."""
        if self.taxonomy is not None and has_inner_labels(labels, self.taxonomy):
            nodes = label_nodes(labels, self.taxonomy, inner=True)
            losses = -node_log_probabilities(logits, self.taxonomy).gather(1, nodes[:, None]).squeeze(1)  # (B,)
        else:
            losses = F.cross_entropy(logits, labels, reduction="none", ignore_index=UNUSED_LABEL)  # (B,)
        return weighted_mean(losses, weights)
