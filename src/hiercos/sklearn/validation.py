"""Validation and conversion of what users pass to the estimators: parameters, samples, labels and weights."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_matrix, issparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_consistent_length, validate_data

from hiercos.engine import LabelledVectors
from hiercos.errors import FaultsError, HiercosWarning
from hiercos.nn import Projection, SparseMatrix, csr_tensor
from hiercos.options import kind_fault
from hiercos.taxonomy import (
    AnyArray,
    IntArray,
    LabelCodec,
    Taxonomy,
    TaxonomyError,
    label_array,
    level_names,
    node_classes,
    nodes_from_levels,
    open_taxonomy,
    other_path_sign,
    path_parts,
)

TaxonomyArgument = Taxonomy | str | PathLike[str] | Sequence[str | Sequence[str]]
VALIDATION_OPTIONS = {"accept_sparse": "csr", "dtype": (np.float64, np.float32)}  # other types become float64
NUMPY_ON_TEXTS = "could not convert string to float"  # start of NumPy's message
ROWS_AT_ONCE = 8192  # sparse samples projected at a time
MIN_SAMPLES = 2  # for training
MAX_VALUE = float(np.finfo(np.float32).max)  # models are trained in float32


def taxonomy_argument(source: TaxonomyArgument) -> Taxonomy:
    """The taxonomy described by an argument.

    Pairs whose second names all differ are read as edges (parent, child); for a tree of two levels that is the same.

    Args:
        source: `Taxonomy`; file, or name in the catalogue; list of paths in class order, each a tuple of names or a
            text such as `a > b > c`; or list of edges (parent, child).

    Raises:
        TaxonomyError: a value of another type, or a tree that cannot be built.

    Example:
        >>> taxonomy_argument(["pet > cat", "pet > dog", "vehicle > car"]).class_names
        ('cat', 'dog', 'car')
        >>> taxonomy_argument([("animal", "pet"), ("pet", "cat"), ("pet", "dog")]).height
        3
    """
    if isinstance(source, Taxonomy):
        return source
    if isinstance(source, str | PathLike):
        return open_taxonomy(Path(source))
    if not isinstance(source, Sequence) or not len(source):
        raise TaxonomyError(f"expected a Taxonomy, a file, or a list of paths or edges, got {source!r}")
    for row, path in enumerate(source, 1):
        if not isinstance(path, Sequence) or not all(isinstance(name, str) for name in path):
            raise TaxonomyError(f"row {row}: expected a path, a text or a tuple of names, got {path!r}")
    paths = [path_parts(path) if isinstance(path, str) else tuple(path) for path in source]
    if _are_edges(paths):
        return Taxonomy.from_edges(cast(list[tuple[str, str]], paths))
    return Taxonomy.from_paths(paths)


def _are_edges(paths: Sequence[tuple[str, ...]]) -> bool:
    pairs = all(len(path) == 2 for path in paths)
    return pairs and len({child for _, child in paths}) == len(paths)


KINDS: dict[str, Any] = {
    "method": str,
    "rule": str | None,
    "epochs": int | None,
    "batch_size": int,
    "learning_rate": float | None,
    "weight_decay": float | None,
    "validation_fraction": float | None,
    "calibration_fraction": float,
    "dropout": float,
    "sparse_components": int,
    "warm_start": bool,
    "verbose": bool | int,
    "device": str,
}
MINIMUM = {
    "batch_size": 2,
    "weight_decay": 0,
    "dropout": 0,
    "sparse_components": 1,
}  # `TrainConfig` checks the others


class ParameterError(FaultsError):
    """All parameters of a wrong type or out of range."""


def check_parameters(values: dict[str, Any]) -> None:
    """Raise a `ParameterError` if a parameter has a wrong type or is out of range.

    Example:
        >>> check_parameters({"epochs": 2.5})
        Traceback (most recent call last):
        hiercos.sklearn.validation.ParameterError: epochs: expected an integer or none, got 2.5
    """
    found = [kind_fault(name, values[name], kind) for name, kind in KINDS.items() if name in values]
    if faults := [fault for fault in found if fault]:
        raise ParameterError(faults)
    if values.get("dropout", 0) >= 1:
        raise ParameterError(f"dropout: expected a share below 1, got {values['dropout']}")
    if low := [name for name, least in MINIMUM.items() if values.get(name) is not None and values[name] < least]:
        raise ParameterError(f"{name}: expected at least {MINIMUM[name]}, got {values[name]}" for name in low)


@dataclass(frozen=True)
class LabelledArrays:
    """Training samples.

    Attributes:
        samples: array or SciPy matrix, shape (M, V).
        labels: label index of each sample, a class or C + node, shape (M,).
        weights: weight of each sample, shape (M,), above 0; None for equal weights.
    """

    samples: Any
    labels: IntArray
    weights: AnyArray | None

    def rows(self, chosen: NDArray[np.bool_]) -> "LabelledArrays":
        """The chosen samples."""
        weights = None if self.weights is None else self.weights[chosen]
        return LabelledArrays(self.samples[chosen], self.labels[chosen], weights)

    def vectors(self, projection: Projection | None, *, raw_inputs: bool) -> LabelledVectors:
        """The samples as a data set of the engine.

        Args:
            projection: map from sparse samples to features; None to leave the samples unchanged.
            raw_inputs: whether sparse samples stay sparse.
        """
        return LabelledVectors(self._features(projection, raw_inputs), torch.tensor(self.labels))

    def _features(self, projection: Projection | None, raw_inputs: bool) -> torch.Tensor | SparseMatrix:
        if projection is not None:
            sparse = csr_matrix(self.samples, dtype=np.float32)
            blocks = (sparse[start : start + ROWS_AT_ONCE] for start in range(0, sparse.shape[0], ROWS_AT_ONCE))
            return torch.cat([projection(csr_tensor(block)) for block in blocks])
        if issparse(self.samples):
            return csr_matrix(self.samples, dtype=np.float32) if raw_inputs else _float32(self.samples.toarray())
        return _float32(self.samples)

    def weight_tensor(self) -> torch.Tensor | None:
        """The weights as a float32 tensor, shape (M,); None for equal weights."""
        return None if self.weights is None else _float32(self.weights)


def fitted_projection(samples: Any, most: int, seed: int) -> Projection | None:
    """Projection of sparse samples with more than `most` columns; None for dense or narrower samples.

    Args:
        samples: array or SciPy matrix, shape (M, V).
        most: maximum number of features.
        seed: random seed of the randomised SVD.
    """
    if not issparse(samples) or samples.shape[1] <= most:
        return None
    return Projection.fit(samples, most, seed)


def checked_samples(estimator: Any, X: Any, y: Any, *, reset: bool) -> tuple[Any, AnyArray]:
    """Training samples and labels as arrays, validated as scikit-learn does.

    Args:
        estimator: estimator that stores the number and names of the features.
        X: dense or sparse samples, shape (M, V).
        y: labels of the samples, see `label_array`.
        reset: whether the estimator's number and names of features are set from X, or X is checked against them.

    Returns:
        Samples, an array or a SciPy matrix of shape (M, V), and labels of shape (M,) or (M, L).

    Raises:
        ValueError: input that scikit-learn rejects, fewer than two samples, texts, or values beyond float32.
    """
    options = {**VALIDATION_OPTIONS, "ensure_min_samples": MIN_SAMPLES, "reset": reset}
    labels = None if y is None else label_array(y)
    if labels is not None and labels.ndim == 2 and labels.shape[1] > 1:
        X = validated(estimator, X, **options)
        check_consistent_length(X, labels)
    else:
        X, labels = validated(estimator, X, labels, **options)
        check_classification_targets(labels)
    check_size(X)
    return X, labels


def validated(estimator: Any, *arrays: Any, **options: Any) -> Any:
    """Samples, and labels if given, as `validate_data` of scikit-learn returns them, with a hint for texts.

    Raises:
        ValueError: input that scikit-learn rejects.
    """
    try:
        return validate_data(estimator, *arrays, **options)
    except ValueError as error:
        if NUMPY_ON_TEXTS not in str(error):
            raise
        raise ValueError(
            "X: expected numbers, got texts; put a TfidfVectorizer before this estimator in a scikit-learn Pipeline "
            "(sparse X is taken as it is) or an encoder before columns of categories, or use hiercos train for texts"
        ) from error


def check_size(X: Any) -> None:
    """Raise a ValueError for samples with values beyond float32; X is dense or sparse, of shape (M, F)."""
    if (largest := max(X.max(), -X.min())) > MAX_VALUE:
        raise ValueError(f"X: expected values of a size up to {MAX_VALUE:.1e} (float32), got {largest:.1e}")


def _warn_of_labels_from_one(labels: IntArray, taxonomy: Taxonomy) -> None:
    """Warn of label indices from 1 to C, which are probably classes counted from 1."""
    largest = taxonomy.num_classes
    if labels.min(initial=largest) == 1 and labels.max(initial=0) == largest:
        warnings.warn(
            f"labels from 1 to {largest}: label indices count from 0, so {largest} means the node "
            f"{taxonomy.path_text(0)!r}; subtract 1 if these are classes",
            HiercosWarning,
            stacklevel=4,
        )


def warn_of_names(classes: AnyArray) -> None:
    """Warn of names without a taxonomy, which make a flat tree; of two classes there is no other, and numbers say so.

    Args:
        classes: sorted labels of the classes, shape (C,).
    """
    is_warned = other_path_sign(classes.tolist()) is not None  # by `label_codec`
    if len(classes) > 2 and isinstance(classes[0], str) and not is_warned:
        warnings.warn(
            f"y: labels such as {str(classes[0])!r} are names, and there is no taxonomy, so the tree is flat; pass a "
            "taxonomy, or write paths such as 'pet > cat'",
            HiercosWarning,
            stacklevel=4,  # the caller of `fit`
        )


def labelled(X: Any, y: AnyArray, codec: LabelCodec, sample_weight: Any) -> LabelledArrays:
    """Training samples with label indices; samples of weight 0 and those labelled with the root are dropped.

    Args:
        X: samples, shape (M, V).
        y: labels of the samples, shape (M,) or (M, L).
        codec: converter between labels and classes.
        sample_weight: weights, shape (M,), one number for all, or None.

    Raises:
        ValueError: an unknown label, a weight below 0, or fewer than two samples with a weight above 0.
    """
    labels = codec.read(y)
    if y.dtype.kind in "iu" and np.array_equal(labels, y):
        _warn_of_labels_from_one(labels, codec.taxonomy)
    known = labels < codec.taxonomy.num_classes + codec.taxonomy.num_nodes
    if sample_weight is None and known.all():
        return LabelledArrays(X, labels, None)
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    data = LabelledArrays(X, labels, None if sample_weight is None else weights).rows(known & (weights > 0))
    if len(data.labels) < MIN_SAMPLES:
        raise ValueError(
            f"expected at least {MIN_SAMPLES} samples of a weight above 0, got {len(data.labels)} of any class"
        )
    return data


def _float32(values: AnyArray) -> torch.Tensor:
    """A copy as a float32 tensor."""
    return torch.tensor(np.asarray(values), dtype=torch.float32)


def classes_from_hiclass(y: ArrayLike, taxonomy: Taxonomy) -> IntArray:
    """The class index of each row of 2-D labels, shape (M,); faults as in `nodes_from_levels`."""
    return node_classes(nodes_from_levels(y, taxonomy), taxonomy)


def hiclass_labels(classes: ArrayLike, taxonomy: Taxonomy) -> AnyArray:
    """Class indices as labels of hiclass: the names along each path, shape (M, H), "" beyond a class's depth.

    Example:
        >>> toy = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("plant",)])
        >>> hiclass_labels([1, 2], toy).tolist()
        [['pet', 'dog'], ['plant', '']]
    """
    return level_names(taxonomy.leaves[np.asarray(classes, dtype=np.int64)], taxonomy)
