"""Classifiers of all levels, with concatenated logits."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class SlicedHeads(nn.Module):
    """One linear classifier per level, on its own slice of the features and the detached finer ones [chang2021].

    The features are split into one slice per level, the coarsest first. The input of a level's classifier is its own
    slice and those of the levels below, through which no gradient flows.

    Args:
        in_features: width F of the input features; if it is below the number of levels, the coarsest slices are empty.
        sizes: number of nodes of each level, level 1 first.

    Shape:
        features: (B, F). Output: (B, T), T = sum of sizes.
    """

    def __init__(self, in_features: int, sizes: Sequence[int]) -> None:
        super().__init__()
        self.widths = slice_widths(in_features, len(sizes))
        seen = [sum(self.widths[level:]) for level in range(len(sizes))]
        self.classifiers = nn.ModuleList(nn.Linear(*shape) for shape in zip(seen, sizes, strict=True))

    def forward(self, features: Tensor) -> Tensor:
        """Shape (B, F) to (B, T)."""
        slices = features.split_with_sizes(self.widths, dim=1)
        detached = features.detach()
        logits = []
        for level, classifier in enumerate(self.classifiers):
            finer = detached[:, sum(self.widths[: level + 1]) :]
            logits.append(classifier(torch.cat([slices[level], finer], dim=1)))  # (B, K_level)
        return torch.cat(logits, dim=1)


def slice_widths(in_features: int, levels: int) -> list[int]:
    """Widths of nearly equal slices that add up to in_features; the finest slices get one of the remainder each."""
    width, remainder = divmod(in_features, levels)
    return [width + (level >= levels - remainder) for level in range(levels)]


class UnitRowLinear(nn.Module):
    """A linear layer with bias whose rows are scaled to length 1.

    Shape:
        features: (B, F). Output: (B, out_features).
    """

    def __init__(self, in_features: int, out_features: int) -> None:
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)

    def unit_rows(self) -> Tensor:
        """Rows scaled to length 1, shape (out_features, F)."""
        return F.normalize(self.linear.weight, dim=1)

    def forward(self, features: Tensor) -> Tensor:
        """Shape (B, F) to (B, out_features)."""
        return F.linear(features, self.unit_rows(), self.linear.bias)
