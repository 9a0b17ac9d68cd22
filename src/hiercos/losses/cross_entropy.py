"""Cross-entropy with a weight for each sample."""

from torch import Tensor, nn
from torch.nn import functional as F


class CrossEntropyLoss(nn.Module):
    """Mean negative log-probability of the true class, weighted by sample where weights are given.

    Shape:
        logits: (B, C). labels: (B,). weights: (B,) >= 0, optional. Output: scalar, nan for an empty batch.
    """

    def forward(self, logits: Tensor, labels: Tensor, weights: Tensor | None = None) -> Tensor:
        """Logits (B, C) and classes (B,) to a scalar."""
        if weights is None:
            return F.cross_entropy(logits, labels)
        return (F.cross_entropy(logits, labels, reduction="none") * weights).sum() / weights.sum()
