"""Cross-entropy with a weight for each sample."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from hiercos.losses.paths import weighted_mean

UNUSED_LABEL = torch.iinfo(torch.int64).min  # torch ignores one label, by default -100; no label has this value


class CrossEntropyLoss(nn.Module):
    """Mean negative log-probability of the true class, optionally weighted by sample.

    Shape:
        logits: (B, C). labels: (B,). weights: (B,) >= 0, optional. Output: scalar, nan for an empty batch.

    Raises:
        ValueError: on call, for labels or weights of another shape.
        IndexError: on call, for a label that is not a class (on a GPU, the device's own error).
    """

    def forward(self, logits: Tensor, labels: Tensor, weights: Tensor | None = None) -> Tensor:
        """Logits (B, C) and classes (B,) to a scalar."""
        losses = F.cross_entropy(logits, labels, reduction="none", ignore_index=UNUSED_LABEL)  # (B,)
        return weighted_mean(losses, weights)
