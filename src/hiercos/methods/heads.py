"""The transformation module, from features to an embedding, and heads: Hier-COS, classifiers of all levels, linear."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from hiercos.checks import check_choice
from hiercos.geometry import PaddedLevels, node_probabilities
from hiercos.methods.layers import aligned
from hiercos.taxonomy import Taxonomy, check_is_taxonomy

Stem = Literal["norm", "linear"]


class ResidualBlock(nn.Module):
    """y = S(x) + PReLU(BN(W2 PReLU(BN(W1 x)))), as in the published code: no activation after the sum.

    The shortcut S is the identity if the widths agree, else a learned linear map without bias.

    Shape:
        x: (B, in_features). Output: (B, width).
    """

    def __init__(self, in_features: int, width: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(in_features, width, bias=False),
            nn.BatchNorm1d(width),
            nn.PReLU(width),
            nn.Linear(width, width, bias=False),
            nn.BatchNorm1d(width),
            nn.PReLU(width),
        )
        self.shortcut = nn.Identity() if in_features == width else nn.Linear(in_features, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Shape (B, in_features) to (B, width)."""
        out: Tensor = self.shortcut(x) + self.body(x)
        return out


class TransformationModule(nn.Module):
    """A stem and two residual blocks [sani2026, supplementary, implementation details].

    Note:
        The paper describes five linear layers; the published code has two residual blocks of two linear
        layers each and a fixed orthogonal map. This class follows the code.

    Args:
        in_features: width F of the input features.
        width: width of the blocks.
        stem: "norm" (default) normalises the features (published with frozen transformers); "linear" first
            projects them to the width of the blocks, which on pooled features is the published stem of the
            convolutional backbones, since pooling and a 1x1 convolution commute.
        momentum: momentum of the stem's batch norm; 0.1 by default, since the published 0.001 needs thousands of
            steps before the running statistics are usable.
        dropout: dropout rate after the stem; 0, as published, by default.

    Raises:
        ValueError: for an unknown stem, or a width or in_features below 1.

    Shape:
        features: (B, F). Output: (B, width).
    """

    def __init__(
        self,
        in_features: int,
        width: int,
        *,
        stem: Stem = "norm",
        momentum: float = 0.1,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if in_features < 1 or width < 1:
            raise ValueError(f"expected in_features and width of at least 1, got {in_features} and {width}")
        check_choice("stem", stem, get_args(Stem))
        linear = stem == "linear"
        projection = nn.Linear(in_features, width, bias=False) if linear else nn.Identity()
        stem_width = width if linear else in_features
        self.stem = nn.Sequential(projection, nn.BatchNorm1d(stem_width, momentum=momentum), nn.Dropout(dropout))
        self.blocks = nn.Sequential(ResidualBlock(stem_width, width), ResidualBlock(width, width))

    def forward(self, features: Tensor) -> Tensor:
        """Shape (B, F) to (B, width)."""
        out: Tensor = self.blocks(self.stem(features))
        return out


Basis = Literal["identity", "random"]


class HierCOSHead(nn.Module):
    """Map features into the space with one orthonormal axis per node [sani2026, Sec. 3.3].

    As published, the transformation module has width N. With `width`, its blocks have that width and a linear
    map to the N nodes follows: for taxonomies whose N x N layers would be too large.

    Note:
        The published code ends in a fixed random orthogonal N x N matrix and a frozen bias of N zeros. The
        layer before the matrix can learn any rotation, so the identity, which costs nothing, is the default here;
        the bias is left out.

    Args:
        in_features: width F of the input features.
        taxonomy: the tree.
        width: width of the blocks; N, as published, by default.
        shifted: whether the smallest coordinate is subtracted from all, so that softmax |z| is the softmax of signed
            coordinates, in which a negative one is evidence against its node; False, as published, by default.
        basis: "identity", or "random" for an orthogonal matrix drawn from `generator` and stored with the weights.
        stem: "norm" or "linear", see `TransformationModule`.
        momentum: batch-norm momentum, see `TransformationModule`.
        dropout: dropout rate, see `TransformationModule`.
        generator: source of the random basis; torch's global one by default.

    Raises:
        ValueError: for an unknown basis or stem, or a width or in_features below 1.

    Shape:
        features: (B, F). Output: z (B, N), column j belongs to node j.

    Example:
        >>> from hiercos import Taxonomy
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> HierCOSHead(8, t, width=16)(torch.randn(4, 8)).shape  # pet, vehicle, cat, dog, car
        torch.Size([4, 5])
    """

    basis: Tensor | None  # (N, N) orthogonal

    def __init__(
        self,
        in_features: int,
        taxonomy: Taxonomy,
        *,
        width: int | None = None,
        shifted: bool = False,
        basis: Basis = "identity",
        stem: Stem = "norm",
        momentum: float = 0.1,
        dropout: float = 0.0,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        check_is_taxonomy(taxonomy)
        check_choice("basis", basis, get_args(Basis))
        nodes = taxonomy.num_nodes
        self.transformation = TransformationModule(
            in_features, nodes if width is None else width, stem=stem, momentum=momentum, dropout=dropout
        )
        self.expand = nn.Identity() if width is None else nn.Linear(width, nodes)
        self.shift = Shift() if shifted else nn.Identity()
        self.register_buffer("basis", random_orthogonal(nodes, generator) if basis == "random" else None)

    def forward(self, features: Tensor) -> Tensor:
        """Shape (B, F) to (B, N)."""
        z: Tensor = self.expand(self.transformation(features))
        shifted: Tensor = self.shift(z if self.basis is None else aligned(z) @ self.basis.T)
        return shifted


class Shift(nn.Module):
    """Subtracts the smallest coordinate of each sample from all. Shape: z (B, N) to (B, N)."""

    def forward(self, z: Tensor) -> Tensor:
        """Shape (B, N) to (B, N)."""
        return z - z.amin(dim=1, keepdim=True)


def random_orthogonal(size: int, generator: torch.Generator | None = None) -> Tensor:
    """A random orthogonal matrix: the orthogonal factor U V^T of a Gaussian one, shape (size, size)."""
    u, _, vh = torch.linalg.svd(torch.randn(size, size, generator=generator, dtype=torch.float64))
    basis: Tensor = (u @ vh).to(torch.get_default_dtype())
    return basis


class SlicedHeads(nn.Module):
    """One linear classifier per level, on its own slice of the features and the detached finer ones [chang2021].

    The features are split into one slice per level, the coarsest first. The input of a level's classifier is its own
    slice and those of the levels below, through which no gradient flows.

    Args:
        in_features: width F of the input features; if it is below the number of levels, the coarsest slices are empty.
        sizes: number of nodes of each level, level 1 first.

    Shape:
        features: (B, F). Output: (B, T), T = sum of sizes.
    """

    def __init__(self, in_features: int, sizes: Sequence[int]) -> None:
        super().__init__()
        self.widths = slice_widths(in_features, len(sizes))
        seen = [sum(self.widths[level:]) for level in range(len(sizes))]
        self.classifiers = nn.ModuleList(nn.Linear(*shape) for shape in zip(seen, sizes, strict=True))

    def forward(self, features: Tensor) -> Tensor:
        """Shape (B, F) to (B, T)."""
        slices = features.split_with_sizes(self.widths, dim=1)
        detached = features.detach()
        logits = []
        for level, classifier in enumerate(self.classifiers):
            finer = detached[:, sum(self.widths[: level + 1]) :]
            logits.append(classifier(torch.cat([slices[level], finer], dim=1)))  # (B, K_level)
        return torch.cat(logits, dim=1)


def slice_widths(in_features: int, levels: int) -> list[int]:
    """Widths of nearly equal slices that add up to in_features; the finest slices get one of the remainder each."""
    width, remainder = divmod(in_features, levels)
    return [width + (level >= levels - remainder) for level in range(levels)]


class UnitRowLinear(nn.Module):
    """A linear layer with bias whose rows are scaled to length 1.

    Shape:
        features: (B, F). Output: (B, out_features).
    """

    def __init__(self, in_features: int, out_features: int) -> None:
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)

    def unit_rows(self) -> Tensor:
        """Rows scaled to length 1, shape (out_features, F)."""
        return F.normalize(self.linear.weight, dim=1)

    def forward(self, features: Tensor) -> Tensor:
        """Shape (B, F) to (B, out_features)."""
        return F.linear(aligned(features), self.unit_rows(), self.linear.bias)


def linear_head(
    in_features: int, out_features: int, *, width: int | None, dropout: float, momentum: float
) -> nn.Sequential:
    """A linear layer on the features (type I), or after a transformation module (type II).

    Args:
        in_features: width F of the input features.
        out_features: width of the outputs.
        width: width of the transformation module; None for no module.
        dropout: dropout rate before the linear layer (type I) or before the blocks (type II).
        momentum: batch-norm momentum of the transformation module.
    """
    if width is None:
        return nn.Sequential(nn.Dropout(dropout), nn.Linear(in_features, out_features))
    body = TransformationModule(in_features, width, momentum=momentum, dropout=dropout)
    return nn.Sequential(body, nn.Linear(width, out_features))


def hidden_layer(in_features: int, width: int | None) -> tuple[nn.Module, int]:
    """A linear layer between batch norms, followed by an ELU, and its output width; the identity if width is None.

    The published baselines without a transformation module have one of 600 units after ResNet-50 [liang2023].

    Args:
        in_features: width F of the input features.
        width: width of the layer; None for no layer.
    """
    if width is None:
        return nn.Identity(), in_features
    norm, linear = nn.BatchNorm1d(in_features), nn.Linear(in_features, width)
    return nn.Sequential(norm, linear, nn.BatchNorm1d(width), nn.ELU()), width


class Columns(nn.Module):
    """Selects columns. Shape: outputs (B, T) to (B, number of selected columns)."""

    columns: Tensor

    def __init__(self, columns: Tensor) -> None:
        super().__init__()
        self.register_buffer("columns", columns, persistent=False)

    def forward(self, outputs: Tensor) -> Tensor:
        """Shape (B, T) to (B, K)."""
        return outputs.index_select(1, self.columns)


def class_columns(levels: PaddedLevels) -> Columns:
    """Selects the class logits, from the deepest level. Shape: (B, T) to (B, C)."""
    return Columns(torch.tensor(levels.class_columns[:, -1]))


def node_columns(levels: PaddedLevels) -> Columns:
    """Selects the node logits, each from the classifier of its own level. Shape: (B, T) to (B, N)."""
    return Columns(torch.tensor(levels.node_columns))


class OnTree(nn.Module):
    """A function of outputs and the taxonomy as a module. Shape: outputs (B, T) to (B, K)."""

    def __init__(self, function: Callable[..., Tensor], taxonomy: Taxonomy, **options: Any) -> None:
        super().__init__()
        self.function, self.taxonomy, self.options = function, taxonomy, options

    def forward(self, outputs: Tensor) -> Tensor:
        """Shape (B, T) to (B, K)."""
        return self.function(outputs, self.taxonomy, **self.options)


class SummedProbabilities(nn.Module):
    """Node scores of a method that predicts only classes: sums of class probabilities.

    Shape:
        logits: (B, C). Output: (B, N) probabilities of the nodes.
    """

    def __init__(self, taxonomy: Taxonomy) -> None:
        super().__init__()
        self.taxonomy = taxonomy

    def forward(self, logits: Tensor) -> Tensor:
        """Shape (B, C) to (B, N)."""
        return node_probabilities(logits.softmax(dim=1), self.taxonomy)
