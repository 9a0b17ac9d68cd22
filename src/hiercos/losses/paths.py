"""The path of each sample's class, as nodes to gather."""

import torch
from torch import Tensor, nn

from hiercos.taxonomy import Taxonomy


def weighted_mean(values: Tensor, weights: Tensor | None) -> Tensor:
    """Mean of one value per sample, weighted where weights are given.

    Args:
        values: shape (B,).
        weights: shape (B,), >= 0, or None.

    Returns:
        Scalar, nan for an empty batch or where all weights are 0.

    Raises:
        ValueError: for weights of another shape.
    """
    if weights is None:
        return values.mean()
    if weights.shape != values.shape:
        raise ValueError(f"expected weights of shape {tuple(values.shape)}, got {tuple(weights.shape)}")
    return (values * weights).sum() / weights.sum()


class ClassPaths(nn.Module):
    """The nodes on the path of every label, walked up from its leaf.

    Shape:
        labels: (B,) classes. Output: (B, H) nodes, level 1 first, the leaf again beyond its depth.
    """

    leaves: Tensor  # (C,) node of each class
    depths: Tensor  # (C,) its depth
    parents: Tensor  # (N,) -1 just under the root

    def __init__(self, taxonomy: Taxonomy) -> None:
        super().__init__()
        self.height = taxonomy.height
        self.register_buffer("leaves", torch.tensor(taxonomy.leaves), persistent=False)
        self.register_buffer("depths", torch.tensor(taxonomy.depths[taxonomy.leaves]), persistent=False)
        self.register_buffer("parents", torch.tensor(taxonomy.parents), persistent=False)

    def forward(self, labels: Tensor) -> Tensor:
        """Classes (B,) to nodes (B, H)."""
        leaves, depths = (of_class.index_select(0, labels) for of_class in (self.leaves, self.depths))
        return path_nodes(leaves, depths, self.parents, self.height)

    def has_level(self, labels: Tensor) -> Tensor:
        """Which levels the path of each class has: classes (B,) to (B, H), True down to its own depth."""
        return torch.arange(self.height, device=labels.device) < self.depths.index_select(0, labels)[:, None]


def path_nodes(nodes: Tensor, depths: Tensor, parents: Tensor, height: int) -> Tensor:
    """The path to each node, found by walking up: no table of all paths, which a deep tree could not afford.

    Args:
        nodes: where the paths end, shape (B,).
        depths: their depths, shape (B,).
        parents: the parent of every node, shape (N,).
        height: H, the number of columns.

    Returns:
        Nodes, shape (B, H), level 1 first; beyond a node's depth the node itself again.
    """
    columns = []
    for level in range(height, 0, -1):
        columns.append(nodes)
        nodes = torch.where(depths >= level, parents[nodes], nodes)
    return torch.stack(columns[::-1], dim=1)
