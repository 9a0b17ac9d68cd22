"""The path of each sample's label, as nodes to gather."""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from hiercos.geometry import label_nodes
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


class Paths(NamedTuple):
    """The paths of a batch of labels.

    Attributes:
        nodes: shape (B, H), level 1 first; the label's own node again beyond its depth.
        mask: shape (B, H), True down to the label's depth.
    """

    nodes: Tensor
    mask: Tensor


class LabelPaths(nn.Module):
    """The nodes on the path of every label, walked up from the label's node.

    Args:
        taxonomy: the tree.
        inner: whether labels may be inner nodes, written as C + node.

    Shape:
        labels: (B,) class indices, or C + node. Output: `Paths`, (B, H) each.

    Raises:
        IndexError: on call, for any other label (on a GPU, the device's own error).
    """

    depths: Tensor  # (N,)
    parents: Tensor  # (N,) -1 just under the root

    def __init__(self, taxonomy: Taxonomy, *, inner: bool = False) -> None:
        super().__init__()
        self.taxonomy, self.inner = taxonomy, inner
        self.register_buffer("depths", torch.tensor(taxonomy.depths), persistent=False)
        self.register_buffer("parents", torch.tensor(taxonomy.parents), persistent=False)

    def forward(self, labels: Tensor) -> Paths:
        """Labels (B,) to nodes and mask, (B, H) each."""
        nodes = label_nodes(labels, self.taxonomy, inner=self.inner)
        depths = self.depths.index_select(0, nodes)  # (B,)
        mask = torch.arange(self.taxonomy.height, device=labels.device) < depths[:, None]  # (B, H)
        return Paths(path_nodes(nodes, depths, self.parents, self.taxonomy.height), mask)


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
