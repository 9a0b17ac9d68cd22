"""What users pass to the estimators: parameters, samples, labels and weights, checked and converted."""

import warnings
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_matrix, issparse
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_consistent_length, validate_data

from hiercos.checks import kind_fault
from hiercos.data import (
    PATH_COLUMN,
    ColumnKinds,
    Dataset,
    Inputs,
    Purpose,
    SparseVectors,
    Vectors,
    as_inputs,
    check_inputs,
    checked_kinds,
    groups_of,
    guessed_kinds,
    table_cells,
    times_of,
    weights_of,
)
from hiercos.errors import DataError, FaultsError, HiercosWarning, row_name
from hiercos.taxonomy import (
    AnyArray,
    IntArray,
    LabelCodec,
    Taxonomy,
    TaxonomyError,
    are_sets,
    label_array,
    label_indices,
    level_names,
    node_classes,
    nodes_from_levels,
    open_taxonomy,
    other_path_sign,
    path_parts,
    single_nodes,
)

TaxonomyArgument = Taxonomy | str | PathLike[str] | Sequence[str | Sequence[str]]
VALIDATION_OPTIONS = {"accept_sparse": "csr", "dtype": (np.float64, np.float32)}  # other types become float64
NUMPY_ON_TEXTS = "could not convert string to float"  # start of NumPy's message
TEXT_COLUMN = "text"
MIN_SAMPLES = 2  # for training
MAX_SEED = 2**31 - 1
MAX_VALUE = float(np.finfo(np.float32).max)  # models are trained in float32


