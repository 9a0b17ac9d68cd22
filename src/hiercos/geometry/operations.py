"""The tree as index tensors on a device, made once for each taxonomy and device."""

import weakref
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor

from hiercos.geometry.frames import checked_embeddings
from hiercos.taxonomy import Taxonomy


@dataclass(frozen=True)
class TreeIndex:
    """What the sums over paths and subtrees read; sizes are Python integers, so nothing waits for a device.

    Attributes:
        sizes: the number of nodes of each level, level 1 first; a level is one run of columns.
        parents: for each level but the first, the parents' positions within the level above, shape (K_level,).
        leaves: the node of each class, shape (C,).
    """

    sizes: tuple[int, ...]
    parents: tuple[Tensor, ...]
    leaves: Tensor


_indices: "weakref.WeakKeyDictionary[Taxonomy, dict[torch.device, TreeIndex]]" = weakref.WeakKeyDictionary()


def tree_index(taxonomy: Taxonomy, device: torch.device) -> TreeIndex:
    """The index tensors of a taxonomy on a device, cached as long as the taxonomy lives."""
    by_device = _indices.setdefault(taxonomy, {})
    if device in by_device:
        return by_device[device]
    with torch.inference_mode(False):  # tensors born in inference mode could not serve a backward pass later
        index = _index(taxonomy, device)
    if type(index.leaves) is Tensor:  # not where a tracer stands in for it, whose tensors serve nobody else
        by_device[device] = index
    return index


# A compiler asks once and keeps the tensors as constants of its graph. This is all that assume_constant_result of
# torch.compiler does, but that would import the whole compiler (a second) for everybody who never compiles.
tree_index._dynamo_marked_constant = True  # type: ignore[attr-defined]


def _index(taxonomy: Taxonomy, device: torch.device) -> TreeIndex:
    starts = taxonomy.level_starts
    parents = torch.tensor(taxonomy.parents, device=device)
    return TreeIndex(
        sizes=tuple(int(end - start) for start, end in pairwise(starts)),
        parents=tuple(
            parents[starts[level] : starts[level + 1]] - int(starts[level - 1]) for level in range(1, taxonomy.height)
        ),
        leaves=torch.tensor(taxonomy.leaves, device=device),
    )


def path_sums(values: Tensor, index: TreeIndex) -> Tensor:
    """Sum of the values on the path of every node, itself included.

    A path is its parent's path plus one node, and nodes are numbered level by level, so each level adds
    its own values to its parents' sums: O(N) a sample, and no projection matrix is ever built.

    Args:
        values: one value per node, shape (B, N).
        index: the tree.

    Returns:
        Sums, shape (B, N).
    """
    levels = values.split_with_sizes(index.sizes, dim=1)
    sums = [levels[0]]
    for own, parents in zip(levels[1:], index.parents, strict=True):
        sums.append(own + sums[-1].index_select(1, parents))  # (B, K_level)
    return torch.cat(sums, dim=1)


def class_path_sums(values: Tensor, taxonomy: Taxonomy) -> Tensor:
    """Sum of the values on the path of every class.

    Args:
        values: one value per node, shape (B, N).
        taxonomy: the tree.

    Returns:
        Sums, shape (B, C), in float32 where the values come in half precision.

    Raises:
        ValueError: for another shape.

    Example:
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> class_path_sums(torch.tensor([[1.0, 10.0, 0.2, 0.3, 0.4]]), t)
        tensor([[ 1.2000,  1.3000, 10.4000]])
    """
    index = tree_index(taxonomy, values.device)
    return path_sums(checked_embeddings(values, taxonomy.num_nodes), index).index_select(1, index.leaves)


def subtree_sums(values: Tensor, index: TreeIndex) -> Tensor:
    """Sum of the values in the subtree of every node, itself included; the same pass from below.

    Args:
        values: one value per node, shape (B, N).
        index: the tree.

    Returns:
        Sums, shape (B, N).
    """
    levels = values.split_with_sizes(index.sizes, dim=1)
    sums = [levels[-1]]
    for own, parents in zip(reversed(levels[:-1]), reversed(index.parents), strict=True):
        sums.append(own.index_add(1, parents, sums[-1]))  # (B, K_level)
    return torch.cat(sums[::-1], dim=1)


def sibling_sums(values: Tensor, index: TreeIndex) -> Tensor:
    """Sum of the values of every node's siblings, itself excluded.

    The family's sum less the node's own value, in float64: what the siblings have beside a large value of the node
    would be lost in float32. In float64 it is lost below 1e-16 of that value. The sum is exactly 0 where the
    siblings' values are, since adding zeros rounds nothing.

    Args:
        values: one value >= 0 per node, shape (B, N).
        index: the tree.

    Returns:
        Sums >= 0, shape (B, N), float64.
    """
    first, *deeper = values.double().split_with_sizes(index.sizes, dim=1)
    sums = [first.sum(dim=1, keepdim=True) - first]
    for own, parents, size in zip(deeper, index.parents, index.sizes[:-1], strict=True):
        families = own.new_zeros(own.shape[0], size).index_add(1, parents, own)  # (B, K_level_above)
        sums.append(families.index_select(1, parents) - own)  # (B, K_level)
    return torch.cat(sums, dim=1)


def node_probabilities(probabilities: Tensor, taxonomy: Taxonomy) -> Tensor:
    """Probability of every node: the sum over the classes at or below it.

    Args:
        probabilities: of the classes, shape (B, C).
        taxonomy: the tree.

    Returns:
        Probabilities of the nodes, shape (B, N); those of a level sum to at most 1.

    Raises:
        ValueError: for another shape.

    Example:
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> node_probabilities(torch.tensor([[0.5, 0.25, 0.25]]), t)
        tensor([[0.7500, 0.2500, 0.5000, 0.2500, 0.2500]])
    """
    if probabilities.ndim != 2 or probabilities.shape[1] != taxonomy.num_classes:
        raise ValueError(
            f"expected probabilities of shape (B, {taxonomy.num_classes}), got {tuple(probabilities.shape)}"
        )
    index = tree_index(taxonomy, probabilities.device)
    at_leaves = probabilities.new_zeros(probabilities.shape[0], taxonomy.num_nodes)
    return subtree_sums(at_leaves.index_copy(1, index.leaves, probabilities), index)
