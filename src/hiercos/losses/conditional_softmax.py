"""Cross-entropy among siblings at every node of the path, with logits adjusted by training shares."""

import torch
from torch import Tensor, nn

from hiercos.geometry import label_nodes, sibling_log_softmax, tree_operations
from hiercos.losses.paths import LabelPaths, weighted_mean
from hiercos.taxonomy import Taxonomy


class ConditionalSoftmaxLoss(nn.Module):
    """Sum of the cross-entropies among siblings along the path, their logits adjusted by training shares [plaud2024].

    −sum over v on the path of log p(v | parent), with p the softmax among siblings of s_v + tau log nu(v | parent),
    and nu the share of v among the training samples of its parent. The adjustment explains how frequent a node is, so
    the scores s alone, which predictions use, do not have to [menon2021].

    Before `prepare` has counted the labels, and with tau = 0, nothing is adjusted.

    Args:
        taxonomy: the tree.
        tau: strength of the adjustment, at least 0; 1 by default.

    Shape:
        logits: (B, N), one for each node. labels: (B,), class indices, or C + node for an inner node.
        weights: (B,) >= 0, optional. Output: scalar, nan for an empty batch.
    """

    adjustment: Tensor  # (N,) added to the logits in training

    def __init__(self, taxonomy: Taxonomy, tau: float = 1.0) -> None:
        super().__init__()
        if not tau >= 0:
            raise ValueError(f"expected tau of at least 0, got {tau}")
        self.taxonomy, self.tau = taxonomy, tau
        self.paths = LabelPaths(taxonomy, inner=True)
        self.register_buffer("adjustment", torch.zeros(taxonomy.num_nodes), persistent=False)

    def prepare(self, labels: Tensor, weights: Tensor | None = None) -> None:
        """Count the training labels; a node without samples counts as if it had one.

        Args:
            labels: labels of all training samples, shape (M,).
            weights: weight >= 0 of each sample, shape (M,); equal weights by default.
        """
        counts = node_counts(labels, weights, self.taxonomy)
        seen = counts.where(counts > 0, 1)
        shares = sibling_log_softmax(seen.log()[None], self.taxonomy)[0]  # (N,) log nu(v | parent)
        self.adjustment.copy_(self.tau * shares)

    def forward(self, logits: Tensor, labels: Tensor, weights: Tensor | None = None) -> Tensor:
        """Node logits (B, N) and labels (B,) to a scalar."""
        nodes, mask = self.paths(labels)  # (B, H) each
        adjusted = logits + self.adjustment.to(logits.dtype)
        conditional = sibling_log_softmax(adjusted, self.taxonomy).gather(1, nodes)  # (B, H)
        return weighted_mean(-conditional.masked_fill(~mask, 0).sum(dim=1), weights)


def node_counts(labels: Tensor, weights: Tensor | None, taxonomy: Taxonomy) -> Tensor:
    """Number of samples labelled with each node or one below it.

    Args:
        labels: class indices, or C + node; shape (M,).
        weights: weight >= 0 of each sample, shape (M,), scaled to a mean of 1; equal weights by default.

    Returns:
        Counts, shape (N,), float64.
    """
    nodes = label_nodes(labels, taxonomy, inner=True)
    each = (
        torch.ones(len(labels), dtype=torch.float64) if weights is None else weights.double() / weights.double().mean()
    )
    own = torch.bincount(nodes, each.to(nodes.device), minlength=taxonomy.num_nodes)  # (N,)
    return tree_operations(taxonomy, nodes.device).descendant_sums(own[None])[0]
