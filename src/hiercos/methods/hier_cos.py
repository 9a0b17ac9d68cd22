"""Hier-COS as published, and with energies that are the shares of a softmax over the nodes."""

from typing import Literal, get_args

import numpy as np
import torch
from torch import Tensor, nn

from hiercos.checks import check_choice
from hiercos.geometry import checked_embeddings, class_path_sums, energy_shares, leaf_scores, node_scores
from hiercos.losses import BelowLabel, Direction, Grouping, HierCOSLoss, Penalty
from hiercos.methods.heads import Basis, HierCOSHead, OnTree
from hiercos.methods.model import Evidence, Method
from hiercos.taxonomy import Taxonomy

Reading = Literal["magnitudes", "shares"]


def hier_cos(
    taxonomy: Taxonomy,
    in_features: int,
    *,
    width: int | None = None,
    dropout: float = 0.0,
    momentum: float = 0.1,
    reading: Reading = "magnitudes",
    basis: Basis = "identity",
    alpha: float = 0.05,
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
        reading: what the outputs y of the head mean. "magnitudes" (default, published): they are the coordinates z, and
            Q = softmax |z| is what the loss compares. "shares": Q = softmax y, z = √Q, and the probabilities are read
            off Q, see `Divergences`.
        basis: "identity" or "random", see `HierCOSHead`.
        alpha: weight of the sparsity penalty, see `HierCOSLoss`.
        exponent: exponent of the level weights, see `HierCOSLoss`.
        direction: end of the path with the largest target, see `HierCOSLoss`.
        penalty: form of the penalty, see `HierCOSLoss`.
        grouping: averaging of the penalty, see `HierCOSLoss`.
        below_label: nodes below a label that is an inner node, see `HierCOSLoss`.
        ancestors: whether the axes of the ancestors are part of the subspaces; only the scores use it, not the loss.
        descendants: whether the axes of the descendants are part of the subspaces; only the scores use it.
    """
    check_choice("reading", reading, get_args(Reading))
    shares = reading == "shares"
    loss = HierCOSLoss(
        taxonomy,
        alpha,
        exponent=exponent,
        direction=direction,
        penalty=penalty,
        grouping=grouping,
        below_label=below_label,
    )
    embedding = RootShares() if shares else nn.Identity()
    return Method(
        head=HierCOSHead(
            in_features,
            taxonomy,
            width=width,
            shifted=shares,
            basis=basis,
            momentum=momentum,
            dropout=dropout,
        ),
        loss=loss,
        class_scores=nn.Sequential(embedding, OnTree(leaf_scores, taxonomy, ancestors=ancestors)),
        node_scores=nn.Sequential(
            embedding, OnTree(node_scores, taxonomy, ancestors=ancestors, descendants=descendants)
        ),
        energies=nn.Sequential(embedding, EnergyShares()),
        evidence=Divergences(loss) if shares else None,
    )


class RootShares(nn.Module):
    """Coordinates whose energy is the share of each node in Q: the roots of softmax y. Shape: y (B, N) to (B, N).

    The squared length of a projection is the sum of the shares on its axes, and the whole embedding has length 1.
    """

    def forward(self, outputs: Tensor) -> Tensor:
        """Shape (B, N) to (B, N)."""
        return (outputs.log_softmax(dim=1) / 2).exp()


class EnergyShares(nn.Module):
    """`energy_shares` as a module. Shape: z (B, N) to (B, N)."""

    def forward(self, z: Tensor) -> Tensor:
        """Shape (B, N) to (B, N)."""
        return energy_shares(z)


class Divergences(Evidence):
    """Minus the divergence that the loss measures, for every class c: -KL(P_c | Q) with Q = softmax |z|.

    Training makes Q like the target P_c of the sample's class, so the class with the smallest divergence is the
    likeliest one, while the lengths of projections order the others by the tree. With the entropy H_c of P_c,
    -KL(P_c | Q) = sum of P_c |z| - logsumexp |z| + H_c. The entropies differ where classes have different depths or
    numbers of ancestors. On a tree, a path sum for each depth of classes; in a graph, one sparse product.

    Args:
        loss: loss that has the targets.
    """

    places: Tensor  # number of each class's depth, shape (C,); of a graph class and node of each entry, shape (2, E)
    shares: Tensor  # target by level for each depth of classes, shape (D, H); of a graph by entry, shape (E,)
    levels: Tensor  # (N,) level of each node, counted from 0

    def __init__(self, loss: HierCOSLoss) -> None:
        taxonomy, first = loss.taxonomy, np.arange(loss.taxonomy.num_classes)
        depths = first
        if taxonomy.is_tree:  # classes of one depth have the same target by level
            _, first, depths = np.unique(taxonomy.depths[taxonomy.leaves], return_index=True, return_inverse=True)
        nodes, shares = loss.class_targets(torch.from_numpy(first))  # (D, H), or (C, W) of a graph
        places, kept = torch.from_numpy(depths), shares > 0
        super().__init__(-torch.xlogy(shares, shares).sum(dim=1)[places])
        if not taxonomy.is_tree:
            places, shares = torch.stack([places[:, None].expand_as(nodes)[kept], nodes[kept]]), shares[kept]
        self.taxonomy = taxonomy
        self.register_buffer("places", places, persistent=False)
        self.register_buffer("shares", shares.float(), persistent=False)
        self.register_buffer("levels", torch.from_numpy(taxonomy.depths - 1), persistent=False)

    def varying(self, z: Tensor) -> Tensor:
        """Shape (B, N) to (B, C)."""
        magnitude = checked_embeddings(z, self.taxonomy.num_nodes).abs()
        total = magnitude.logsumexp(dim=1, keepdim=True)
        if not self.taxonomy.is_tree:
            size = (self.taxonomy.num_classes, self.taxonomy.num_nodes)
            targets = torch.sparse_coo_tensor(self.places, self.shares, size, check_invariants=False)
            matches: Tensor = torch.sparse.mm(targets.to(magnitude.dtype), magnitude.T)
            return matches.T - total
        found = class_path_sums(magnitude * self.shares[0][self.levels], self.taxonomy)
        for number in range(1, len(self.shares)):
            sums = class_path_sums(magnitude * self.shares[number][self.levels], self.taxonomy)
            found = torch.where(self.places == number, sums, found)
        return found - total
