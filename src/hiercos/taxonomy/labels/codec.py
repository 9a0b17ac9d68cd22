"""Arrays of labels in the user's own form (names, ids, paths, numbers, columns by level), to nodes and back.

With columns by level there is one row per sample, blank on the right beyond the label's depth. hiclass takes and
returns labels in this form; they are plain arrays, so hiclass is not imported.
"""

import math
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cached_property, partial
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hiercos.errors import DataError, HiercosWarning, RowName, UnknownLabelError, row_name
from hiercos.taxonomy.labels.reader import ROOT_LABEL, SET_SIGN, LabelReader, nodes_of_labels, path_parts
from hiercos.taxonomy.tree import PATH_SEPARATOR, PATH_SIGN, AnyArray, IntArray, Taxonomy

SOURCE = "y"  # what messages call the labels
FORMS = {1: "of shape (samples,)", 2: "of shape (samples, levels)"}
OTHER_SIGNS = ("/", "\\", "|", "::", ";")  # signs that other programs put between the names of a path
PANDAS_BLANKS = ("NAType", "NaTType")  # type names of pandas.NA and NaT, so that pandas is not imported


def are_paths(labels: Iterable[object]) -> bool:
    """Whether some label is a text with a name on both sides of a `>`; `>50K` is a name.

    Example:
        >>> are_paths(["pet>cat", "car"]), are_paths([">50K", "<=50K"])
        (True, False)
    """
    return any(
        isinstance(label, str) and PATH_SIGN in label and sum(map(bool, path_parts(label))) > 1 for label in labels
    )


def set_parts(text: str) -> list[str]:
    """Paths in a text that separates them, such as `a > b | c > d`; the text alone if some part is no path.

    Example:
        >>> set_parts("pet > cat | vehicle > car"), set_parts("fruit | vegetables")
        (['pet > cat', 'vehicle > car'], ['fruit | vegetables'])
    """
    parts = [part.strip() for part in text.split(SET_SIGN)]
    return parts if len(parts) > 1 and all(are_paths([part]) for part in parts) else [text]


def other_path_sign(labels: Iterable[object]) -> str | None:
    """A sign other than `>` that splits every label into names, some labels sharing the first; None if there is none.

    Example:
        >>> other_path_sign(["pet/cat", "pet/dog", "vehicle/car"]), other_path_sign(["cat", "dog/wolf"])
        ('/', None)
    """
    texts = {label for label in labels if isinstance(label, str)}
    for sign in OTHER_SIGNS:
        split = [[part.strip() for part in text.split(sign)] for text in texts]
        are_split = split and all(len(parts) > 1 and all(parts) for parts in split)
        if are_split and len({parts[0] for parts in split}) < len(split):
            return sign
    return None


def taxonomy_of_labels(
    labels: Sequence[str] | AnyArray, *, source: str, row_name: RowName, path_form: str = "labels such as 'a > b > c'"
) -> Taxonomy:
    """Build the tree of the distinct paths among the labels; its leaves are the classes, in sorted order.

    A path that continues in another label is an inner node.

    Args:
        labels: M paths such as `a > b > c`.
        source: name of the data, for messages.
        row_name: function from the index of a sample to its name in messages.
        path_form: description of labels that are paths, for the message if there are none.
    """
    first_rows: dict[tuple[str, ...], int] = {}
    for row, label in enumerate(labels):
        for part in set_parts(str(label)):
            first_rows.setdefault(path_parts(part), row)
    if not are_paths(map(str, labels)):
        raise DataError(
            f"{source}: the labels (such as {str(labels[0])!r}) are not paths: "
            f"expected a taxonomy (--taxonomy FILE), or {path_form}"
        )
    faults = [
        f"{source}: {row_name(row)}: expected a name at every step of the path, got {str(labels[row])!r}"
        for path, row in first_rows.items()
        if not all(path)
    ]
    if faults:
        raise DataError(faults)
    return Taxonomy.from_paths(_longest(first_rows.keys() - {(ROOT_LABEL,)}))


