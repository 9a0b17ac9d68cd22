"""Log-probabilities of nodes, level by level and without a product or sum that could underflow."""

import torch
from torch import Tensor
from torch.nn import functional as F

from hiercos.geometry.frames import checked_embeddings, enough_precision
from hiercos.geometry.operations import TreeIndex, path_sums, tree_index
from hiercos.taxonomy import Taxonomy


def family_maxima(values: Tensor, parents: Tensor, size: int) -> Tensor:
    """The largest value among the children of each node of the level above.

    Args:
        values: of one level's nodes, shape (B, K_level).
        parents: their parents' positions within the level above, shape (K_level,).
        size: the number of nodes of the level above.

    Returns:
        Maxima, shape (B, size), -inf for a node without children.
    """
    empty = values.new_full((values.shape[0], size), -torch.inf)
    return empty.scatter_reduce(1, parents.expand_as(values), values, "amax")


def family_logsumexp(values: Tensor, parents: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """Log of the summed exponentials of the children of each node of the level above, in two parts.

    Every family is shifted by its own maximum, so neither very large nor very small values lose anything. The sum
    of the two parts is the result; who subtracts them one after the other rounds less.

    Args:
        values: finite, of one level's nodes, shape (B, K_level).
        parents: their parents' positions within the level above, shape (K_level,).
        size: the number of nodes of the level above.

    Returns:
        The largest value of each family, without gradient, and the log of the sum relative to it; shape (B, size)
        each, 0 for a node without children.
    """
    peak = family_maxima(values.detach(), parents, size)
    childless = peak == -torch.inf
    peak = peak.masked_fill(childless, 0)
    shifted = (values - peak.index_select(1, parents)).exp()  # (B, K_level)
    # 1 for a node without children, from the start: filled in afterwards, torch 2.13 compiles it to infinite values
    total = childless.to(values.dtype).index_add(1, parents, shifted)  # (B, size)
    return peak, total.log()


def node_log_probabilities(logits: Tensor, taxonomy: Taxonomy) -> Tensor:
    """Log of every node's probability, where the classes have the softmax of their logits.

    The log of `node_probabilities`, summed as log-sum-exp from the leaves up: exact where the probability of a
    whole subtree is too small for a number.

    Args:
        logits: of the classes, shape (B, C).
        taxonomy: the tree.

    Returns:
        Log-probabilities <= 0 (up to rounding), shape (B, N), in float32 where the logits come in half precision.

    Raises:
        ValueError: for another shape.

    Example:
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> node_log_probabilities(torch.tensor([[0.5, 0.25, 0.25]]).log(), t).exp()
        tensor([[0.7500, 0.2500, 0.5000, 0.2500, 0.2500]])
    """
    if logits.ndim != 2 or logits.shape[1] != taxonomy.num_classes:
        raise ValueError(f"expected logits of shape (B, {taxonomy.num_classes}), got {tuple(logits.shape)}")
    logits = enough_precision(logits)
    index = tree_index(taxonomy, logits.device)
    zeros = logits.new_zeros(logits.shape[0], taxonomy.num_nodes)
    at_leaves = zeros.index_copy(1, index.leaves, F.log_softmax(logits, dim=1))  # (B, N), 0 at inner nodes
    levels = at_leaves.split_with_sizes(index.sizes, dim=1)
    logs = [levels[-1]]
    for own, parents in zip(reversed(levels[:-1]), reversed(index.parents), strict=True):
        peak, rest = family_logsumexp(logs[-1], parents, own.shape[1])
        logs.append(own + peak + rest)  # an inner node has 0 of its own, a leaf 0 of a family
    return torch.cat(logs[::-1], dim=1)


def sibling_log_softmax(logits: Tensor, taxonomy: Taxonomy) -> Tensor:
    """Log-probability of every node given its parent: a softmax among siblings.

    Args:
        logits: of the nodes, shape (B, N).
        taxonomy: the tree.

    Returns:
        Log-probabilities <= 0, shape (B, N); 0 for an only child.

    Raises:
        ValueError: for another shape.
    """
    logits = checked_embeddings(logits, taxonomy.num_nodes)
    index = tree_index(taxonomy, logits.device)
    first, *deeper = logits.split_with_sizes(index.sizes, dim=1)
    logs = [F.log_softmax(first, dim=1)]
    for own, parents, size in zip(deeper, index.parents, index.sizes[:-1], strict=True):
        peak, rest = family_logsumexp(own, parents, size)
        logs.append(own - peak.index_select(1, parents) - rest.index_select(1, parents))  # (B, K_level)
    return torch.cat(logs, dim=1)


def cascade_log_probabilities(logits: Tensor, taxonomy: Taxonomy) -> Tensor:
    """Log-probability of every node: the product of the conditional ones along its path.

    Args:
        logits: of the nodes, shape (B, N).
        taxonomy: the tree.

    Returns:
        Log-probabilities <= 0, shape (B, N); those of the leaves are a distribution over the classes.
    """
    return path_sums(sibling_log_softmax(logits, taxonomy), tree_index(taxonomy, logits.device))


def subtree_maxima(values: Tensor, index: TreeIndex) -> Tensor:
    """The largest value among the leaves at or below every node.

    Args:
        values: of the classes, shape (B, C).
        index: the tree.

    Returns:
        Maxima, shape (B, N).
    """
    nodes = values.new_full((values.shape[0], sum(index.sizes)), -torch.inf).index_copy(1, index.leaves, values)
    levels = nodes.split_with_sizes(index.sizes, dim=1)
    maxima = [levels[-1]]
    for own, parents in zip(reversed(levels[:-1]), reversed(index.parents), strict=True):
        maxima.append(own.maximum(family_maxima(maxima[-1], parents, own.shape[1])))
    return torch.cat(maxima[::-1], dim=1)
