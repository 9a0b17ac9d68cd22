"""The Hier-COS loss: concentrate the energy of an embedding on the path of its label."""

from functools import partial
from typing import Literal, get_args

import numpy as np
import torch
from torch import Tensor, nn

from hiercos.checks import check_choice
from hiercos.geometry import checked_embeddings, label_nodes, tree_operations
from hiercos.losses.paths import Ancestors, LabelAncestors, LabelPaths, has_inner_labels, weighted_mean
from hiercos.taxonomy import Taxonomy, check_is_taxonomy, descendant_maxima

Direction = Literal["leaf", "uniform", "root"]
Penalty = Literal["published", "printed", "scale-free"]
Grouping = Literal["published", "sample"]
BelowLabel = Literal["left-out", "merged"]


class HierCOSLoss(nn.Module):
    """KL divergence to the path's target distribution plus `alpha` times a sparsity penalty per level.

    With P the target on the path (`path_targets`), Q the softmax of |z| over all nodes, and a the magnitudes
    |z| of one level:
    KL(P | Q) + alpha * [sum over the levels of the path of |delta - a/|a|_2|_1 + sum over deeper levels of |a|_1].

    For a label that is an inner node v, the path ends there, and the coordinates strictly below v are left out of the
    softmax. P has the proportions of the path to the deepest class below v, and the divergence is multiplied by the
    share of the levels down to v in that path. This is the part of the divergence of such a class in which the
    coordinates below v do not occur; with the weight of a class, coarse labels cost accuracy.
    With `below_label="merged"` the nodes strictly below v count as one outcome instead, in P and in Q: the divergence
    also asks that Q has the rest of P somewhere below v. It is never larger than that of a deepest class below v.
    At the levels that these coordinates reach, the sample has a node, but it is unknown which. The penalty there
    is |a'|_1 / |a|_2, with a' the magnitudes of the nodes that are not below the label, and the sample counts among
    those that have the level. Without the normalisation a few inner labels would shrink every embedding.

    In a graph the label's ancestors replace the path: those of one level share its target equally, delta is 1 / sqrt(m)
    on m of them, and levels above the label without an ancestor are skipped.

    Note:
        Paper and published code differ [sani2026, Sec. 3.4]. The paper uses the weights unchanged (exponent 1)
        and signed coordinates in the penalty, and starts the second sum at the class's own level with normalised
        terms. The code squares the weights (exponent 2), uses magnitudes, starts one level below without
        normalising, and averages each level's two groups of samples separately.
        The published tables come from the code, which is the default; `as_printed` gives the paper's form.

    Args:
        taxonomy: the tree.
        alpha: weight of the penalty; 0 disables it.
        exponent: exponent of the level weights in the target; 2, as published, by default.
        direction: end of the path with the largest target: "leaf" (published, default), "uniform" for equal targets,
            or "root".
        penalty: form of the penalty: "published" (default), "printed" (the paper's), or "scale-free", which divides
            magnitudes at missing levels by |z|, so that the same alpha suits shallow and deep trees.
        grouping: averaging of the penalty: "published" (default) averages, at each level, the samples that have it
            and those that lack it separately, so that the loss depends on the composition of the batch if leaves
            are at different depths; "sample" sums per sample and takes the mean, so that the losses of equal parts
            of a batch average to the loss of the whole.
        below_label: nodes strictly below a label that is an inner node in the divergence: "left-out" of the softmax
            (default), or "merged" into one outcome.

    Shape:
        z: (B, N) coordinates in the node basis. labels: (B,), class indices, or C + node for an inner node.
        weights: (B,) >= 0, optional; every mean becomes the weighted mean. Output: scalar, nan for an empty batch or
        if all weights are 0.

    Raises:
        ValueError: for an unknown choice; on call, for z, labels or weights of another shape.
        IndexError: on call, for any other label (on a GPU, the device's own error).

    Example:
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> loss, cat = HierCOSLoss(t), torch.tensor([0])
        >>> on_path, off_path = torch.tensor([[4.0, 0.0, 5.0, 0, 0]]), torch.tensor([[0.0, 4.0, 0, 0, 5.0]])
        >>> bool(loss(on_path, cat) < loss(off_path, cat))
        True
    """

    deepest: Tensor  # (N,) level of the deepest class at or below each node

    def __init__(
        self,
        taxonomy: Taxonomy,
        alpha: float = 0.05,
        *,
        exponent: float = 2.0,
        direction: Direction = "leaf",
        penalty: Penalty = "published",
        grouping: Grouping = "published",
        below_label: BelowLabel = "left-out",
    ) -> None:
        super().__init__()
        check_is_taxonomy(taxonomy)
        check_choice("below_label", below_label, get_args(BelowLabel))
        check_choice("direction", direction, get_args(Direction))
        check_choice("penalty", penalty, get_args(Penalty))
        check_choice("grouping", grouping, get_args(Grouping))
        if not alpha >= 0:
            raise ValueError(f"expected an alpha of at least 0, got {alpha}")
        self.alpha, self.exponent, self.direction = alpha, exponent, direction
        self.penalty, self.grouping, self.below_label = penalty, grouping, below_label
        self.level_sizes = [int(size) for size in taxonomy.level_starts[1:] - taxonomy.level_starts[:-1]]
        self.taxonomy = taxonomy
        deepest = descendant_maxima(taxonomy.depths[None].astype(np.float64), taxonomy)[0].astype(np.int64)
        self.register_buffer("deepest", torch.from_numpy(deepest), persistent=False)
        self.paths = LabelPaths(taxonomy, inner=True) if taxonomy.is_tree else LabelAncestors(taxonomy)

    @classmethod
    def as_printed(cls, taxonomy: Taxonomy, alpha: float = 0.05) -> "HierCOSLoss":
        """The loss as the paper prints it: plain weights, signed penalty, a sum per sample."""
        return cls(taxonomy, alpha, exponent=1.0, penalty="printed", grouping="sample")

    def forward(self, z: Tensor, labels: Tensor, weights: Tensor | None = None) -> Tensor:
        """Embeddings (B, N) and labels (B,) to a scalar."""
        z = checked_embeddings(z, sum(self.level_sizes))
        weights = z.new_ones(len(z)) if weights is None else weights.to(z.dtype)
        _check_rows(len(z), labels=labels, weights=weights)
        if isinstance(self.paths, LabelAncestors):
            return self._graph_loss(z, labels, weights, self.paths)
        nodes, mask = self.paths(labels)  # (B, H) each
        on_path, depths = z.gather(1, nodes), mask.sum(dim=1)  # (B, H), (B,)
        magnitude, left_out = z.abs(), self._left_out(labels)
        target, share = self._targets(labels, depths, mask, z.dtype, has_inner=left_out is not None)
        loss = weighted_mean(self._divergence(magnitude, on_path.abs(), target, share, left_out), weights)
        if self.alpha == 0:
            return loss
        present, missing = self._level_terms(magnitude, on_path, depths)
        if left_out is not None:
            present, reached = self._open_terms(present, magnitude, left_out)
            mask = mask | reached
        return loss + self.alpha * self._penalty(present, missing, mask, ~mask, weights)

    def _graph_loss(self, z: Tensor, labels: Tensor, weights: Tensor, paths: LabelAncestors) -> Tensor:
        """The loss in a graph, where a level may have several ancestors of the label or none."""
        ancestors, magnitude, left_out = paths(labels), z.abs(), self._left_out(labels)
        own = z.gather(1, ancestors.nodes)  # (B, W)
        counts = paths.level_sums(torch.ones_like(own), ancestors)  # (B, H)
        depths = 1 + ancestors.levels.amax(dim=1)
        target, share = self._graph_targets(labels, ancestors, counts, has_inner=left_out is not None)
        loss = weighted_mean(self._divergence(magnitude, own.abs(), target, share, left_out), weights)
        if self.alpha == 0:
            return loss
        present, missing = self._graph_terms(magnitude, own, depths, paths, ancestors)
        has_level = counts > 0
        below = torch.arange(1, counts.shape[1] + 1, device=depths.device) > depths[:, None]  # (B, H)
        if left_out is not None:
            present, reached = self._open_terms(present, magnitude, left_out)
            has_level, below = has_level | reached, below & ~reached
        return loss + self.alpha * self._penalty(present, missing, has_level, below, weights)

    def _graph_targets(
        self, labels: Tensor, ancestors: Ancestors, counts: Tensor, *, has_inner: bool
    ) -> tuple[Tensor, Tensor]:
        """`_targets` in a graph by ancestor, shape (B, W); `counts` are the ancestors of each level, shape (B, H)."""
        depths = 1 + ancestors.levels.amax(dim=1)
        by_level, share = self._targets(labels, depths, counts > 0, counts.dtype, has_inner=has_inner)
        return (by_level / counts.where(counts > 0, 1)).gather(1, ancestors.levels) * ancestors.mask, share

    def class_targets(self, classes: Tensor) -> tuple[Tensor, Tensor]:
        """Nodes of the target of some classes, (K,), and their shares, (K, W) each; 0 where a node is repeated."""
        if isinstance(self.paths, LabelAncestors):
            ancestors = self.paths(classes)
            counts = self.paths.level_sums(ancestors.mask.double(), ancestors)
            return ancestors.nodes, self._graph_targets(classes, ancestors, counts, has_inner=False)[0]
        nodes, mask = self.paths(classes)
        return nodes, self._targets(classes, mask.sum(dim=1), mask, torch.float64, has_inner=False)[0]

    def _graph_terms(
        self, magnitude: Tensor, own: Tensor, depths: Tensor, paths: LabelAncestors, ancestors: Ancestors
    ) -> tuple[Tensor, Tensor]:
        """`_level_terms` in a graph: |delta - a / |a|_2|_1 with delta 1 / sqrt(m) on m ancestors, (B, H) each."""
        total, norm = self._level_norms(magnitude)
        counts = paths.level_sums(torch.ones_like(own), ancestors)
        delta = counts.where(counts > 0, 1).rsqrt().gather(1, ancestors.levels)  # (B, W)
        values = own if self.penalty == "printed" else own.abs()
        gaps = (delta - values / norm.gather(1, ancestors.levels)).abs()
        present = paths.level_sums(gaps, ancestors) + (total - paths.level_sums(own.abs(), ancestors)) / norm
        return self._penalty_terms(present, total, norm, magnitude, depths)

    def _divergence(
        self, magnitude: Tensor, on_path: Tensor, target: Tensor, share: Tensor, left_out: Tensor | None
    ) -> Tensor:
        """Divergence of each sample, shape (B,); see `path_kl` and `merged_kl` for the arguments."""
        if left_out is None:
            return path_kl(magnitude, on_path, target)
        if self.below_label == "merged":
            return merged_kl(magnitude, on_path, target, share, left_out)
        return share * path_kl(magnitude.masked_fill(left_out, -torch.inf), on_path, target)

    def _targets(
        self, labels: Tensor, depths: Tensor, present: Tensor, dtype: torch.dtype, *, has_inner: bool
    ) -> tuple[Tensor, Tensor]:
        """Target of each level, shape (B, H), and the weight of the divergence, shape (B,), 1 for a class.

        Args:
            labels: labels, shape (B,).
            depths: level of each label's node, shape (B,).
            present: whether the label has a node at each level, itself or an ancestor, shape (B, H).
            has_inner: whether a label may be an inner node.
        """
        targets = partial(path_targets, exponent=self.exponent, direction=self.direction, dtype=dtype)
        if not has_inner:
            return targets(depths, present), torch.ones_like(depths, dtype=dtype)
        deepest = self.deepest.index_select(0, label_nodes(labels, self.taxonomy, inner=True))  # (B,)
        level = torch.arange(1, present.shape[1] + 1, device=depths.device)
        below = (level > depths[:, None]) & (level <= deepest[:, None])  # (B, H)
        target = targets(deepest, present | below) * present
        share = target.sum(dim=1)
        return target / share[:, None], share

    def _left_out(self, labels: Tensor) -> Tensor | None:
        """Mask of the nodes strictly below each label, shape (B, N); None if all labels are classes."""
        if not has_inner_labels(labels, self.taxonomy):
            return None
        nodes = label_nodes(labels, self.taxonomy, inner=True)
        return tree_operations(self.taxonomy, labels.device).strictly_below(nodes)

    def _open_terms(self, present: Tensor, magnitude: Tensor, left_out: Tensor) -> tuple[Tensor, Tensor]:
        """Terms of the levels present with those of the levels that nodes below the label reach, and the latter's mask.

        Args:
            present: terms of the levels of the path, shape (B, H).
            magnitude: magnitudes |z|, shape (B, N).
            left_out: mask of the nodes strictly below each label, shape (B, N).
        """
        reached = torch.stack([part.any(dim=1) for part in left_out.split_with_sizes(self.level_sizes, dim=1)], dim=1)
        (outside, _), (_, norm) = (self._level_norms(each) for each in (magnitude.masked_fill(left_out, 0), magnitude))
        return torch.where(reached, outside / norm, present), reached

    def _penalty(self, present: Tensor, missing: Tensor, has_level: Tensor, below: Tensor, weights: Tensor) -> Tensor:
        """Penalty of a batch, a scalar, from the terms and the masks of levels present and missing, (B, H) each."""
        if self.grouping == "sample":
            terms = torch.where(has_level, present, missing.where(below, 0))
            return weighted_mean(terms.sum(dim=1), weights)
        return (_group_means(present, has_level, weights) + _group_means(missing, below, weights)).sum()

    def _level_terms(self, magnitude: Tensor, on_path: Tensor, depths: Tensor) -> tuple[Tensor, Tensor]:
        """Penalty of every level as a level of the path, and as a level below the label, (B, H) each."""
        total, norm = self._level_norms(magnitude)
        beside = total - on_path.abs() - on_path if self.penalty == "printed" else total - 2 * on_path.abs()
        present = 1 + beside / norm
        return self._penalty_terms(present, total, norm, magnitude, depths)

    def _level_norms(self, magnitude: Tensor) -> tuple[Tensor, Tensor]:
        """Sum and Euclidean norm of every level's magnitudes, (B, H) each; a norm of 0 becomes 1."""
        levels = magnitude.split_with_sizes(self.level_sizes, dim=1)
        total = torch.stack([level.sum(dim=1) for level in levels], dim=1)
        norm = torch.stack([level.norm(dim=1) for level in levels], dim=1)
        return total, norm.where(norm > 0, 1)  # for a level without energy the numerators are 0 too

    def _penalty_terms(
        self, present: Tensor, total: Tensor, norm: Tensor, magnitude: Tensor, depths: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Terms of the chosen penalty: of levels of the path (completed), and of levels below it, (B, H) each."""
        if self.penalty == "printed":
            at_label = torch.arange(1, total.shape[1] + 1, device=depths.device) == depths[:, None]
            return present + torch.where(at_label, total / norm, 0), total / norm
        if self.penalty == "published":
            return present, total
        length = magnitude.norm(dim=1, keepdim=True)
        return present, total / length.where(length > 0, 1)


def path_targets(
    depths: Tensor, present: Tensor, *, exponent: float, direction: Direction, dtype: torch.dtype
) -> Tensor:
    """Target share of each level of a path: P_l = w_l^e / sum w^e with w_l = exp(1 / (h + 1 - l)).

    For "root" the weights are reversed, w_l = exp(1 / l); for "uniform" they are 1.

    Args:
        depths: depth h of each path, shape (B,).
        present: levels that the path has, shape (B, H); in a graph it may lack some above its end.
        direction: end of the path with the largest share, "leaf", "uniform" or "root".

    Returns:
        Shares, shape (B, H), each row summing to 1, 0 at levels that are not present.
    """
    level = torch.arange(1, present.shape[1] + 1, device=depths.device, dtype=dtype)
    depth = depths[:, None].to(dtype)  # (B, 1)
    log_weights = {
        "leaf": 1 / (depth + 1 - level).clamp(min=1),
        "uniform": torch.zeros_like(depth * level),
        "root": 1 / level + torch.zeros_like(depth),
    }[direction]  # (B, H)
    return (exponent * log_weights).masked_fill(~present, -torch.inf).softmax(dim=1)


def path_kl(magnitude: Tensor, on_path: Tensor, target: Tensor) -> Tensor:
    """KL(P | softmax |z|) of each sample, computed on the path only, since P is 0 elsewhere.

    sum P log P - sum P |z_path| + logsumexp |z|

    Args:
        magnitude: magnitudes |z|, shape (B, N); -inf for nodes that are left out.
        on_path: magnitudes |z| along each path, shape (B, H).
        target: target distribution P along each path, shape (B, H).

    Returns:
        Divergences >= 0, shape (B,).
    """
    cross = (target * on_path).sum(dim=1)
    return torch.xlogy(target, target).sum(dim=1) - cross + magnitude.logsumexp(dim=1)


def merged_kl(magnitude: Tensor, on_path: Tensor, target: Tensor, share: Tensor, below: Tensor) -> Tensor:
    """KL(P | softmax |z|) of each sample if the nodes strictly below its label are one outcome of both distributions.

    sum P log P - sum P |z_path| - (1 - s) logsumexp |z_below| + logsumexp |z|, with P = s * target on the path and
    1 - s on the nodes below.

    Args:
        magnitude: magnitudes |z|, shape (B, N).
        on_path: magnitudes |z| along each path, shape (B, H).
        target: proportions of the target along each path, shape (B, H).
        share: share s of the path in the target, shape (B,), 1 for a class.
        below: mask of the nodes strictly below each label, shape (B, N).

    Returns:
        Divergences >= 0, shape (B,); those of `path_kl` for classes.
    """
    has_below = below.any(dim=1)
    rest = torch.where(has_below, 1 - share, 0)  # 0 for a class even if its shares do not sum to exactly 1
    summed = magnitude.masked_fill(has_below[:, None] & ~below, -torch.inf).logsumexp(dim=1)  # for a class all nodes
    path = path_kl(magnitude, on_path, target * share[:, None])
    return path + torch.xlogy(rest, rest) - rest * summed


def _group_means(values: Tensor, member: Tensor, weights: Tensor) -> Tensor:
    """Weighted mean of each column over its members, 0 where there are none; (B, H) to (H,)."""
    shares = member * weights[:, None]
    count = shares.sum(dim=0)
    return (values * shares).sum(dim=0) / count.where(count > 0, 1)


def _check_rows(count: int, **columns: Tensor) -> None:
    for name, column in columns.items():
        if column.shape != (count,):
            raise ValueError(f"expected {name} of shape ({count},), one for each embedding, got {tuple(column.shape)}")
