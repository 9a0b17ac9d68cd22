"""Hier-COS as published."""

import numpy as np
from torch import Tensor, nn

from hiercos.geometry import energy_shares, leaf_scores, node_scores
from hiercos.losses import BelowLabel, Direction, Grouping, HierCOSLoss, Penalty
from hiercos.methods.heads import Activation, Basis, HierCOSHead
from hiercos.methods.model import Method
from hiercos.taxonomy import Taxonomy

ALPHA = 0.05  # weight of the penalty
LARGEST_WIDTH_SUM = 32.0  # sum of √(level size) up to which ALPHA suits, see `suitable_alpha`


def hier_cos(
    taxonomy: Taxonomy,
    in_features: int,
    *,
    width: int | None = None,
    dropout: float = 0.0,
    momentum: float = 0.1,
    activation: Activation = "none",
    basis: Basis = "identity",
    alpha: float | None = ALPHA,
    exponent: float = 2.0,
    direction: Direction = "leaf",
    penalty: Penalty = "published",
    grouping: Grouping = "published",
    below_label: BelowLabel = "left-out",
    ancestors: bool = True,
    descendants: bool = True,
) -> Method:
    """Hier-COS: one orthonormal axis per node, energy on the path of the class [sani2026].

    Args:
        taxonomy: the tree.
        in_features: width F of the input features.
        width: width of the transformation module; N, as published, by default.
        dropout: dropout rate, see `HierCOSHead`.
        momentum: batch-norm momentum, see `HierCOSHead`.
        activation: activation of the nodes, see `HierCOSHead`.
        basis: "identity" or "random", see `HierCOSHead`.
        alpha: weight of the sparsity penalty, see `HierCOSLoss`; None for one that suits the tree, see
            `suitable_alpha`.
        exponent: exponent of the level weights, see `HierCOSLoss`.
        direction: end of the path with the largest target, see `HierCOSLoss`.
        penalty: form of the penalty, see `HierCOSLoss`.
        grouping: averaging of the penalty, see `HierCOSLoss`.
        below_label: nodes below a label that is an inner node, see `HierCOSLoss`.
        ancestors: whether the axes of the ancestors are part of the subspaces; only the scores use it, not the loss.
        descendants: whether the axes of the descendants are part of the subspaces; only the scores use it.
    """
    weight = suitable_alpha(taxonomy) if alpha is None else alpha
    return Method(
        head=HierCOSHead(
            in_features,
            taxonomy,
            width=width,
            activation=activation,
            basis=basis,
            momentum=momentum,
            dropout=dropout,
        ),
        loss=HierCOSLoss(
            taxonomy,
            weight,
            exponent=exponent,
            direction=direction,
            penalty=penalty,
            grouping=grouping,
            below_label=below_label,
        ),
        class_scores=LeafScores(taxonomy, ancestors=ancestors),
        node_scores=NodeScores(taxonomy, ancestors=ancestors, descendants=descendants),
        energies=EnergyShares(),
    )


def suitable_alpha(taxonomy: Taxonomy) -> float:
    """Weight of the sparsity penalty: 0.05 on small trees, less on wide and deep ones.

    The penalty adds up over the levels; in a tree, a level of n nodes on the path of the class adds at most 1 + √n. So
    the weight depends on S, the sum of √n over all levels: 0.05 up to S = 32, and 0.05 (32 / S)³ beyond, where 0.05
    would raise the cosine and lower top-1. The published weights fall even faster: 0.05 and 0.1 for S = 21 and 24,
    0.001 for 60, 0.0001 for 87.

    Example:
        >>> suitable_alpha(Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")]))
        0.05
    """
    width_sum = float(np.sqrt(np.diff(taxonomy.level_starts)).sum())
    return ALPHA * min(1.0, LARGEST_WIDTH_SUM / width_sum) ** 3


class LeafScores(nn.Module):
    """`leaf_scores` as a module. Shape: z (B, N) to (B, C)."""

    def __init__(self, taxonomy: Taxonomy, *, ancestors: bool = True) -> None:
        super().__init__()
        self.taxonomy, self.ancestors = taxonomy, ancestors

    def forward(self, z: Tensor) -> Tensor:
        """Shape (B, N) to (B, C)."""
        return leaf_scores(z, self.taxonomy, ancestors=self.ancestors)


class NodeScores(nn.Module):
    """`node_scores` as a module. Shape: z (B, N) to (B, N)."""

    def __init__(self, taxonomy: Taxonomy, *, ancestors: bool = True, descendants: bool = True) -> None:
        super().__init__()
        self.taxonomy, self.ancestors, self.descendants = taxonomy, ancestors, descendants

    def forward(self, z: Tensor) -> Tensor:
        """Shape (B, N) to (B, N)."""
        return node_scores(z, self.taxonomy, ancestors=self.ancestors, descendants=self.descendants)


class EnergyShares(nn.Module):
    """`energy_shares` as a module. Shape: z (B, N) to (B, N)."""

    def forward(self, z: Tensor) -> Tensor:
        """Shape (B, N) to (B, N)."""
        return energy_shares(z)
