"""HAFrame's loss: cross-entropy on a fixed frame, and squared errors of the cosines with all vectors of the frame."""

from torch import Tensor, nn
from torch.nn import functional as F

from hiercos.geometry import label_rows
from hiercos.losses.paths import weighted_mean


class HAFrameLoss(nn.Module):
    """(1 - alpha) cross-entropy + alpha sum over the classes of (cos(w_c, f) - S_yc)^2 [liang2023].

    If alpha is above 1, the cross-entropy has weight 1.

    Args:
        similarities: target cosines S, shape (C, C).
        alpha: weight of the cosine term.

    Shape:
        outputs: (B, C + 1), the products of f with the unit vectors w_c, then the length of f. labels: (B,).
        weights: (B,) >= 0, optional. Output: scalar, nan for an empty batch.
    """

    similarities: Tensor  # (C, C)

    def __init__(self, similarities: Tensor, alpha: float = 0.4) -> None:
        super().__init__()
        self.alpha = alpha
        self.register_buffer("similarities", similarities, persistent=False)

    def forward(self, outputs: Tensor, labels: Tensor, weights: Tensor | None = None) -> Tensor:
        """Logits with lengths (B, C + 1) and classes (B,) to a scalar."""
        logits, length = outputs[:, :-1], outputs[:, -1:]
        cosines = logits / length.clamp(min=1e-8)  # cosines are 0 for a vector of length 0
        misfit = (cosines - label_rows(self.similarities, labels)).square().sum(dim=1)  # (B,)
        cross_entropy = F.cross_entropy(logits, labels, reduction="none")  # (B,)
        share = 1.0 if self.alpha > 1 else 1 - self.alpha
        return weighted_mean(share * cross_entropy + self.alpha * misfit, weights)
