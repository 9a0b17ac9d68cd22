"""Labels in torch: class indices y < C, and C + node for a node of any depth."""

from torch import Tensor

from hiercos.geometry.operations import tree_operations
from hiercos.taxonomy import Taxonomy


def label_nodes(labels: Tensor, taxonomy: Taxonomy, *, inner: bool = False) -> Tensor:
    """Node of each label: (B,) to (B,).

    Args:
        labels: class indices y < C or, where inner nodes are allowed, C + node; shape (B,).
        taxonomy: the tree.
        inner: whether labels C + node are allowed.

    Raises:
        IndexError: for any other label (on a GPU, the device's own error).

    Example:
        >>> import torch
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> label_nodes(torch.tensor([0, 2, 3]), t, inner=True)  # cat, car, and node 0, which is pet
        tensor([2, 4, 0])
    """
    operations = tree_operations(taxonomy, labels.device)
    return label_rows(operations.nodes_of_labels if inner else operations.leaves, labels)


def label_rows(table: Tensor, labels: Tensor) -> Tensor:
    """Row of each label in a table with one row per label: (K, ...) and (B,) to (B, ...).

    Raises:
        IndexError: naming the first label that has no row (on a GPU, the device's own error).
    """
    try:
        return table.index_select(0, labels)
    except IndexError as error:
        wrong = labels[(labels < 0) | (labels >= len(table))].tolist()
        raise IndexError(f"expected labels from 0 to {len(table) - 1}, got {wrong[0]}") from error