def _longest(paths: Set[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Paths that do not continue in another, in sorted order."""
    return sorted(paths - {path[:end] for path in paths for end in range(len(path))} - {()})


# A column per level.


def taxonomy_from_levels(y: ArrayLike, *, source: str = "") -> Taxonomy:
    """Build the tree of the distinct rows of 2-D labels; its leaves are the classes, in sorted order of their paths.

    Args:
        y: names by level, shape (M, L), "", None or nan to the right of a sample's last level; numbers are converted
            to text.
        source: name of the labels, for messages; none by default.

    Example:
        >>> taxonomy_from_levels([["pet", "dog"], ["pet", "cat"], ["plant", ""], ["pet", "dog"]]).class_names
        ('cat', 'dog', 'plant')
    """
    leaves = _longest(set(label_paths(y, source=source)))
    if not leaves:
        raise DataError(_prefix(source) + "expected a name in at least one row of the labels, got blanks only")
    return Taxonomy.from_paths(leaves)


def nodes_from_levels(
    y: ArrayLike, taxonomy: Taxonomy, *, inner: bool = False, source: str = "", row_name: RowName = row_name
) -> IntArray:
    """Node of each row of 2-D labels, shape (M,); -1, the root, for a blank row.

    Args:
        y: names by level, as in `taxonomy_from_levels`.
        taxonomy: the tree.
        inner: whether a row may end at an inner node, or be blank.
        source: name of the labels, for messages; none by default.
        row_name: function from the index of a row to its name in messages.
    """
    texts = [PATH_SEPARATOR.join(path) for path in label_paths(y, source=source)]
    return LabelReader(taxonomy).read_paths(texts, source=source, row_name=row_name, inner=inner)


def level_names(nodes: ArrayLike, taxonomy: Taxonomy) -> AnyArray:
    """Names along the path of each node, shape (M, H), "" beyond its depth.

    Example:
        >>> toy = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("plant",)])
        >>> level_names([3, 1, 0], toy).tolist()
        [['pet', 'dog'], ['plant', ''], ['pet', '']]
    """
    names = np.array([*taxonomy.names, ""], dtype=object)  # index -1 is ""
    labels: AnyArray = names[taxonomy.path_table(nodes)]
    return labels


def label_paths(y: ArrayLike, *, source: str = "") -> list[tuple[str, ...]]:
    """Path of each row of 2-D labels."""
    cells = np.asarray(y, dtype=object)
    if cells.ndim != 2 or not cells.size:
        raise DataError(f"{_prefix(source)}expected labels of shape (samples, levels), got shape {cells.shape}")
    paths: list[tuple[str, ...]] = []
    faults: dict[tuple[str, ...], str] = {}
    for row, values in enumerate(cells.tolist()):
        names = [_text(value) for value in values]
        depth = max((level for level, name in enumerate(names, 1) if name), default=0)
        paths.append(tuple(names[:depth]))
        if not all(paths[-1]):
            fault = f"{_prefix(source)}{row_name(row)}: expected names from the left without a blank, got {names}"
            faults.setdefault(paths[-1], fault)
    if faults:
        raise DataError(faults.values())
    return paths


def _prefix(source: str) -> str:
    return f"{source}: " if source else ""


def _text(value: object) -> str:
    """A cell as text, "" for a missing value (None, nan, pandas.NA or NaT)."""
    missing = value is None or (isinstance(value, float) and math.isnan(value)) or type(value).__name__ in PANDAS_BLANKS
    return "" if missing else str(value).strip()


def path_texts(y: AnyArray) -> AnyArray:
    """Names by level, shape (M, L), as paths such as `a > b > c`, shape (M,)."""
    return np.array([PATH_SEPARATOR.join(path) for path in label_paths(y)], dtype=object)


def label_array(y: Any) -> AnyArray:
    """Labels as an array; rows of names of different lengths are padded with "" on the right, sets become tuples.

    Example:
        >>> label_array([("pet", "cat"), ("plant",)]).tolist()
        [['pet', 'cat'], ['plant', '']]
    """
    is_list = isinstance(y, Sequence) or getattr(y, "ndim", 0) == 1  # such as a Series
    if is_list and len(y) and all(isinstance(row, Set) for row in y):
        sets = np.empty(len(y), dtype=object)
        sets[:] = [tuple(sorted(row, key=str)) for row in y]
        return sets
    if isinstance(y, list | tuple) and y and all(isinstance(row, list | tuple) for row in y):
        width = max(map(len, y))
        return np.array([[*row, *[""] * (width - len(row))] for row in y], dtype=object)
    labels = np.asarray(y)
    if labels.ndim == 1 and labels.dtype.kind in "UO":
        parts = [set_parts(label) if isinstance(label, str) else [label] for label in labels.tolist()]
        if any(len(each) > 1 for each in parts):
            return label_array([set(each) for each in parts])
    return _single_type(labels) if labels.dtype == object and labels.ndim == 1 else labels


def are_sets(labels: AnyArray) -> bool:
    """Whether labels are several of each sample, the tuples of `label_array`."""
    return labels.dtype == object and labels.ndim == 1 and bool(len(labels)) and isinstance(labels[0], tuple)


def _members(sets: AnyArray) -> tuple[AnyArray, RowName]:
    """The labels of all sets, one after the other, and a function to the name of the sample that has each."""
    rows = np.repeat(np.arange(len(sets)), [len(labels) for labels in sets]).tolist()
    return label_array([label for labels in sets for label in labels]), lambda place: row_name(rows[place])


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


@dataclass(frozen=True, eq=False)
class LabelCodec:
    """Converts labels in the user's form to the nodes of a taxonomy, and its classes to labels."""

    taxonomy: Taxonomy  # the tree
    # function from labels to nodes, -1 for the root; an unknown label is an error that names its row by `row_name`
    reader: Callable[..., IntArray]
    # label of each class in the user's form, shape (C,), or (C, L) for labels with one column per level
    labels: AnyArray
    flat: bool = False  # whether the taxonomy has one level with all labels because there was no tree

    @cached_property
    def classes(self) -> AnyArray:
        """The labels, or the paths of labels by level, sorted as scikit-learn sorts them, shape (C,)."""
        return self._keys[self.columns]

    @cached_property
    def columns(self) -> IntArray:
        """Class index of each entry of `classes`, shape (C,)."""
        return np.argsort(self._keys, kind="stable")

    @property
    def _keys(self) -> AnyArray:
        return self.labels if self.labels.ndim == 1 else path_texts(self.labels)

    def read(self, y: AnyArray, row_name: RowName = row_name) -> IntArray:
        """Nodes of M labels: classes, inner nodes or the root, shape (M,)."""
        if y.ndim != self.labels.ndim:
            raise DataError(f"{SOURCE}: expected labels {FORMS[self.labels.ndim]} as in the first fit, got {y.shape}")
        return self.reader(y, row_name=row_name)

    def read_sets(self, y: AnyArray) -> IntArray:
        """Nodes of several labels of M samples, shape (M, K), -1 for none."""
        sizes = np.array([len(labels) for labels in y])
        nodes = self.read(*_members(y))
        sets = np.full((len(y), max(1, sizes.max(initial=0))), -1)
        sets[np.arange(sets.shape[1]) < sizes[:, None]] = nodes
        return sets

    def may_be_classes(self, y: AnyArray) -> NDArray[np.bool_]:
        """Mask of the labels that are not known to be inner nodes or the root, shape (M,)."""
        try:
            return self.taxonomy.classes_of(self.read(y)) >= 0
        except DataError:
            if len(y) == 1:
                return np.ones(1, dtype=bool)
            keys = [str(label) for label in y.tolist()]
            first = {key: row for row, key in reversed(list(enumerate(keys)))}
            found = {key: bool(self.may_be_classes(y[row : row + 1])[0]) for key, row in first.items()}
            return np.array([found[key] for key in keys])


