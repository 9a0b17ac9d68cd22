"""Sparse features of many columns, such as word counts, as a few hundred dense ones."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.extmath import randomized_svd

from hiercos.data.rows import AnyArray

SMALLEST = 2e-2  # singular value kept, of the largest: below it a direction is rounding, or a trait of single samples


@dataclass(frozen=True, eq=False)
class Projection:
    """A fitted map of samples onto the directions they vary in most (a truncated SVD).

    Attributes:
        directions: shape (F, V); None for the samples as they are.
    """

    directions: AnyArray | None

    @classmethod
    def fit(cls, samples: Any, most: int, seed: int) -> "Projection":
        """The directions of sparse samples with more than so many columns; dense ones, and fewer columns, stay.

        Args:
            samples: shape (M, V), an array or a SciPy matrix.
            most: the largest number of directions.
            seed: of the randomised SVD.
        """
        if not issparse(samples) or samples.shape[1] <= most:
            return cls(None)
        _, sizes, directions = randomized_svd(samples, min(most, *samples.shape), n_iter=4, random_state=seed)
        return cls(directions[sizes >= SMALLEST * sizes[0]])

    def __call__(self, samples: Any) -> AnyArray:
        """Samples (M, V) to dense features (M, F)."""
        dense: Any = samples if self.directions is None else samples @ self.directions.T.astype(samples.dtype)
        return dense.toarray() if issparse(dense) else np.asarray(dense)
