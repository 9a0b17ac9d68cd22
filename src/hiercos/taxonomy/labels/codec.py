"""Arrays of labels in the user's own form (names, ids, paths, numbers, columns by level), to label indices and back."""

import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Protocol

import numpy as np

from hiercos.errors import DataError, HiercosWarning, UnknownLabelError, row_name
from hiercos.taxonomy.labels.paths import (
    are_paths,
    label_indices,
    label_paths,
    level_names,
    nodes_from_levels,
    nodes_of_labels,
    other_path_sign,
    taxonomy_from_levels,
    taxonomy_of_labels,
)
from hiercos.taxonomy.labels.reader import LabelReader
from hiercos.taxonomy.tree import PATH_SEPARATOR, AnyArray, IntArray, Taxonomy

SOURCE = "y"  # what messages call the labels
FORMS = {1: "of shape (samples,)", 2: "of shape (samples, levels)"}


class LabelConverter(Protocol):
    """Converter of labels in one form to label indices; an unknown label is an error that names its row."""

    def __call__(self, y: AnyArray) -> IntArray:
        """Labels of M samples to label indices, shape (M,)."""


@dataclass(frozen=True, eq=False)
class LabelCodec:
    """Converts between labels in the user's form and the classes of a taxonomy.

    Attributes:
        taxonomy: the tree.
        reader: converter of labels to label indices.
        labels: label of each class in the user's form, shape (C,), or (C, L) for labels with one column per level.
        classes: the labels sorted as scikit-learn sorts them, shape (C,).
        columns: class index of each entry of `classes`, shape (C,).
        flat: whether the taxonomy has one level with all labels because there was no tree.
    """

    taxonomy: Taxonomy
    reader: LabelConverter
    labels: AnyArray
    classes: AnyArray
    columns: IntArray
    flat: bool = False

    def read(self, y: AnyArray) -> IntArray:
        """Label indices (see `label_indices`) of M labels: classes, inner nodes or the root, shape (M,).

        Raises:
            DataError: for labels with another number of dimensions than in the first fit.
            UnknownLabelError: for each unknown label.
        """
        if y.ndim != self.labels.ndim:
            raise DataError(f"{SOURCE}: expected labels {FORMS[self.labels.ndim]} as in the first fit, got {y.shape}")
        return self.reader(y)

    def read_or(self, y: AnyArray, default: int) -> IntArray:
        """Label indices of M labels as by `read`, shape (M,), but `default` for unknown ones."""
        try:
            return self.read(y)
        except DataError:
            found: dict[Any, int] = {}
            for row, key in enumerate(keys := [str(label) for label in y.tolist()]):
                if key not in found:
                    found[key] = self._single(y[row : row + 1], default)
            return np.array([found[key] for key in keys], dtype=np.int64)

    def _single(self, y: AnyArray, default: int) -> int:
        try:
            return int(self.read(y)[0])
        except DataError:
            return default

    def agrees_with(self, other: "LabelCodec") -> bool:
        """Whether both have the same tree and the same labels, in the same order."""
        return self.taxonomy == other.taxonomy and np.array_equal(self.classes, other.classes)


def label_array(y: Any) -> AnyArray:
    """Labels as an array; rows of names of different lengths are padded with "" on the right.

    Example:
        >>> label_array([("pet", "cat"), ("plant",)]).tolist()
        [['pet', 'cat'], ['plant', '']]
    """
    if isinstance(y, list | tuple) and y and all(isinstance(row, list | tuple) for row in y):
        width = max(map(len, y))
        return np.array([[*row, *[""] * (width - len(row))] for row in y], dtype=object)
    labels = np.asarray(y)
    return _single_type(labels) if labels.dtype == object and labels.ndim == 1 else labels


def _single_type(labels: AnyArray) -> AnyArray:
    """Objects that are all integers as an integer array; texts stay; a mixture of texts and others is an error."""
    if labels.size and all(isinstance(label, Integral) and not isinstance(label, bool) for label in labels):
        return np.array(labels.tolist())
    others = [row for row, label in enumerate(labels) if not isinstance(label, str)]
    if 0 < len(others) < len(labels):
        raise DataError(
            f"{SOURCE}: {row_name(row)}: expected a text, as other labels are, got {labels[row]!r}" for row in others
        )
    return labels


def path_texts(y: AnyArray) -> AnyArray:
    """Names by level, shape (M, L), as paths such as `a > b > c`, shape (M,)."""
    return np.array([PATH_SEPARATOR.join(path) for path in label_paths(y)], dtype=object)


