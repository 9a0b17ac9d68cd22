"""Samples with labels and weights as a scikit-learn user gives them, checked and ready to be learned from."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils.extmath import randomized_svd
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_consistent_length, validate_data

from hiercos.engine import LabelledVectors
from hiercos.taxonomy import AnyArray, IntArray, LabelCodec, label_array

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


TAKEN = {"accept_sparse": "csr", "dtype": (np.float64, np.float32)}  # as they come; anything else becomes float64
LEAST = 2  # samples to learn from
LARGEST = float(np.finfo(np.float32).max)  # that a model can be trained on


@dataclass(frozen=True)
class Labelled:
    """Samples to learn from.

    Attributes:
        samples: shape (M, V), an array or a SciPy matrix.
        labels: class indices, shape (M,).
        weights: how much each counts, shape (M,), above 0; None for all the same.
    """

    samples: Any
    labels: IntArray
    weights: AnyArray | None

    def rows(self, chosen: NDArray[np.bool_]) -> "Labelled":
        """Some of them."""
        weights = None if self.weights is None else self.weights[chosen]
        return Labelled(self.samples[chosen], self.labels[chosen], weights)

    def vectors(self, projection: Projection) -> LabelledVectors:
        """As the engine takes them."""
        return LabelledVectors(_float32(projection(self.samples)), torch.tensor(self.labels))

    def weight_tensor(self) -> torch.Tensor | None:
        """The weights as the engine takes them."""
        return None if self.weights is None else _float32(self.weights)


def checked_samples(estimator: Any, X: Any, y: Any, *, reset: bool) -> tuple[Any, AnyArray]:
    """Samples and labels to learn from as arrays, checked as scikit-learn does.

    Args:
        estimator: whose number and names of features they must have.
        X: shape (M, V), dense or sparse.
        y: see `label_array`.
        reset: whether the estimator takes its number and names of features from these samples.

    Returns:
        Shape (M, V), an array or a SciPy matrix, and (M,) or (M, L).

    Raises:
        ValueError: for what scikit-learn refuses, fewer than two samples, and values beyond float32.
    """
    how = {**TAKEN, "ensure_min_samples": LEAST, "reset": reset}
    labels = None if y is None else label_array(y)
    if labels is not None and labels.ndim == 2 and labels.shape[1] > 1:
        X = validate_data(estimator, X, **how)
        check_consistent_length(X, labels)
    else:
        X, labels = validate_data(estimator, X, labels, **how)
        check_classification_targets(labels)
    if (largest := max(X.max(), -X.min())) > LARGEST:
        raise ValueError(f"X: expected values of a size up to {LARGEST:.1e} (float32), got {largest:.1e}")
    return X, labels


def labelled(X: Any, y: AnyArray, codec: LabelCodec, sample_weight: Any) -> Labelled:
    """Samples with class indices; those of weight 0 are left out.

    Args:
        X: shape (M, V).
        y: their labels, shape (M,) or (M, L).
        codec: reads them.
        sample_weight: shape (M,), one number for all, or None.

    Raises:
        ValueError: for a label that is unknown, a weight below 0, or fewer than two samples that count.
    """
    labels = codec.read(y)
    if sample_weight is None:
        return Labelled(X, labels, None)
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    data = Labelled(X, labels, weights).rows(weights > 0)
    if len(data.labels) < LEAST:
        raise ValueError(f"expected at least {LEAST} samples of a weight above 0, got {len(data.labels)} of any class")
    return data


def _float32(values: AnyArray) -> torch.Tensor:
    """A copy as a tensor."""
    return torch.tensor(np.asarray(values), dtype=torch.float32)
