"""Log-probabilities of nodes, without a product or sum that could underflow."""

import torch
from torch import Tensor
from torch.nn import functional as F

from hiercos.geometry.frames import checked_embeddings, enough_precision
from hiercos.geometry.operations import tree_operations
from hiercos.taxonomy import Taxonomy


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
    operations = tree_operations(taxonomy, logits.device)
    at_leaves = operations.node_values(F.log_softmax(logits, dim=1), empty=-torch.inf)  # (B, N)
    return operations.descendant_logsumexp(at_leaves)


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
    return tree_operations(taxonomy, logits.device).sibling_log_softmax(logits)


def cascade_log_probabilities(logits: Tensor, taxonomy: Taxonomy) -> Tensor:
    """Log-probability of every node: the product of the conditional ones along its path.

    Args:
        logits: of the nodes, shape (B, N).
        taxonomy: the tree.

    Returns:
        Log-probabilities <= 0, shape (B, N); those of the leaves are a distribution over the classes.
    """
    conditional = sibling_log_softmax(logits, taxonomy)
    return tree_operations(taxonomy, logits.device).ancestor_sums(conditional)
