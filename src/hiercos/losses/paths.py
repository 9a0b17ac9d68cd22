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
    """
    if weights is None:
        return values.mean()
    if weights.shape != values.shape:
        raise ValueError(f"expected weights of shape {tuple(values.shape)}, got {tuple(weights.shape)}")
    return (values * weights).sum() / weights.sum()


def has_inner_labels(labels: Tensor, taxonomy: Taxonomy) -> bool:
    """Whether a batch has labels that are inner nodes; True in a compiler and in vmap, which cannot read values."""
    unreadable = torch.compiler.is_compiling() or torch._C._functorch.is_functorch_wrapped_tensor(labels)
    return unreadable or bool((labels >= taxonomy.num_classes).any())


class Paths(NamedTuple):
    """The paths of a batch of labels."""

    nodes: Tensor  # nodes of each path, shape (B, H), level 1 first; the label's own node is repeated beyond its depth
    mask: Tensor  # True down to the label's depth, shape (B, H)


class LabelPaths(nn.Module):
    """Finds the nodes on the path of each label of a tree.

    Args:
        taxonomy: the tree.
        inner: whether labels may be inner nodes, given as C + node.

    Shape:
        labels: (B,) class indices, or C + node. Output: `Paths`, (B, H) each.
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

    Returns:
        Nodes, shape (B, H), level 1 first; the last node is repeated beyond its depth.
    """
    columns = []
    for level in range(height, 0, -1):
        columns.append(nodes)
        nodes = torch.where(depths >= level, parents[nodes], nodes)
    return torch.stack(columns[::-1], dim=1)


class Ancestors(NamedTuple):
    """The ancestors of a batch of labels in a graph, each label among its own."""

    # ancestors of each label, shape (B, W) with W the largest number of them; the label's own node is repeated beyond
    # its number
    nodes: Tensor
    mask: Tensor  # True for the ancestors, False for the repetitions, shape (B, W)
    levels: Tensor  # level of each of these nodes, counted from 0, shape (B, W)


class LabelAncestors(nn.Module):
    """Finds the set of ancestors of each label, in a tree or a graph.

    Shape:
        labels: (B,) class indices, or C + node. Output: `Ancestors`, (B, W) each.
    """

    starts: Tensor  # (N + 1,)
    ancestors: Tensor
    depths: Tensor  # (N,)

    def __init__(self, taxonomy: Taxonomy) -> None:
        super().__init__()
        self.taxonomy = taxonomy
        for name, values in zip(("starts", "ancestors"), taxonomy.ancestors, strict=True):
            self.register_buffer(name, torch.tensor(values), persistent=False)
        self.register_buffer("depths", torch.tensor(taxonomy.depths), persistent=False)

    def forward(self, labels: Tensor) -> Ancestors:
        """Labels (B,) to nodes, mask and levels, (B, W) each."""
        own = label_nodes(labels, self.taxonomy, inner=True)
        first, last = self.starts[own], self.starts[own + 1] - 1  # the last ancestor is the node itself
        width = int(self.taxonomy.ancestor_counts.max())
        places = first[:, None] + torch.arange(width, device=labels.device)  # (B, W)
        nodes = self.ancestors[places.minimum(last[:, None])]
        return Ancestors(nodes, places <= last[:, None], self.depths[nodes] - 1)

    def level_sums(self, values: Tensor, ancestors: Ancestors) -> Tensor:
        """Sum of the values of each label's ancestors at every level: (B, W) to (B, H)."""
        zeros = values.new_zeros(len(values), self.taxonomy.height)
        return zeros.scatter_add(1, ancestors.levels, values * ancestors.mask)
