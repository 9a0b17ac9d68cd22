"""What stands before a method's classifier: nothing, one hidden layer, or the transformation module."""

import torch
from torch import Tensor, nn

from hiercos.geometry import PaddedLevels
from hiercos.nn import TransformationModule


def linear_head(
    in_features: int, out_features: int, *, width: int | None, dropout: float, momentum: float
) -> nn.Sequential:
    """A linear layer on the features (type I), or behind a transformation module of some width (type II).

    Args:
        in_features: F.
        out_features: of the linear layer.
        width: of the transformation module; None for no module.
        dropout: before the linear layer (type I) or before the blocks (type II).
        momentum: of the transformation module.
    """
    if width is None:
        return nn.Sequential(nn.Dropout(dropout), nn.Linear(in_features, out_features))
    body = TransformationModule(in_features, width, momentum=momentum, dropout=dropout)
    return nn.Sequential(body, nn.Linear(width, out_features))


def hidden_layer(in_features: int, width: int | None) -> tuple[nn.Module, int]:
    """One layer between batch norms and an ELU, or nothing, with the number of its outputs.

    The published baselines without a transformation module have one of 600 units behind ResNet-50 [liang2023].

    Args:
        in_features: F.
        width: of the layer; None for none.
    """
    if width is None:
        return nn.Identity(), in_features
    norm, linear = nn.BatchNorm1d(in_features), nn.Linear(in_features, width)
    return nn.Sequential(norm, linear, nn.BatchNorm1d(width), nn.ELU()), width


class Columns(nn.Module):
    """Pick columns. Shape: outputs (B, T) to (B, number of columns picked)."""

    columns: Tensor

    def __init__(self, columns: Tensor) -> None:
        super().__init__()
        self.register_buffer("columns", columns, persistent=False)

    def forward(self, outputs: Tensor) -> Tensor:
        """Shape (B, T) to (B, K)."""
        return outputs.index_select(1, self.columns)


def class_columns(levels: PaddedLevels) -> Columns:
    """The logits of the classes, from the deepest level. Shape: (B, T) to (B, C)."""
    return Columns(torch.tensor(levels.class_columns[:, -1]))


def node_columns(levels: PaddedLevels) -> Columns:
    """The logits of the nodes, each from its own level's classifier. Shape: (B, T) to (B, N)."""
    return Columns(torch.tensor(levels.node_columns))
