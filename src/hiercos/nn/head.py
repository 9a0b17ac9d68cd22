"""The Hier-COS head: features in, coordinates in the node basis out."""

from typing import Literal, get_args

import torch
from torch import Tensor, nn

from hiercos.nn.transformation import Stem, TransformationModule
from hiercos.options import check_choice
from hiercos.taxonomy import Taxonomy

Basis = Literal["identity", "random"]


class HierCOSHead(nn.Module):
    """Map features into the space with one orthonormal axis per node [sani2026, Sec. 3.3].

    As published the transformation module is N wide. With `width`, its blocks have that width and one linear
    map leads to the N nodes: for taxonomies whose N x N layers would be too large.

    Note:
        The published code ends in a fixed random orthogonal N x N matrix and a frozen bias of N zeros. The
        matrix only rotates a space that the layer before it is free to choose, so the identity, which costs
        nothing, is the default here; the bias is left out.

    Args:
        in_features: F, the width of the features.
        taxonomy: the tree.
        width: the width of the blocks; N, as published, by default.
        basis: "identity", or "random" for an orthogonal matrix drawn from `generator` and stored with the weights.
        stem: see `TransformationModule`.
        momentum: see `TransformationModule`.
        dropout: see `TransformationModule`.
        generator: source of the random basis; torch's global one by default.

    Raises:
        ValueError: for an unknown basis or stem, or a width or in_features below 1.

    Shape:
        features: (B, F). Output: z (B, N), column j belongs to node j.
    """

    basis: Tensor | None  # (N, N) orthogonal

    def __init__(
        self,
        in_features: int,
        taxonomy: Taxonomy,
        *,
        width: int | None = None,
        basis: Basis = "identity",
        stem: Stem = "norm",
        momentum: float = 0.1,
        dropout: float = 0.0,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        check_choice("basis", basis, get_args(Basis))
        nodes = taxonomy.num_nodes
        self.transformation = TransformationModule(
            in_features, nodes if width is None else width, stem=stem, momentum=momentum, dropout=dropout
        )
        self.expand = nn.Identity() if width is None else nn.Linear(width, nodes)
        self.register_buffer("basis", random_orthogonal(nodes, generator) if basis == "random" else None)

    def forward(self, features: Tensor) -> Tensor:
        """Shape (B, F) to (B, N)."""
        z: Tensor = self.expand(self.transformation(features))
        return z if self.basis is None else z @ self.basis.T


def random_orthogonal(size: int, generator: torch.Generator | None = None) -> Tensor:
    """A random orthogonal matrix: the orthogonal factor U V^T of a Gaussian one, shape (size, size)."""
    u, _, vh = torch.linalg.svd(torch.randn(size, size, generator=generator, dtype=torch.float64))
    basis: Tensor = (u @ vh).to(torch.get_default_dtype())
    return basis
