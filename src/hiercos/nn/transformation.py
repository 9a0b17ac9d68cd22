"""The transformation module: what maps a backbone's features into a space of our choice."""

from typing import Literal, get_args

from torch import Tensor, nn

from hiercos.options import check_choice

Stem = Literal["norm", "linear"]


class ResidualBlock(nn.Module):
    """y = S(x) + PReLU(BN(W2 PReLU(BN(W1 x)))), as the published code has it: nothing follows the sum.

    The shortcut S is the identity where the widths agree, and a learned linear map without bias elsewhere.

    Shape:
        x: (B, in_features). Output: (B, width).
    """

    def __init__(self, in_features: int, width: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(in_features, width, bias=False),
            nn.BatchNorm1d(width),
            nn.PReLU(width),
            nn.Linear(width, width, bias=False),
            nn.BatchNorm1d(width),
            nn.PReLU(width),
        )
        self.shortcut = nn.Identity() if in_features == width else nn.Linear(in_features, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Shape (B, in_features) to (B, width)."""
        out: Tensor = self.shortcut(x) + self.body(x)
        return out


class TransformationModule(nn.Module):
    """A stem and two residual blocks [sani2026, supplementary, implementation details].

    Note:
        The paper speaks of five linear layers; the published code has two residual blocks of two linear
        layers each and a fixed orthogonal map. This is the code's form.

    Args:
        in_features: F, the width of the features.
        width: the width of the blocks.
        stem: "norm" normalises the features (published with frozen transformers); "linear" projects them
            to the width first and normalises then, which on pooled features is the published stem of the
            convolutional backbones, since pooling and a 1x1 convolution commute.
        momentum: of the stem's batch norm. The published 0.001 needs thousands of steps before evaluation
            means anything, so 0.1 is the default.
        dropout: share of the stem's outputs dropped in training; 0 as published.

    Raises:
        ValueError: for an unknown stem, or a width or in_features below 1.

    Shape:
        features: (B, F). Output: (B, width).
    """

    def __init__(
        self,
        in_features: int,
        width: int,
        *,
        stem: Stem = "norm",
        momentum: float = 0.1,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if in_features < 1 or width < 1:
            raise ValueError(f"expected in_features and width of at least 1, got {in_features} and {width}")
        check_choice("stem", stem, get_args(Stem))
        linear = stem == "linear"
        projection = nn.Linear(in_features, width, bias=False) if linear else nn.Identity()
        stem_width = width if linear else in_features
        self.stem = nn.Sequential(projection, nn.BatchNorm1d(stem_width, momentum=momentum), nn.Dropout(dropout))
        self.blocks = nn.Sequential(ResidualBlock(stem_width, width), ResidualBlock(width, width))

    def forward(self, features: Tensor) -> Tensor:
        """Shape (B, F) to (B, width)."""
        out: Tensor = self.blocks(self.stem(features))
        return out
