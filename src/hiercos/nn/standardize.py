"""Scaling of features to mean 0 and variance 1."""

import torch
from torch import Tensor, nn

CONSTANT = 1e-6  # deviation over largest magnitude below which a feature varies only by float32 rounding


class Standardize(nn.Module):
    """Scale every feature to mean 0 and variance 1, with statistics set once.

    Shape:
        features: (B, F). Output: (B, F).
    """

    mean: Tensor  # (F,)
    scale: Tensor  # (F,), 1 for a feature that never varies

    def __init__(self, in_features: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(in_features))
        self.register_buffer("scale", torch.ones(in_features))

    def fit(self, features: Tensor) -> None:
        """Set mean and scale from features, shape (M, F) with M at least 1."""
        mean, scale = feature_scale(features)
        self.mean.copy_(mean)
        self.scale.copy_(scale)

    def forward(self, features: Tensor) -> Tensor:
        """Standardize features, shape (B, F)."""
        return (features - self.mean) / self.scale


def feature_scale(features: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and deviation of each feature, shape (F,) each, from (M, F); 1 for a feature that never varies."""
    deviation = features.std(dim=0, correction=0)
    varies = deviation > CONSTANT * features.abs().amax(dim=0)
    return features.mean(dim=0), deviation.where(varies, 1)
