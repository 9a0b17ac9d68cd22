"""The log-loss summed over all levels of the path."""

import torch
from torch import Tensor, nn

from hiercos.geometry import node_log_probabilities
from hiercos.losses.paths import LabelAncestors, LabelPaths, weighted_mean
from hiercos.taxonomy import Taxonomy


class PathLogLoss(nn.Module):
    """Sum over the levels of - log P(node), with P(node) the summed softmax of the classes at or below it.

    Every term is the log-loss of one level, a proper scoring rule, and the probabilities of all levels are consistent
    because they come from one softmax. A class above the deepest level is repeated at the levels below it: with fewer
    terms it would have less weight, and its probability would be too low. For a label that is an inner node, the
    deeper levels are only known to lie below that node, and the log-loss of this event is - log P(node) again. In a
    graph, the term of a level is the mean over the label's ancestors there, and the label's own where it has none.

    Args:
        taxonomy: the tree.
        inner: weight of the terms of all levels but the deepest; 1 by default, 0 for plain cross-entropy.

    Shape:
        logits: (B, C). labels: (B,), class indices, or C + node for an inner node. weights: (B,) >= 0, optional.
        Output: scalar, nan for an empty batch.

    Example:
        >>> import torch
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> logits = torch.tensor([[0.5, 0.25, 0.25]]).log()
        >>> round(float(PathLogLoss(t)(logits, torch.tensor([0]))), 4)  # - log 0.75 - log 0.5
        0.9808
    """

    def __init__(self, taxonomy: Taxonomy, inner: float = 1.0) -> None:
        super().__init__()
        if not inner >= 0:
            raise ValueError(f"expected a weight of the inner terms of at least 0, got {inner}")
        self.taxonomy, self.inner = taxonomy, inner
        self.paths = LabelPaths(taxonomy, inner=True) if taxonomy.is_tree else LabelAncestors(taxonomy)

    def forward(self, logits: Tensor, labels: Tensor, weights: Tensor | None = None) -> Tensor:
        """Logits (B, C) and labels (B,) to a scalar."""
        logs = node_log_probabilities(logits, self.taxonomy)  # (B, N)
        if isinstance(self.paths, LabelPaths):
            on_path = logs.gather(1, self.paths(labels).nodes)  # (B, H)
        else:
            on_path = _level_means(logs, labels, self.paths)  # (B, H)
        above, own = on_path[:, :-1].sum(dim=1), on_path[:, -1]
        return weighted_mean(-(self.inner * above + own), weights)


def _level_means(logs: Tensor, labels: Tensor, paths: LabelAncestors) -> Tensor:
    """Mean of each label's ancestors at every level, its own value where it has none: (B, N) to (B, H)."""
    ancestors = paths(labels)
    values = logs.gather(1, ancestors.nodes)  # (B, W); the last column is the label's own
    counts = paths.level_sums(torch.ones_like(values), ancestors)  # (B, H)
    means = paths.level_sums(values, ancestors) / counts.where(counts > 0, 1)
    return means.where(counts > 0, values[:, -1:])