def label_codec(y: AnyArray, taxonomy: Taxonomy | None) -> LabelCodec:
    """Build the codec for labels in the form of `y`.

    Args:
        y: labels of M samples, shape (M,) for names, ids, paths or class indices, (M, L) for names by level.
        taxonomy: the tree; None builds it from the paths or levels, or as one level of all labels.

    Raises:
        DataError: for labels that cannot be read, with every fault.
    """
    if y.ndim == 2:
        with _prefixed_faults():
            return _by_level(y, taxonomy or taxonomy_from_levels(y))
    if y.ndim != 1:
        raise DataError(f"{SOURCE}: expected labels of shape (samples,) or (samples, levels), got shape {y.shape}")
    if taxonomy is None and are_paths(y.tolist()):
        taxonomy = taxonomy_of_labels(y, source=SOURCE, row_name=row_name)
    if taxonomy is None:
        _warn_of_other_paths(y)
        return _flat(np.unique(y))
    if y.dtype.kind in "iu" or (y.dtype.kind == "f" and (y == np.floor(y)).all()):
        return _whole_numbers(y.dtype, taxonomy)
    return _texts(y, taxonomy)


# Without a tree: one level of all labels.


def _warn_of_other_paths(y: AnyArray) -> None:
    """Warn about labels such as `a/x`, which look like paths but are read as names."""
    if (sign := other_path_sign(y.tolist())) is not None:
        label = str(y[0])
        path = PATH_SEPARATOR.join(part.strip() for part in label.split(sign))
        warnings.warn(
            f"{SOURCE}: labels such as {label!r} are read as names, so the tree is flat; write {path!r} for a path, or "
            "pass a taxonomy",
            HiercosWarning,
            stacklevel=5,  # the caller of `fit`
        )


def _flat(classes: AnyArray) -> LabelCodec:
    names = [str(label) for label in classes]
    if not all(name.strip() for name in names) or len(set(names)) < len(names):
        names = [f"class {number}: {name}" for number, name in enumerate(names)]
    taxonomy = Taxonomy.from_paths([(name,) for name in names])
    return LabelCodec(taxonomy, KnownLabels(classes), classes, classes, np.arange(len(classes)), flat=True)


@dataclass(frozen=True, eq=False)
class KnownLabels:
    """Converts labels by looking them up among sorted known ones.

    Attributes:
        known: sorted labels, shape (C,).
        order: label index of each known label, shape (C,) or larger; its position by default.
    """

    known: AnyArray
    order: IntArray | None = None

    def __call__(self, y: AnyArray) -> IntArray:
        """Labels (M,) to label indices (M,)."""
        places = np.searchsorted(self.known, y).clip(max=len(self.known) - 1)
        if (wrong := np.flatnonzero(self.known[places] != y)).size:
            _, first = np.unique(y[wrong], return_index=True)
            raise UnknownLabelError(self._fault(y, row) for row in wrong[np.sort(first)])
        return places if self.order is None else self.order[places]

    def _fault(self, y: AnyArray, row: int) -> str:
        label = y[row : row + 1].tolist()[0]
        known = f"{len(self.known)} labels from {self.known[0]} to {self.known[-1]}"
        return f"{SOURCE}: {row_name(row)}: unknown label {label!r}; expected one of the {known}"


# Whole numbers: the ids or names of the classes if these are numbers, else class indices.


def _whole_numbers(kind: np.dtype[Any], taxonomy: Taxonomy) -> LabelCodec:
    """Codec of numbers; inner nodes and the root have one if the classes are given by index (see `label_indices`)."""
    count = taxonomy.num_classes
    numbers = _numbers(_ids(taxonomy)) or _numbers(taxonomy.class_names)
    known = np.arange(count + taxonomy.num_nodes + 1) if numbers is None else np.array(numbers)
    labels = known.astype(kind if known.max() <= _largest(kind) else np.int64)
    order = np.argsort(labels, kind="stable")
    columns = np.argsort(labels[:count], kind="stable")
    reader = KnownLabels(labels[order], label_indices(nodes_of_labels(order, taxonomy), taxonomy))
    return LabelCodec(taxonomy, reader, labels[:count], labels[:count][columns], columns)