def label_codec(y: AnyArray, taxonomy: Taxonomy | None, row_name: RowName = row_name) -> LabelCodec:
    """Build the codec for labels in the form of `y`.

    Args:
        y: labels of M samples, shape (M,) for names, ids, paths or class indices, or tuples of these for several labels
            of a sample; (M, L) for names by level.
        taxonomy: the tree; None builds it from the paths or levels, or as one level of all labels.
        row_name: function from the index of a label to the name of its sample in messages.
    """
    if are_sets(y):
        labels, name = _members(y)
        return label_codec(labels, taxonomy, name)
    if y.ndim == 2:
        return _by_level(y, taxonomy or taxonomy_from_levels(y, source=SOURCE), row_name)
    if y.ndim != 1:
        raise DataError(f"{SOURCE}: expected labels of shape (samples,) or (samples, levels), got shape {y.shape}")
    if taxonomy is None and are_paths(y.tolist()):
        taxonomy = taxonomy_of_labels(y, source=SOURCE, row_name=row_name)
    if taxonomy is None:
        _warn_of_other_paths(y)
        return _flat(np.unique(y))
    if y.dtype.kind in "iu" or (y.dtype.kind == "f" and (y == np.floor(y)).all()):
        return _whole_numbers(y.dtype, taxonomy)
    return _texts(y, taxonomy, row_name)


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
    return LabelCodec(taxonomy, partial(_read_known, known=classes, nodes=taxonomy.leaves), classes, flat=True)