def taxonomy_argument(source: TaxonomyArgument) -> Taxonomy:
    """The taxonomy described by an argument.

    Pairs whose second names all differ are read as edges (parent, child); for a tree of two levels that is the same.

    Args:
        source: `Taxonomy`; file, or name in the catalogue; list of paths in class order, each a tuple of names or a
            text such as `a > b > c`; or list of edges (parent, child).

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
    "encoder": str | None,
    "columns": Mapping[str, Any] | None,
    "verbose": bool | int,
    "device": str,
}


class ParameterError(FaultsError):
    """All parameters of a wrong type or out of range."""


def check_parameters(values: dict[str, Any]) -> None:
    """Raise a `ParameterError` if a parameter that is no setting has a wrong type; `Settings` checks the others.

    Example:
        >>> check_parameters({"device": 2})
        Traceback (most recent call last):
        hiercos.sklearn.inputs.ParameterError: device: expected a text, got 2
    """
    found = [kind_fault(name, values[name], kind) for name, kind in KINDS.items() if name in values]
    if faults := [fault for fault in found if fault]:
        raise ParameterError(faults)


def seed_of(random_state: Any) -> int:
    """The seed: a number as it is, 0 for None, or a number that a generator draws."""
    if random_state is None:
        return 0
    if isinstance(random_state, int | np.integer) and 0 <= random_state <= MAX_SEED:
        return int(random_state)
    return int(check_random_state(random_state).randint(MAX_SEED))


def training_inputs(
    estimator: Any, X: Any, y: Any, *, reset: bool = True, columns: ColumnKinds | None = None
) -> tuple[Inputs, AnyArray]:
    """Training samples and labels, validated as scikit-learn does.

    Args:
        X: dense or sparse samples, shape (M, F), M texts, or a DataFrame or dict of columns.
        y: labels of the samples, see `label_array`.
        reset: whether the estimator's number and names of features are set from X, or X is checked against them.
        columns: kinds of columns of X by name, of which the others are guessed; None for none.

    Returns:
        Samples, and labels of shape (M,) or (M, L).
    """
    labels = None if y is None else label_array(y)
    raw = raw_inputs(X, columns)
    if raw is not None and labels is not None:
        check_inputs(raw, source="X")
        check_consistent_length(raw, labels)
        if len(raw) < MIN_SAMPLES:
            raise ValueError(f"X: expected at least {MIN_SAMPLES} samples, got {len(raw)}")
        return raw, labels
    options = {**VALIDATION_OPTIONS, "ensure_min_samples": MIN_SAMPLES, "reset": reset}
    if labels is not None and (are_sets(labels) or (labels.ndim == 2 and labels.shape[1] > 1)):
        X = validated(estimator, X, **options)
        check_consistent_length(X, labels)
    else:
        X, labels = validated(estimator, X, labels, **options)
        check_classification_targets(labels)
    return vectors(X), labels


def known_inputs(estimator: Any, X: Any, columns: ColumnKinds | None = None) -> Inputs:
    """Samples for a fitted estimator, of the kind that it was trained on, such as `columns`; see `training_inputs`."""
    raw = raw_inputs(X) if columns is None else as_inputs(X, "columns", columns=columns)
    if raw is not None:
        check_inputs(raw, source="X")
        return raw
    return vectors(validated(estimator, X, **VALIDATION_OPTIONS, reset=False))


def raw_inputs(X: Any, columns: ColumnKinds | None = None) -> Inputs | None:
    """Texts, images by path, or columns, from a list or an array of texts, a DataFrame or a dict; None for numbers.

    The kinds of columns are guessed but for the given ones. One column called `text` or `path` has texts or images.

    Example:
        >>> raw_inputs(["a cat", "a dog"]).kind, raw_inputs([[1.0, 2.0]])
        ('texts', None)
        >>> raw_inputs({"title": ["a cat", "a dog"], "price": [9.5, None]}).kinds
        {'title': 'text', 'price': 'number'}
    """
    if issparse(X):  # some of its formats are dicts
        return None
    if isinstance(X, Mapping) or getattr(X, "columns", None) is not None:
        cells = table_cells(X)
        if not (isinstance(X, Mapping) or columns or not _are_numbers(X)):
            return None
        if not columns and len(cells) == 1 and {*cells} <= {TEXT_COLUMN, PATH_COLUMN}:
            ((name, items),) = cells.items()
            return as_inputs(list(items), "texts" if name == TEXT_COLUMN else "images")
        kinds = guessed_kinds(cells, {**dict.fromkeys(cells, ""), **(columns or {})})
        return as_inputs(cells, "columns", columns=checked_kinds(kinds, "X"))
    if isinstance(X, str) or getattr(X, "ndim", 1) != 1 or not hasattr(X, "__iter__"):
        return None
    items = list(X)
    texts = [isinstance(item, str) for item in items]
    if any(texts) and not all(texts):
        row = texts.index(False)
        raise DataError(f"X: {row_name(row)}: expected a text, as other rows are, got {items[row]!r}")
    return as_inputs(items, "texts") if any(texts) else None


def _are_numbers(X: Any) -> bool:
    """Whether the columns of a DataFrame are all of numbers and none has a missing cell, so that it is an array."""
    array = X.to_numpy()
    return bool(array.dtype.kind in "fiub" and not np.isnan(array).any())


def vectors(X: Any) -> Inputs:
    """Vectors from an array or a SciPy matrix, shape (M, F), as float32; a ValueError for values beyond it."""
    if (largest := max(X.max(), -X.min())) > MAX_VALUE:
        raise ValueError(f"X: expected values of a size up to {MAX_VALUE:.1e} (float32), got {largest:.1e}")
    return SparseVectors(csr_matrix(X)) if issparse(X) else Vectors(np.array(X, dtype=np.float32))


def validated(estimator: Any, *arrays: Any, **options: Any) -> Any:
    """Samples, and labels if given, as `validate_data` of scikit-learn returns them, with a hint for texts."""
    try:
        return validate_data(estimator, *arrays, **options)
    except ValueError as error:
        if NUMPY_ON_TEXTS not in str(error):
            raise
        raise ValueError(
            "X: expected numbers, got texts; put a TfidfVectorizer before this estimator in a scikit-learn Pipeline "
            "(sparse X is taken as it is) or an encoder before columns of categories, or use hiercos train for texts"
        ) from error


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
            stacklevel=3,  # the caller of `fit`
        )


def labelled_dataset(
    inputs: Inputs,
    y: AnyArray,
    codec: LabelCodec,
    sample_weight: Any = None,
    *,
    groups: Any = None,
    purpose: Purpose = "train",
) -> Dataset:
    """Training samples without a split; those of weight 0 are left out.

    Args:
        y: labels of the samples, shape (M,) or (M, L).
        sample_weight: weights, shape (M,), one number for all, or None for those of a column of X, if it has one.
        groups: group of each sample, shape (M,), or None for those of a column of X, if it has one.
        purpose: purpose of the data, see `Dataset`.
    """
    sets = codec.read_sets(y) if are_sets(y) else None
    nodes = codec.read(y) if sets is None else single_nodes(sets)
    labels = label_indices(nodes, codec.taxonomy)
    if y.dtype.kind in "iu" and np.array_equal(labels, y):
        _warn_of_labels_from_one(labels, codec.taxonomy)
    weights, kept = weights_of(inputs), np.ones(len(nodes), dtype=bool)
    groups = groups_of(inputs) if groups is None else np.asarray(groups).astype(str)
    check_consistent_length(y, groups)
    if sample_weight is not None:
        weights = _check_sample_weight(
            sample_weight, np.empty((len(nodes), 1)), dtype=np.float64, ensure_non_negative=True
        )
        kept = weights > 0
    known = kept & (nodes >= 0 if sets is None else (sets >= 0).any(axis=1))
    if known.sum() < MIN_SAMPLES:
        raise ValueError(f"expected at least {MIN_SAMPLES} samples of a weight above 0, got {known.sum()} of any class")
    split = np.full(len(nodes), "")
    together = {"label_sets": sets, "weights": weights, "groups": groups, "times": times_of(inputs)}
    dataset = Dataset("X", codec.taxonomy, inputs, nodes, split, **together, purpose=purpose)
    return dataset if kept.all() else dataset.take(np.flatnonzero(kept))


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
