"""Paths of the labels of a batch, and weighted means over samples: shared by the losses."""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from hiercos.geometry import label_nodes
from hiercos.taxonomy import Taxonomy


def weighted_mean(values: Tensor, weights: Tensor | None) -> Tensor:
    """Mean of one value per sample, optionally weighted.

    Args:
        values: value of each sample, shape (B,).
        weights: weight >= 0 of each sample, shape (B,); None for equal weights.

    Returns:
        Scalar, nan for an empty batch or if all weights are 0.

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
        nodes: nodes of each path, shape (B, H), level 1 first; the label's own node is repeated beyond its depth.
        mask: True down to the label's depth, shape (B, H).
    """

    nodes: Tensor
    mask: Tensor


class LabelPaths(nn.Module):
    """Finds the nodes on the path of each label.

    Args:
        taxonomy: the tree.
        inner: whether labels may be inner nodes, given as C + node.

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
    """Path to each node, found by walking up the tree: a table of all paths would be too large for a deep tree.

    Args:
        nodes: last node of each path, shape (B,).
        depths: depth of each of these nodes, shape (B,).
        parents: parent of every node, shape (N,).
        height: number of columns H.

    Returns:
        Nodes, shape (B, H), level 1 first; the last node is repeated beyond its depth.
    """
    columns = []
    for level in range(height, 0, -1):
        columns.append(nodes)
        nodes = torch.where(depths >= level, parents[nodes], nodes)
    return torch.stack(columns[::-1], dim=1)
