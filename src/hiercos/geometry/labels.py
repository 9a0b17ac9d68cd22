"""Labels in torch: class indices y < C, and C + node for a node of any depth; and what they say about every node."""

from typing import NamedTuple

import torch
from torch import Tensor

from hiercos.geometry.operations import tree_operations
from hiercos.taxonomy import Taxonomy


def label_nodes(labels: Tensor, taxonomy: Taxonomy, *, inner: bool = False) -> Tensor:
    """Node of each label: (B,) to (B,).

    Args:
        labels: class indices y < C or, where inner nodes are allowed, C + node; shape (B,).
        taxonomy: the tree.
        inner: whether labels C + node are allowed.

    Example:
        >>> import torch
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> label_nodes(torch.tensor([0, 2, 3]), t, inner=True)  # cat, car, and node 0, which is pet
        tensor([2, 4, 0])
    """
    operations = tree_operations(taxonomy, labels.device)
    return label_rows(operations.nodes_of_labels if inner else operations.leaves, labels)


def label_rows(table: Tensor, labels: Tensor) -> Tensor:
    """Row of each label in a table with one row per label: (K, ...) and (B,) to (B, ...)."""
    try:
        return table.index_select(0, labels)
    except IndexError as error:
        wrong = labels[(labels < 0) | (labels >= len(table))].tolist()
        raise IndexError(f"expected labels from 0 to {len(table) - 1}, got {wrong[0]}") from error


class TargetNodes(NamedTuple):
    """Nodes of a batch of labels."""

    right: Tensor  # True at or above a label, shape (B, N)
    # True where it is known whether a node is right: not strictly below a label, unless it is right itself, and nowhere
    # for a sample without labels; shape (B, N)
    known: Tensor


def target_nodes(labels: Tensor, taxonomy: Taxonomy) -> TargetNodes:
    """Right and known nodes of samples with one or several labels.

    Args:
        labels: class indices, C + node or, for the root, C + N, shape (B,); or nodes of up to K labels of each sample,
            -1 for none, shape (B, K).
        taxonomy: the tree or graph.

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