def _read_known(y: AnyArray, known: AnyArray, nodes: IntArray, row_name: RowName) -> IntArray:
    """Labels (M,) to nodes (M,) by looking them up among sorted known ones (K,), whose nodes are given, (K,)."""
    places = np.searchsorted(known, y).clip(max=len(known) - 1)
    if (wrong := np.flatnonzero(known[places] != y)).size:
        _, first = np.unique(y[wrong], return_index=True)
        labels = f"{len(known)} labels from {known[0]} to {known[-1]}"
        raise UnknownLabelError(
            f"{SOURCE}: {row_name(row)}: unknown label {y[row : row + 1].tolist()[0]!r}; expected one of the {labels}"
            for row in wrong[np.sort(first)].tolist()
        )
    found: IntArray = nodes[places]
    return found


# Whole numbers: the ids or names of the classes if these are numbers, else class indices.


def _whole_numbers(kind: np.dtype[Any], taxonomy: Taxonomy) -> LabelCodec:
    """Codec of numbers; inner nodes and the root have one if the classes are given by index (see `label_indices`)."""
    numbers = _numbers(_ids(taxonomy)) or _numbers(taxonomy.class_names)
    indices = np.arange(taxonomy.num_classes + taxonomy.num_nodes + 1)
    known = indices if numbers is None else np.array(numbers)
    labels = known.astype(kind if known.max() <= _largest(kind) else np.int64)
    order = np.argsort(labels, kind="stable")
    reader = partial(_read_known, known=labels[order], nodes=nodes_of_labels(order, taxonomy))
    return LabelCodec(taxonomy, reader, labels[: taxonomy.num_classes])


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


def _texts(y: AnyArray, taxonomy: Taxonomy, row_name: RowName) -> LabelCodec:
    reader = partial(_read_texts, taxonomy=taxonomy)
    classes = taxonomy.classes_of(reader(y, row_name=row_name)).tolist()
    spelled = {label: str(text) for label, text in zip(classes, y, strict=True) if label >= 0}
    form = next(_label_forms(taxonomy, spelled))
    labels = np.array([spelled.get(label, text) for label, text in enumerate(form)], dtype=object)
    return LabelCodec(taxonomy, reader, labels.astype(str) if y.dtype.kind == "U" else labels)


def _read_texts(y: AnyArray, taxonomy: Taxonomy, row_name: RowName) -> IntArray:
    """Names, ids and paths (M,) to nodes (M,)."""
    return LabelReader(taxonomy).read([str(label) for label in y], source=SOURCE, row_name=row_name, inner=True)


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


# Names by level.


def _by_level(y: AnyArray, taxonomy: Taxonomy, row_name: RowName) -> LabelCodec:
    reader = partial(nodes_from_levels, taxonomy=taxonomy, inner=True, source=SOURCE)
    labels = level_names(taxonomy.leaves, taxonomy)
    labels = np.pad(labels, ((0, 0), (0, max(0, y.shape[1] - taxonomy.height))), constant_values="")
    classes = taxonomy.classes_of(reader(y, row_name=row_name))
    seen, rows = classes[classes >= 0], y[classes >= 0]
    labels[seen[::-1], : y.shape[1]] = rows[::-1]  # in the user's spelling, blanks included; the first row wins
    if y.dtype.kind == "U":
        labels = labels.astype(str)
    elif len(np.unique(seen)) == taxonomy.num_classes:
        labels = labels.astype(y.dtype)
    return LabelCodec(taxonomy, reader, labels)
