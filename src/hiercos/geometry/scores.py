"""Hier-COS scores (projections of embeddings onto the subspaces of classes, levels or nodes) and log-probabilities.

The subspace of a node is spanned by the axes of its ancestors, itself and its descendants
[sani2026, Sec. 3.2], so the squared length of a projection is a sum of squares: those on the path to the
node plus those below it. For a leaf this is its path alone. Nothing here is learned or stored.
"""

import torch
from torch import Tensor
from torch.nn import functional as F

from hiercos.geometry.frames import checked_embeddings, enough_precision
from hiercos.geometry.operations import class_path_sums, tree_operations
from hiercos.taxonomy import Taxonomy, check_is_taxonomy, check_tree


def node_log_probabilities(logits: Tensor, taxonomy: Taxonomy) -> Tensor:
    """Log-probability of every node, the classes having the softmax of their logits.

    This is the log of `node_probabilities`, computed by log-sum-exp from the leaves up: exact even where the
    probability of a whole subtree underflows.

    Args:
        logits: class logits, shape (B, C).
        taxonomy: the tree.

    Returns:
        Log-probabilities <= 0 (up to rounding), shape (B, N), in float32 for logits in half precision.

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
    operations = tree_operations(taxonomy, logits.device)
    at_leaves = operations.node_values(F.log_softmax(logits, dim=1), empty=-torch.inf)  # (B, N)
    return operations.descendant_logsumexp(at_leaves)


def sibling_log_softmax(logits: Tensor, taxonomy: Taxonomy) -> Tensor:
    """Log-probability of every node given its parent: a softmax among siblings.

    Args:
        logits: node logits, shape (B, N).
        taxonomy: the tree.

    Returns:
        Log-probabilities <= 0, shape (B, N); 0 for an only child.

    Raises:
        ValueError: for another shape.
    """
    logits = checked_embeddings(logits, taxonomy.num_nodes)
    return tree_operations(taxonomy, logits.device).sibling_log_softmax(logits)


def cascade_log_probabilities(logits: Tensor, taxonomy: Taxonomy) -> Tensor:
    """Log-probability of every node: the sum of the conditional ones along its path.

    Args:
        logits: node logits, shape (B, N).
        taxonomy: the tree.

    Returns:
        Log-probabilities <= 0, shape (B, N); those of the leaves are a distribution over the classes.
    """
    conditional = sibling_log_softmax(logits, taxonomy)
    return tree_operations(taxonomy, logits.device).ancestor_sums(conditional)


def leaf_scores(z: Tensor, taxonomy: Taxonomy, *, squared: bool = False, ancestors: bool = True) -> Tensor:
    """Length of each embedding's projection onto the subspace of every class [sani2026, Sec. 3.4].

    Args:
        z: embeddings in the node basis, shape (B, N).
        taxonomy: the tree.
        squared: whether to return the squared length, which gives the same ranking without a square root.
        ancestors: whether the axes of the ancestors are part of the subspace; if not, a score is |z| of the leaf.

    Returns:
        Scores >= 0, shape (B, C). Their gradient is 0, not infinite, where a projection has length 0;
        a nan coordinate gives nan scores for the classes whose subspace contains it.

    Raises:
        ValueError: for embeddings of another shape.

    Example:
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> leaf_scores(torch.tensor([[3.0, 1.0, 4.0, 0.0, 2.0]]), t, squared=True)
        tensor([[25.,  9.,  5.]])
    """
    check_is_taxonomy(taxonomy)
    square = checked_embeddings(z, taxonomy.num_nodes).square()
    if ancestors:
        energy = class_path_sums(square, taxonomy)  # (B, C)
    else:
        energy = tree_operations(taxonomy, z.device).class_values(square)  # (B, C)
    return energy if squared else square_root(energy)


def node_scores(
    z: Tensor, taxonomy: Taxonomy, *, squared: bool = False, ancestors: bool = True, descendants: bool = True
) -> Tensor:
    """Length of each embedding's projection onto the subspace of every node.

    Args:
        z: embeddings in the node basis, shape (B, N).
        taxonomy: the tree.
        squared: whether to return the squared length.
        ancestors: whether the axes of the ancestors are part of the subspaces.
        descendants: whether the axes of the descendants are part of the subspaces.

    Returns:
        Scores >= 0, shape (B, N); the column of a leaf equals its class's column of `leaf_scores`.

    Raises:
        ValueError: for embeddings of another shape.
    """
    check_is_taxonomy(taxonomy)
    square = checked_embeddings(z, taxonomy.num_nodes).square()
    operations = tree_operations(taxonomy, z.device)
    energy = operations.ancestor_sums(square) if ancestors else square  # (B, N)
    if descendants:
        energy = energy + (operations.descendant_sums(square) - square)  # the bracket is exactly 0 at a leaf
    return energy if squared else square_root(energy)


def level_scores(
    z: Tensor,
    taxonomy: Taxonomy,
    level: int,
    *,
    squared: bool = False,
    ancestors: bool = True,
    descendants: bool = True,
) -> Tensor:
    """Scores of the nodes of one level (1…H) of a tree, in node order, shape (B, K_level); see `node_scores`."""
    check_tree(taxonomy, "scores of a level")
    scores = node_scores(z, taxonomy, squared=squared, ancestors=ancestors, descendants=descendants)
    return scores[:, taxonomy.level(level)]


def energy_shares(z: Tensor) -> Tensor:
    """Share of each embedding's energy on the axis of every node: z_v^2 / |z|^2.

    Args:
        z: embeddings in the node basis, shape (B, N).

    Returns:
        Shares >= 0, shape (B, N), of sum 1; 0 for an embedding of length 0.

    Example:
        >>> energy_shares(torch.tensor([[3.0, 0.0, 0.0, 4.0, 0.0]]))
        tensor([[0.3600, 0.0000, 0.0000, 0.6400, 0.0000]])
    """
    square = z.square()
    total = square.sum(dim=1, keepdim=True)
    return square / total.where(total > 0, 1)


def square_root(energy: Tensor) -> Tensor:
    """Square root with gradient 0 at 0."""
    empty = energy == 0
    return energy.masked_fill(empty, 1).sqrt().masked_fill(empty, 0)
