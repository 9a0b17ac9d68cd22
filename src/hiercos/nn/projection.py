"""Dense features of sparse vectors: a truncated SVD as a layer, and SciPy matrices as tensors."""

import warnings
from functools import cache
from typing import TypeAlias

import numpy as np
import torch
from scipy.sparse import csr_matrix
from torch import Tensor, nn

SMALLEST = 2e-2  # smallest singular value kept, relative to the largest: below it is rounding or a single sample

SparseMatrix: TypeAlias = csr_matrix  # shape (M, V)


class Projection(nn.Module):
    """A fitted truncated SVD of sparse vectors.

    Directions in which the training samples hardly vary are left out: a model divides each feature by its deviation on
    these samples, so an unseen sample could be millions of deviations away.

    Args:
        directions: right singular vectors as columns, shape (V, F).

    Shape:
        inputs: (B, V), sparse CSR or dense. Output: (B, F), dense.
    """

    directions: Tensor  # (V, F); not part of the state, because it never changes in training

    def __init__(self, directions: Tensor) -> None:
        super().__init__()
        self.register_buffer("directions", directions.contiguous(), persistent=False)

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
        return inputs @ self.directions


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
