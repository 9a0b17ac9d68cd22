"""HAFeat's loss: consistency, geometry and margin terms over the classifiers of all levels."""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from hiercos.geometry import label_rows, padded_levels
from hiercos.losses.flamingo import allowed_columns, marginal_loss
from hiercos.losses.paths import has_inner_labels, weighted_mean
from hiercos.taxonomy import Taxonomy

MARGIN = 3.0


class HAFeatLoss(nn.Module):
    """Cross-entropy of the leaves and three terms for the levels above [garg2022].

    CE + sum JSD(p_l, children's p summed) - sum GEO_l + sum MAR_l, where GEO is the mean cosine between a row of the
    classifier and the sum of its children's rows, and MAR the mean of 3 - JSD over pairs of samples that differ at
    the level. The GEO term depends on the classifier only, the others on the samples. For a label that is an inner
    node, CE is - log of the summed probability of the leaves below it, and pairs count at the levels both labels have.

    Note:
        The margin of 3 never clips, since a divergence from a mixture is at most log 2. The official code pairs
        the samples of a shuffled batch and repeats the pairs that differ up to 256; here each sample is paired with
        the one before it (the first with the last), since batches are in random order, and the mean is over the
        pairs that differ, 0 if there are none. Its child-to-parent map of FGVC-Aircraft counts some children
        more than once, and its levels of tieredImageNet-H belong to other classes; both are correct here.

    Args:
        taxonomy: the tree; classes above the deepest level are repeated at the levels below, see `padded_levels`.
        rows: function that returns the current rows of the classifier of the logits, shape (T, F). The classifier
            belongs to the head: it is not registered as a submodule of the loss.
        margin_levels: levels with a margin term, from 1 to H - 1; all of these by default.

    Shape:
        logits: (B, T), the padded levels concatenated. labels: (B,), class indices, or C + node for an inner node.
        weights: (B,) >= 0, optional; a pair has the product of its samples' weights. Output: scalar, nan for an empty
        batch.
    """

    parents: Tensor  # (T - K_1,) column of each column's parent
    label_columns: Tensor  # (C + N, H), -1 below an inner node
    leaf_nodes: Tensor  # (K_H,) node of each column of the last level
    column_levels: Tensor  # (T - K_H,) level of each column above the leaves, from 0
    column_shares: Tensor  # (T - K_H,) 1 / K_level
    has_margin: Tensor  # (H - 1,) 1 for a level with a margin term

    def __init__(
        self, taxonomy: Taxonomy, rows: Callable[[], Tensor], *, margin_levels: Sequence[int] | None = None
    ) -> None:
        super().__init__()
        levels = padded_levels(taxonomy)
        inner = np.array(levels.sizes[:-1], dtype=np.int64)
        self.taxonomy, self.sizes, self.rows = taxonomy, levels.sizes, rows
        for name, values in {
            "parents": levels.parents,
            "label_columns": levels.label_columns,
            "leaf_nodes": levels.column_nodes[levels.starts[-1] :],
            "column_levels": np.repeat(np.arange(len(inner)), inner),
            "column_shares": np.repeat(1 / inner, inner),
            "has_margin": level_mask(taxonomy.height, margin_levels),
        }.items():
            self.register_buffer(name, torch.tensor(values), persistent=False)

    def forward(self, logits: Tensor, labels: Tensor, weights: Tensor | None = None) -> Tensor:
        """Logits of all levels (B, T) and labels (B,) to a scalar."""
        levels = logits.split_with_sizes(self.sizes, dim=1)
        log_p = torch.cat([F.log_softmax(level, dim=1) for level in levels], dim=1)  # (B, T)
        p = log_p.exp()
        columns = label_rows(self.label_columns, labels)  # (B, H)
        if has_inner_labels(labels, self.taxonomy):
            cross_entropy = marginal_loss(levels[-1], allowed_columns(labels, self.leaf_nodes, self.taxonomy))  # (B,)
        else:
            cross_entropy = -log_p.gather(1, columns[:, -1:]).squeeze(1)  # (B,)
        loss = weighted_mean(cross_entropy + self._disagreement(p), weights)
        weights = p.new_ones(len(p)) if weights is None else weights
        return loss - self._closeness() + self._margins(p, columns[:, :-1], weights)

    def _disagreement(self, p: Tensor) -> Tensor:
        """Divergence of every level from the sums of the level below, shape (B,)."""
        summed = p.new_zeros(len(p), len(self.column_levels)).index_add(1, self.parents, p[:, self.sizes[0] :])
        return divergence_terms(summed, p[:, : summed.shape[1]]).sum(dim=1)

    def _closeness(self) -> Tensor:
        """Mean cosine of the classifier's rows with the sums of their children's rows, summed over levels; a scalar."""
        rows = self.rows()  # (T, F)
        own = rows[: len(self.column_levels)]
        summed = torch.zeros_like(own).index_add(0, self.parents, rows[self.sizes[0] :])
        return (F.cosine_similarity(own, summed, dim=1) * self.column_shares.to(rows.dtype)).sum()

    def _margins(self, p: Tensor, columns: Tensor, weights: Tensor) -> Tensor:
        """Mean of 3 - divergence over batch neighbours that differ at a level, summed over levels; a scalar."""
        own = p[:, : len(self.column_levels)]
        terms = divergence_terms(own, own.roll(1, dims=0))  # (B, T - K_H)
        divergence = p.new_zeros(columns.shape).index_add(1, self.column_levels, terms)  # (B, H - 1)
        other = columns.roll(1, dims=0)
        counted = (columns != other) & (columns >= 0) & (other >= 0)
        shares = counted * (weights * weights.roll(1))[:, None]  # (B, H - 1)
        total = shares.sum(dim=0)
        means = (shares * (MARGIN - divergence)).sum(dim=0) / total.where(total > 0, 1)
        return (means * self.has_margin.to(p.dtype)).sum()


def divergence_terms(p: Tensor, q: Tensor) -> Tensor:
    """Terms of the Jensen-Shannon divergence, same shape; the mixture is clamped to at least 1e-7."""
    log_mixture = ((p + q) / 2).clamp(1e-7, 1).log()
    tiny = torch.finfo(p.dtype).tiny  # 0 log 0 is 0, and its gradient finite
    return (p * (p.clamp(min=tiny).log() - log_mixture) + q * (q.clamp(min=tiny).log() - log_mixture)) / 2


def level_mask(height: int, levels: Sequence[int] | None) -> list[float]:
    """Mask of the levels 1…H-1: 1 for the selected ones, 0 for the others; all 1 for None."""
    inner = range(1, height)
    if levels is None:
        return [1.0 for _ in inner]
    for level in levels:
        if level not in inner:
            raise ValueError(f"expected margin levels from 1 to {height - 1}, above the leaves, got {level}")
    return [float(level in levels) for level in inner]
