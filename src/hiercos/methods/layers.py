"""Layers between features and head: scaling, and a truncated SVD of sparse vectors, with SciPy matrices as tensors."""

import warnings
from functools import cache
from typing import TypeAlias

import numpy as np
import torch
from scipy.sparse import csr_matrix
from torch import Tensor, nn

CONSTANT = 1e-6  # deviation over largest magnitude below which a feature varies only by float32 rounding
NEVER_VARIES = 1e30  # scale of such a feature: it becomes 0, whatever its values in unseen samples
NUMBERS = 16  # float32 numbers in the 64 bytes that the widest registers hold
SMALLEST = 2e-2  # smallest singular value kept, relative to the largest: below it is rounding or a single sample

SparseMatrix: TypeAlias = csr_matrix  # shape (M, V)


def aligned(features: Tensor) -> Tensor:
    """Features (B, F) whose rows begin at multiples of 64 bytes, in inference; the same numbers.

    Matrix libraries add up the products of a row in another order where its first bytes lie elsewhere, which changes
    the last bits. So the product of a row would depend on its place among the others.
    """
    rows, width = features.shape
    if not torch.is_inference_mode_enabled() or features.layout is not torch.strided or features.device.type != "cpu":
        return features
    if features.stride() == (width, 1) and width % NUMBERS == 0 and features.data_ptr() % (4 * NUMBERS) == 0:
        return features
    padded = features.new_empty(rows, width + -width % NUMBERS)[:, :width]
    return padded.copy_(features)


def align_inputs(module: nn.Module) -> None:
    """Let every linear layer of a module take its inputs through `aligned`."""
    for layer in module.modules():
        if isinstance(layer, nn.Linear) and not layer._forward_pre_hooks:
            layer.register_forward_pre_hook(_aligned_inputs)


def _aligned_inputs(_layer: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return (aligned(inputs[0]), *inputs[1:])


class Standardize(nn.Module):
    """Scale every feature to mean 0 and variance 1, with statistics set once; one that never varies becomes 0.

    Shape:
        features: (B, F). Output: (B, F).
    """

    mean: Tensor  # (F,)
    scale: Tensor  # (F,)

    def __init__(self, in_features: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(in_features))
        self.register_buffer("scale", torch.ones(in_features))

    def fit(self, features: Tensor) -> None:
        """Set mean and scale from features, shape (M, F) with M at least 1."""
        mean, scale = feature_scale(features)
        self.mean.copy_(mean)
        self.scale.copy_(scale)

    def fit_unvaried(self, features: Tensor) -> None:
        """Set the scale of the features that never varied before but do in these samples, shape (M, F).

        Their mean stays, so that the samples seen before are scaled as they were.
        """
        away = (features - self.mean).square().mean(dim=0).sqrt()
        found = scale_of(away, features.abs().amax(dim=0))
        self.scale.copy_(self.scale.where(self.scale < NEVER_VARIES, found))

    def forward(self, features: Tensor) -> Tensor:
        """Standardize features, shape (B, F)."""
        return (features - self.mean) / self.scale


def feature_scale(features: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and scale of each feature, shape (F,) each, from (M, F)."""
    deviation = features.std(dim=0, correction=0)
    return features.mean(dim=0), scale_of(deviation, features.abs().amax(dim=0))


def scale_of(deviation: Tensor, largest: Tensor) -> Tensor:
    """Scale of features from their deviation and largest magnitude, shape (F,) each.

    A feature that never varies has nothing to learn from: the weights that lead from it are as random as at the start,
    and an unseen sample in which it differs would get random scores.
    """
    return deviation.where(deviation > CONSTANT * largest, NEVER_VARIES)


class Projection(nn.Module):
    """A fitted truncated SVD of sparse vectors.

    Directions in which the training samples hardly vary are left out: a model divides each feature by its deviation on
    these samples, so an unseen sample could be millions of deviations away.

    Args:
        directions: right singular vectors as columns, shape (V, F).
        persistent: whether the directions are part of the state of a model.

    Shape:
        inputs: (B, V), sparse CSR or dense. Output: (B, F), dense.
    """

    directions: Tensor  # (V, F)

    def __init__(self, directions: Tensor, *, persistent: bool = False) -> None:
        super().__init__()
        self.register_buffer("directions", directions.contiguous(), persistent=persistent)

    @classmethod
    def fit(cls, samples: SparseMatrix, dim: int, seed: int) -> "Projection":
        """Find the directions of training samples.

        Args:
            samples: training samples, shape (M, V).
            dim: largest number of features F; there are fewer if the samples vary in fewer directions.
            seed: seed of the randomised SVD.

        Returns:
            A projection whose features have a mean square of 1 over the training samples.
        """
        from sklearn.utils.extmath import randomized_svd

        _, sizes, directions = randomized_svd(samples, min(dim, *samples.shape), n_iter=4, random_state=seed)
        kept = sizes >= SMALLEST * sizes[0]  # they come largest first
        scale = np.sqrt(np.square(sizes[kept]).sum() / (samples.shape[0] * kept.sum()))
        return cls(torch.tensor(directions[kept].T / (scale or 1), dtype=torch.float32))

    @property
    def in_features(self) -> int:
        """Width V of the sparse vectors."""
        return self.directions.shape[0]

    @property
    def num_features(self) -> int:
        """Width F of the features."""
        return self.directions.shape[1]

    def forward(self, inputs: Tensor) -> Tensor:
        """Shape (B, V) to (B, F)."""
        return aligned(inputs) @ self.directions


def csr_tensor(matrix: SparseMatrix) -> Tensor:
    """A SciPy CSR matrix as a sparse CSR tensor of the same type and shape, without a copy of its values."""
    _silence_beta_warning()
    starts, columns, values = (torch.from_numpy(part) for part in (matrix.indptr, matrix.indices, matrix.data))
    return torch.sparse_csr_tensor(starts, columns, values, matrix.shape, check_invariants=False)


@cache
def _silence_beta_warning() -> None:
    """Create a first CSR tensor, for which torch warns once in a process that such tensors are in beta state."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.sparse_csr_tensor([0, 1], [0], [1.0], (1, 1), check_invariants=False)