def _numbers(form: Sequence[str]) -> list[int] | None:
    """The classes' texts as numbers; None if some are not numbers, or two are equal."""
    if not all(text.strip().isdecimal() for text in form):
        return None
    numbers = [int(text) for text in form]
    return numbers if len(set(numbers)) == len(numbers) and max(numbers) <= np.iinfo(np.int64).max else None


def _largest(kind: np.dtype[Any]) -> int:
    """Largest number up to which a type holds all whole numbers."""
    return int(np.iinfo(kind).max) if kind.kind in "iu" else 2 ** (np.finfo(kind).nmant + 1)


# Texts: names, ids or paths, converted back in the user's own spelling.


def _texts(y: AnyArray, taxonomy: Taxonomy) -> LabelCodec:
    reader = TextLabels(taxonomy)
    texts = [str(label) for label in y]
    indices = reader(np.array(texts, dtype=object)).tolist()
    spelled = {label: text for label, text in zip(indices, texts, strict=True) if label < taxonomy.num_classes}
    form = next(_label_forms(taxonomy, spelled))
    labels = np.array([spelled.get(label, text) for label, text in enumerate(form)], dtype=object)
    columns = np.argsort(labels, kind="stable")
    if y.dtype.kind == "U":
        labels = labels.astype(str)
    return LabelCodec(taxonomy, reader, labels, labels[columns], columns)


@dataclass(frozen=True, eq=False)
class TextLabels:
    """Converts names, ids and paths, with `LabelReader`."""

    taxonomy: Taxonomy

    def __call__(self, y: AnyArray) -> IntArray:
        """Labels (M,) to label indices (M,)."""
        nodes = LabelReader(self.taxonomy).read([str(label) for label in y], source=SOURCE, inner=True)
        return label_indices(nodes, self.taxonomy)


def _label_forms(taxonomy: Taxonomy, spelled: dict[int, str]) -> Iterator[Sequence[str]]:
    """Distinct texts for all classes (ids, names or paths); first the forms that match the user's spelling."""
    forms = [form for form in (_ids(taxonomy), taxonomy.class_names, _paths(taxonomy)) if _all_distinct(form)]
    yield from (form for form in forms if all(form[label] == text for label, text in spelled.items()))
    yield from (form for form in reversed(forms) if _all_distinct({**dict(enumerate(form)), **spelled}.values()))
    raise DataError("two classes have the same path and no ids: expected classes with distinct paths or ids")


def _all_distinct(labels: Iterable[str]) -> bool:
    counts = Counter(labels)
    return "" not in counts and max(counts.values()) == 1


def _ids(taxonomy: Taxonomy) -> list[str]:
    return [taxonomy.ids[leaf] if taxonomy.ids else "" for leaf in taxonomy.leaves]


def _paths(taxonomy: Taxonomy) -> list[str]:
    return [taxonomy.path_text(int(leaf)) for leaf in taxonomy.leaves]


# A column per level.


def _by_level(y: AnyArray, taxonomy: Taxonomy) -> LabelCodec:
    reader = LevelLabels(taxonomy)
    labels = level_names(taxonomy.leaves, taxonomy)
    labels = np.pad(labels, ((0, 0), (0, max(0, y.shape[1] - taxonomy.height))), constant_values="")
    indices = reader(y)
    seen, rows = indices[indices < taxonomy.num_classes], y[indices < taxonomy.num_classes]
    labels[seen[::-1], : y.shape[1]] = rows[::-1]  # in the user's spelling, blanks included; the first row wins
    if y.dtype.kind == "U":
        labels = labels.astype(str)
    elif len(np.unique(seen)) == taxonomy.num_classes:
        labels = labels.astype(y.dtype)
    paths = np.array(_paths(taxonomy), dtype=object)
    columns = np.argsort(paths, kind="stable")
    return LabelCodec(taxonomy, reader, labels, paths[columns], columns)


@dataclass(frozen=True, eq=False)
class LevelLabels:
    """Converts labels with one column per level."""

    taxonomy: Taxonomy

    def __call__(self, y: AnyArray) -> IntArray:
        """Labels (M, L) to label indices (M,)."""
        with _prefixed_faults():
            return label_indices(nodes_from_levels(y, self.taxonomy, inner=True), self.taxonomy)


@contextmanager
def _prefixed_faults() -> Iterator[None]:
    """Prefix faults of labels by level with the name of the labels, once."""
    try:
        yield
    except DataError as error:
        raise type(error)(f"{SOURCE}: {fault.removeprefix(f'{SOURCE}: ')}" for fault in error.faults) from error
