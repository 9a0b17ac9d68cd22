"""Flamingo's loss: a cross-entropy at every level."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from hiercos.geometry import label_nodes, label_rows, padded_levels, tree_operations
from hiercos.losses.paths import has_inner_labels, weighted_mean
from hiercos.taxonomy import Taxonomy


class FlamingoLoss(nn.Module):
    """The sum of the cross-entropies of all levels, each with weight 1 [chang2021].

    Below a label that is an inner node, a level's term is - log of the summed probability of the columns below it.

    Args:
        taxonomy: the tree; classes above the deepest level are repeated at the levels below, see `padded_levels`.

    Shape:
        logits: (B, T), the padded levels concatenated. labels: (B,), class indices, or C + node for an inner node.
        weights: (B,) >= 0, optional. Output: scalar, nan for an empty batch.
    """

    level_labels: Tensor  # (C, H) position of each class within each level
    column_nodes: Tensor  # (T,) node of each column

    def __init__(self, taxonomy: Taxonomy) -> None:
        super().__init__()
        levels = padded_levels(taxonomy)
        self.taxonomy, self.sizes = taxonomy, levels.sizes
        self.register_buffer("level_labels", torch.tensor(levels.class_columns - levels.starts), persistent=False)
        self.register_buffer("column_nodes", torch.tensor(levels.column_nodes), persistent=False)

    def forward(self, logits: Tensor, labels: Tensor, weights: Tensor | None = None) -> Tensor:
        """Logits of all levels (B, T) and labels (B,) to a scalar."""
        levels = logits.split_with_sizes(self.sizes, dim=1)
        if has_inner_labels(labels, self.taxonomy):
            allowed = allowed_columns(labels, self.column_nodes, self.taxonomy).split_with_sizes(self.sizes, dim=1)
            entropies = [marginal_loss(own, possible) for own, possible in zip(levels, allowed, strict=True)]
        else:
            targets = label_rows(self.level_labels, labels).unbind(dim=1)  # H times (B,)
            entropies = [
                F.cross_entropy(own, target, reduction="none") for own, target in zip(levels, targets, strict=True)
            ]
        return weighted_mean(torch.stack(entropies).sum(dim=0), weights)


def allowed_columns(labels: Tensor, column_nodes: Tensor, taxonomy: Taxonomy) -> Tensor:
    """Mask of the columns that a label leaves possible: its ancestors, itself and its descendants, shape (B, T)."""
    nodes = label_nodes(labels, taxonomy, inner=True)
    return tree_operations(taxonomy, labels.device).related(nodes).index_select(1, column_nodes)


def marginal_loss(logits: Tensor, allowed: Tensor) -> Tensor:
    """- log of the summed softmax of the allowed columns: (B, K) and (B, K) to (B,)."""
    return logits.logsumexp(dim=1) - logits.masked_fill(~allowed, -torch.inf).logsumexp(dim=1)
