"""Methods with one classifier a level: which of their columns belong to classes and nodes."""

import torch
from torch import Tensor, nn

from hiercos.geometry.padded_levels import PaddedLevels


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
