"""The Hier-COS loss: concentrate the energy of an embedding on the path of its class."""

from typing import Literal, get_args

import torch
from torch import Tensor, nn

from hiercos.geometry import checked_embeddings
from hiercos.losses.paths import LabelPaths, weighted_mean
from hiercos.options import check_choice
from hiercos.taxonomy import Taxonomy

Direction = Literal["leaf", "uniform", "root"]
Penalty = Literal["published", "printed", "scale-free"]
Grouping = Literal["published", "sample"]


class HierCOSLoss(nn.Module):
    """KL divergence to the path's target distribution plus `alpha` times a sparsity penalty per level.

    With P the target on the path (`path_targets`), Q the softmax of |z| over all nodes, and a the magnitudes
    |z| of one level:
    KL(P | Q) + alpha * [sum over the levels of the path of |delta - a/|a|_2|_1 + sum over deeper levels of |a|_1].

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

    Shape:
        z: (B, N) coordinates in the node basis. labels: (B,) classes. weights: (B,) >= 0, optional; every mean
        becomes the weighted mean. Output: scalar, nan for an empty batch or if all weights are 0.

    Raises:
        ValueError: for an unknown choice; on call, for z, labels or weights of another shape.
        IndexError: on call, for a label that is not a class (on a GPU, the device's own error).

    Example:
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> loss, cat = HierCOSLoss(t), torch.tensor([0])
        >>> on_path, off_path = torch.tensor([[4.0, 0.0, 5.0, 0, 0]]), torch.tensor([[0.0, 4.0, 0, 0, 5.0]])
        >>> bool(loss(on_path, cat) < loss(off_path, cat))
        True
    """

    def __init__(
        self,
        taxonomy: Taxonomy,
        alpha: float = 0.05,
        *,
        exponent: float = 2.0,
        direction: Direction = "leaf",
        penalty: Penalty = "published",
        grouping: Grouping = "published",
    ) -> None:
        super().__init__()
        check_choice("direction", direction, get_args(Direction))
        check_choice("penalty", penalty, get_args(Penalty))
        check_choice("grouping", grouping, get_args(Grouping))
        if not alpha >= 0:
            raise ValueError(f"expected an alpha of at least 0, got {alpha}")
        self.alpha, self.exponent, self.direction = alpha, exponent, direction
        self.penalty, self.grouping = penalty, grouping
        self.level_sizes = [int(size) for size in taxonomy.level_starts[1:] - taxonomy.level_starts[:-1]]
        self.paths = LabelPaths(taxonomy)

    @classmethod
    def as_printed(cls, taxonomy: Taxonomy, alpha: float = 0.05) -> "HierCOSLoss":
        """The loss as the paper prints it: plain weights, signed penalty, a sum per sample."""
        return cls(taxonomy, alpha, exponent=1.0, penalty="printed", grouping="sample")

    def forward(self, z: Tensor, labels: Tensor, weights: Tensor | None = None) -> Tensor:
        """Embeddings (B, N) and classes (B,) to a scalar."""
        z = checked_embeddings(z, sum(self.level_sizes))
        weights = z.new_ones(len(z)) if weights is None else weights.to(z.dtype)
        _check_rows(len(z), labels=labels, weights=weights)
        nodes, mask = self.paths(labels)  # (B, H) each
        on_path, depths = z.gather(1, nodes), mask.sum(dim=1)  # (B, H), (B,)
        magnitude = z.abs()
        target = path_targets(depths, on_path.shape[1], exponent=self.exponent, direction=self.direction, dtype=z.dtype)
        loss = weighted_mean(path_kl(magnitude, on_path.abs(), target), weights)
        if self.alpha == 0:
            return loss
        present, missing = self._level_terms(magnitude, on_path, depths)
        return loss + self.alpha * self._penalty(present, missing, mask, weights)

    def _penalty(self, present: Tensor, missing: Tensor, has_level: Tensor, weights: Tensor) -> Tensor:
        """Penalty of a batch, a scalar, from the terms and the mask of present levels, (B, H) each."""
        if self.grouping == "sample":
            return weighted_mean(torch.where(has_level, present, missing).sum(dim=1), weights)
        return (_group_means(present, has_level, weights) + _group_means(missing, ~has_level, weights)).sum()

    def _level_terms(self, magnitude: Tensor, on_path: Tensor, depths: Tensor) -> tuple[Tensor, Tensor]:
        """Penalty of every level as a level of the path, and as a level below the leaf, (B, H) each."""
        levels = magnitude.split_with_sizes(self.level_sizes, dim=1)
        total = torch.stack([level.sum(dim=1) for level in levels], dim=1)  # (B, H)
        norm = torch.stack([level.norm(dim=1) for level in levels], dim=1)  # (B, H)
        norm = norm.where(norm > 0, 1)  # for a level without energy the numerators are 0 too
        if self.penalty == "printed":
            at_leaf = torch.arange(1, on_path.shape[1] + 1, device=depths.device) == depths[:, None]
            present = 1 + (total - on_path.abs() - on_path) / norm
            return present + torch.where(at_leaf, total / norm, 0), total / norm
        present = 1 + (total - 2 * on_path.abs()) / norm
        if self.penalty == "published":
            return present, total
        length = magnitude.norm(dim=1, keepdim=True)
        return present, total / length.where(length > 0, 1)


def path_targets(depths: Tensor, height: int, *, exponent: float, direction: Direction, dtype: torch.dtype) -> Tensor:
    """Target share of each level of a path: P_l = w_l^e / sum w^e with w_l = exp(1 / (h + 1 - l)).

    For "root" the weights are reversed, w_l = exp(1 / l); for "uniform" they are 1.

    Args:
        depths: depth h of each path, shape (B,).
        height: number of columns H.
        exponent: exponent e of the weights.
        direction: end of the path with the largest share, "leaf", "uniform" or "root".
        dtype: data type of the result.

    Returns:
        Shares, shape (B, H), each row summing to 1, 0 beyond the path.
    """
    level = torch.arange(1, height + 1, device=depths.device, dtype=dtype)
    depth = depths[:, None].to(dtype)  # (B, 1)
    log_weights = {
        "leaf": 1 / (depth + 1 - level).clamp(min=1),
        "uniform": torch.zeros_like(depth * level),
        "root": 1 / level + torch.zeros_like(depth),
    }[direction]  # (B, H)
    return (exponent * log_weights).masked_fill(level > depth, -torch.inf).softmax(dim=1)


def path_kl(magnitude: Tensor, on_path: Tensor, target: Tensor) -> Tensor:
    """KL(P | softmax |z|) of each sample, computed on the path only, since P is 0 elsewhere.

    sum P log P - sum P |z_path| + logsumexp |z|

    Args:
        magnitude: magnitudes |z|, shape (B, N).
        on_path: magnitudes |z| along each path, shape (B, H).
        target: target distribution P along each path, shape (B, H).

    Returns:
        Divergences >= 0, shape (B,).
    """
    cross = (target * on_path).sum(dim=1)
    return torch.xlogy(target, target).sum(dim=1) - cross + magnitude.logsumexp(dim=1)


def _group_means(values: Tensor, member: Tensor, weights: Tensor) -> Tensor:
    """Weighted mean of each column over its members, 0 where there are none; (B, H) to (H,)."""
    shares = member * weights[:, None]
    count = shares.sum(dim=0)
    return (values * shares).sum(dim=0) / count.where(count > 0, 1)


def _check_rows(count: int, **columns: Tensor) -> None:
    for name, column in columns.items():
        if column.shape != (count,):
            raise ValueError(f"expected {name} of shape ({count},), one for each embedding, got {tuple(column.shape)}")
