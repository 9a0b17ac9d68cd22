"""Head layers shared by the methods: a linear head, a hidden layer, and column selection."""

import torch
from torch import Tensor, nn

from hiercos.geometry import PaddedLevels
from hiercos.nn import TransformationModule


def linear_head(
    in_features: int, out_features: int, *, width: int | None, dropout: float, momentum: float
) -> nn.Sequential:
    """A linear layer on the features (type I), or after a transformation module (type II).

    Args:
        in_features: width F of the input features.
        out_features: width of the outputs.
        width: width of the transformation module; None for no module.
        dropout: dropout rate before the linear layer (type I) or before the blocks (type II).
        momentum: batch-norm momentum of the transformation module.
    """
    if width is None:
        return nn.Sequential(nn.Dropout(dropout), nn.Linear(in_features, out_features))
    body = TransformationModule(in_features, width, momentum=momentum, dropout=dropout)
    return nn.Sequential(body, nn.Linear(width, out_features))


def hidden_layer(in_features: int, width: int | None) -> tuple[nn.Module, int]:
    """A linear layer between batch norms, followed by an ELU, and its output width; the identity if width is None.

    The published baselines without a transformation module have one of 600 units after ResNet-50 [liang2023].

    Args:
        in_features: width F of the input features.
        width: width of the layer; None for no layer.
    """
    if width is None:
        return nn.Identity(), in_features
    norm, linear = nn.BatchNorm1d(in_features), nn.Linear(in_features, width)
    return nn.Sequential(norm, linear, nn.BatchNorm1d(width), nn.ELU()), width


class Columns(nn.Module):
    """Selects columns. Shape: outputs (B, T) to (B, number of selected columns)."""

    columns: Tensor

    def __init__(self, columns: Tensor) -> None:
        super().__init__()
        self.register_buffer("columns", columns, persistent=False)

    def forward(self, outputs: Tensor) -> Tensor:
        """Shape (B, T) to (B, K)."""
        return outputs.index_select(1, self.columns)


def class_columns(levels: PaddedLevels) -> Columns:
    """Selects the class logits, from the deepest level. Shape: (B, T) to (B, C)."""
    return Columns(torch.tensor(levels.class_columns[:, -1]))


def node_columns(levels: PaddedLevels) -> Columns:
    """Selects the node logits, each from the classifier of its own level. Shape: (B, T) to (B, N)."""
    return Columns(torch.tensor(levels.node_columns))
