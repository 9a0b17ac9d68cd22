"""Features of a linear problem, and products with them in the coordinates that its solver moves in.

The weights are W = K A Φ for coefficients A (C, R) of R directions Φ (R, F), see `hiercos.methods.linear.convex`. The
directions are the features themselves or the samples, whichever are fewer; of dense features always the features.
"""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_array, issparse
from torch import Tensor

from hiercos.methods.layers import SparseMatrix, csr_tensor, feature_scale
from hiercos.taxonomy import AnyArray, Floats, IntArray

CLASSES_AT_ONCE = 32  # whose products with sparse features stay in the processor's cache
DENSE_SCALING = 0.5  # exponent of the deviations that liblinear's dense features are divided by
SPARSE_BIAS_SCALE = 4.0  # half as many steps as with 1


class ProblemFeatures(ABC):
    """Features of M samples, scaled to a mean squared norm of 1, and the directions Φ (R, F) of the coefficients.

    The defaults are those of the primal problem, whose directions are the features.
    """

    count: int  # number of samples M
    directions: int  # number of directions R
    shift: Tensor  # (F,) what is subtracted from the features as they are given
    scale: Tensor  # (F,) what they are divided by then
    bias_scale: float  # unit in which the solver moves the bias

    def image(self, values: Tensor) -> Tensor:
        """Product with the Gram matrix ΦΦᵀ (R, R) if the directions are samples, else the values: (C, R) to (C, R)."""
        return values

    @abstractmethod
    def logits(self, images: Tensor) -> Tensor:
        """Logits of the samples from the images of K A: (C, R) to (C, M)."""

    @abstractmethod
    def coefficients(self, slopes: Tensor) -> Tensor:
        """Coefficients of a gradient from the slopes of the logits: (C, M) to (C, R)."""

    def weights(self, values: Tensor) -> Tensor:
        """Weights of the scaled features from K A: (C, R) to (C, F)."""
        return values


class DenseFeatures(ProblemFeatures):
    """Dense features, centred and divided by a power of their deviations.

    Args:
        features: shape (M, F).
        scaling: exponent of the deviations: 1 standardizes the features, 0 keeps their proportions.
    """

    bias_scale = 1.0  # features are centred

    def __init__(self, features: Floats, scaling: float = 1.0) -> None:
        dense = torch.as_tensor(np.asarray(features), dtype=torch.float32)
        self.shift, deviation = feature_scale(dense)
        self.scale = deviation**scaling
        self.rows = (dense - self.shift) / self.scale
        norm = float(self.rows.square().sum(dim=1).mean()) ** 0.5 or 1.0
        self.scale, self.rows = self.scale * norm, self.rows.div_(norm)
        self.count, self.directions = int(self.rows.shape[0]), int(self.rows.shape[1])

    def logits(self, images: Tensor) -> Tensor:
        """See `ProblemFeatures`."""
        return torch.mm(images, self.rows.T)

    def coefficients(self, slopes: Tensor) -> Tensor:
        """See `ProblemFeatures`."""
        return torch.mm(slopes, self.rows)


class SparseFeatures(ProblemFeatures):
    """Sparse features (M, F), not standardized since centring would fill them."""

    bias_scale = SPARSE_BIAS_SCALE

    def __init__(self, features: SparseMatrix) -> None:
        matrix = csr_array(features, dtype=np.float32, copy=True)
        self.count, self.directions = (int(size) for size in matrix.shape)
        scale = (float(matrix.multiply(matrix).sum()) / self.count or 1.0) ** 0.5
        matrix.data /= scale
        self.shift, self.scale = torch.zeros(self.directions), torch.full((self.directions,), scale)
        self.rows, self.columns = csr_tensor(matrix), csr_tensor(csr_array(matrix.T))

    def logits(self, images: Tensor) -> Tensor:
        """See `ProblemFeatures`."""
        return _by_classes(images, self.rows)

    def coefficients(self, slopes: Tensor) -> Tensor:
        """See `ProblemFeatures`."""
        return _by_classes(slopes, self.columns)


class SparseSamples(SparseFeatures):
    """Sparse features (M, F) of the dual problem, whose directions are the samples, which are fewer."""

    def __init__(self, features: SparseMatrix) -> None:
        super().__init__(features)
        self.directions = self.count

    def image(self, values: Tensor) -> Tensor:
        """See `ProblemFeatures`."""
        return _by_classes(values, self.columns, self.rows)

    def logits(self, images: Tensor) -> Tensor:
        """See `ProblemFeatures`."""
        return images

    def coefficients(self, slopes: Tensor) -> Tensor:
        """See `ProblemFeatures`."""
        return slopes

    def weights(self, values: Tensor) -> Tensor:
        """See `ProblemFeatures`."""
        return _by_classes(values, self.columns)


def problem_features(features: Floats | SparseMatrix, scaling: float = 1.0) -> ProblemFeatures:
    """Features of a problem from dense ones, scaled as in `DenseFeatures`, or sparse ones, shape (M, F)."""
    if not issparse(features):
        return DenseFeatures(features, scaling)
    samples, width = features.shape
    return SparseSamples(features) if samples < width else SparseFeatures(features)


def _by_classes(values: Tensor, *matrices: Tensor) -> Tensor:
    """Products of each row of values with sparse matrices, one after the other: (C, n) to (C, m)."""
    found = torch.empty(values.shape[0], matrices[-1].shape[0])
    for part, target in zip(torch.split(values, CLASSES_AT_ONCE), torch.split(found, CLASSES_AT_ONCE), strict=True):
        product = part.T.contiguous()
        for matrix in matrices:
            product = matrix @ product
        target.copy_(product.T)
    return found


class ScaledRows:
    """Features for liblinear, centred if dense, and scaled to a mean squared norm of 1: the same strengths suit all.

    Args:
        features: shape (M, F), dense or sparse CSR.
    """

    def __init__(self, features: Any) -> None:
        self.rows: Any
        if issparse(features):
            squares = float(np.square(features.data, dtype=np.float64).sum())
            norm = (squares / features.shape[0]) ** 0.5 or 1
            self.shift, self.scale = np.zeros(1, np.float32), np.array([norm], np.float32)
            self.rows = features / self.scale[0]
        else:
            dense = DenseFeatures(features, DENSE_SCALING)
            self.shift, self.scale, self.rows = dense.shift.numpy(), dense.scale.numpy(), dense.rows.numpy()

    def as_given(self, matrix: Any, bias: AnyArray, factors: AnyArray) -> tuple[Any, AnyArray]:
        """Weights (F, K) for the features as they are given, times a factor of each output, (K,); their bias (K,)."""
        matrix = matrix.astype(np.float32)
        if issparse(matrix):
            matrix.data *= factors[matrix.indices] / self.scale[0]
            return matrix, bias
        matrix *= factors / self.scale[:, None]
        return matrix, bias - self.shift @ matrix


def used_columns(rows: Any) -> tuple[Any, IntArray]:
    """Rows with the columns that have entries alone, and which these are; all columns of dense rows."""
    if not issparse(rows):
        return rows, np.arange(rows.shape[1])
    columns = np.unique(rows.indices)
    places = np.searchsorted(columns, rows.indices).astype(np.int32)
    return csr_array((rows.data, places, rows.indptr), (rows.shape[0], len(columns))), columns
