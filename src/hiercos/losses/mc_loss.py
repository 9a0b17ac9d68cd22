"""MCLoss: binary cross-entropy of coherent node scores, for samples with several labels."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from hiercos.geometry import TargetNodes, target_nodes, tree_operations
from hiercos.losses.paths import weighted_mean
from hiercos.taxonomy import Taxonomy


class MCLoss(nn.Module):
    """Mean over the nodes of the binary cross-entropy of their coherent scores [giunchiglia2020].

    With h the sigmoid of a node's logit, D(v) the node v and all below it, and y the nodes at or above a label: a node
    with y_v = 1 costs - log max{h_u : u in D(v), y_u = 1}, any other - log(1 - max{h_u : u in D(v)}). The maximum of a
    positive node goes over positive nodes alone, so that a wrong node below it is not raised.

    Shape:
        logits: (B, N). labels: (B,), class indices, or C + node for an inner node; or (B, K), the nodes of up to K
        labels of each sample, -1 for none. weights: (B,) >= 0, optional. Output: scalar, nan for an empty batch.

    Note:
        In the paper every node that is not above a label is negative. Here nodes strictly below a label at an inner
        node are left out, as in the other losses: the label does not say which of them is right.

    Example:
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> logits = torch.tensor([[-9.0, -9.0, 9.0, -9.0, 9.0]])  # a cat in a car
        >>> round(float(MCLoss(t)(logits, torch.tensor([[2, 4]]))), 4)  # pet and vehicle follow from what is below
        0.0001
    """

    def __init__(self, taxonomy: Taxonomy) -> None:
        super().__init__()
        self.taxonomy = taxonomy

    def forward(self, logits: Tensor, labels: Tensor, weights: Tensor | None = None) -> Tensor:
        """Logits (B, N) and labels (B,) or (B, K) to a scalar."""
        if logits.ndim != 2 or logits.shape[1] != self.taxonomy.num_nodes:
            raise ValueError(f"expected logits of shape (B, {self.taxonomy.num_nodes}), got {tuple(logits.shape)}")
        logits = logits.float()  # sums of many small terms, also under autocast
        operations = tree_operations(self.taxonomy, logits.device)
        targets: TargetNodes = target_nodes(labels, self.taxonomy)
        highest = operations.descendant_maxima(logits)
        positive = operations.descendant_maxima(logits.masked_fill(~targets.right, -torch.inf))
        scores = positive.where(targets.right, -highest)  # (B, N), finite: a positive node is among its own
        losses = -F.logsigmoid(scores) * targets.known
        return weighted_mean(losses.sum(dim=1) / targets.known.sum(dim=1).clamp(min=1), weights)
