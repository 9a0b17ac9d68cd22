"""Classifiers for all levels at once, their logits side by side."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class SlicedHeads(nn.Module):
    """One linear classifier a level, each on its own slice of the features and, frozen, all finer ones [chang2021].

    The features are cut into one slice a level, the coarsest first. The classifier of a level sees its slice and
    those of the levels below, which its gradient does not reach.

    Args:
        in_features: F. Where it is less than the number of levels, the coarsest slices are empty.
        sizes: the number of nodes of each level, level 1 first.

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
        frozen = features.detach()
        logits = []
        for level, classifier in enumerate(self.classifiers):
            finer = frozen[:, sum(self.widths[: level + 1]) :]
            logits.append(classifier(torch.cat([slices[level], finer], dim=1)))  # (B, K_level)
        return torch.cat(logits, dim=1)


def slice_widths(in_features: int, levels: int) -> list[int]:
    """Widths of equal slices that add up to in_features; what is left over goes to the finest, one each."""
    width, left = divmod(in_features, levels)
    return [width + (level >= levels - left) for level in range(levels)]


class UnitRowLinear(nn.Module):
    """A linear layer with bias whose rows are scaled to length 1.

    Shape:
        features: (B, F). Output: (B, out_features).
    """

    def __init__(self, in_features: int, out_features: int) -> None:
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)

    def unit_rows(self) -> Tensor:
        """The rows as they are used, shape (out_features, F)."""
        return F.normalize(self.linear.weight, dim=1)

    def forward(self, features: Tensor) -> Tensor:
        """Shape (B, F) to (B, out_features)."""
        return F.linear(features, self.unit_rows(), self.linear.bias)
