"""Barz and Denzler's loss: the cosine distance of an embedding to the fixed embedding of its class."""

from torch import Tensor, nn
from torch.nn import functional as F

from hiercos.geometry import label_rows
from hiercos.losses.paths import weighted_mean


class BarzDenzlerLoss(nn.Module):
    """1 - cos(f, phi_y) plus a share of the cross-entropy of f [barz2019].

    Note:
        The code behind the published tables uses the C coordinates of the embedding itself as the logits of the
        cross-entropy, and so does this class. With embeddings from `class_frame` the largest coordinate of a class
        is its own, so the two terms agree.

    Args:
        embeddings: unit vectors phi of the classes, shape (C, C).
        share: weight of the cross-entropy.

    Shape:
        f: (B, C). labels: (B,). weights: (B,) >= 0, optional. Output: scalar, nan for an empty batch.
    """

    embeddings: Tensor  # (C, C)

    def __init__(self, embeddings: Tensor, share: float = 0.1) -> None:
        super().__init__()
        self.share = share
        self.register_buffer("embeddings", embeddings, persistent=False)

    def forward(self, f: Tensor, labels: Tensor, weights: Tensor | None = None) -> Tensor:
        """Embeddings (B, C) and classes (B,) to a scalar."""
        turned = 1 - F.cosine_similarity(f, label_rows(self.embeddings, labels), dim=1)  # (B,)
        return weighted_mean(turned + self.share * F.cross_entropy(f, labels, reduction="none"), weights)
