"""Nodes that are right, wrong or unknown for samples with one or several labels."""

from typing import NamedTuple

import torch
from torch import Tensor

from hiercos.geometry.labels import label_nodes
from hiercos.geometry.operations import tree_operations
from hiercos.taxonomy import Taxonomy


class TargetNodes(NamedTuple):
    """Nodes of a batch of labels.

    Attributes:
        right: True at or above a label, shape (B, N).
        known: True where it is known whether a node is right: not strictly below a label, unless it is right itself,
            and nowhere for a sample without labels; shape (B, N).
    """

    right: Tensor
    known: Tensor


def target_nodes(labels: Tensor, taxonomy: Taxonomy) -> TargetNodes:
    """Right and known nodes of samples with one or several labels.

    Args:
        labels: class indices, C + node or, for the root, C + N, shape (B,); or nodes of up to K labels of each sample,
            -1 for none, shape (B, K).
        taxonomy: the tree or graph.

    Raises:
        IndexError: for any other label (on a GPU, the device's own error).

    Example:
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> target_nodes(torch.tensor([[0, 4], [2, -1]]), t).right.int().tolist()  # pet and car, cat
        [[1, 1, 0, 0, 1], [1, 0, 1, 0, 0]]
        >>> target_nodes(torch.tensor([[0, 4]]), t).known.int().tolist()  # which pet is unknown
        [[1, 1, 0, 0, 1]]
    """
    nodes = _single_nodes(labels, taxonomy)[:, None] if labels.ndim == 1 else labels  # (B, K)
    operations = tree_operations(taxonomy, labels.device)
    marked = torch.zeros(len(nodes), taxonomy.num_nodes + 1, device=labels.device)
    own = marked.scatter(1, nodes.where(nodes >= 0, taxonomy.num_nodes), 1)[:, :-1]  # (B, N)
    right = operations.descendant_sums(own) > 0
    below = operations.ancestor_sums(own) > 0
    return TargetNodes(right, (right | ~below) & (nodes >= 0).any(dim=1, keepdim=True))


def _single_nodes(labels: Tensor, taxonomy: Taxonomy) -> Tensor:
    """Node of each label, -1 for the root: (B,) to (B,)."""
    is_root = labels == taxonomy.num_classes + taxonomy.num_nodes
    return label_nodes(labels.masked_fill(is_root, 0), taxonomy, inner=True).masked_fill(is_root, -1)
