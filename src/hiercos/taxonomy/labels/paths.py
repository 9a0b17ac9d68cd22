"""Labels that are paths, as texts (`a > b > c`) or with one column per level, and the taxonomy built from them.

With columns there is one row per sample, blank on the right beyond the label's depth. hiclass takes and returns labels
in this form; they are plain arrays, so hiclass is not imported.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hiercos.errors import DataError, RowName, UnknownLabelError
from hiercos.taxonomy.checks import same_form
from hiercos.taxonomy.tree import PATH_SIGN, AnyArray, IntArray, Taxonomy

TextObjects = NDArray[Any]  # dtype object, holding texts
PANDAS_BLANKS = ("NAType", "NaTType")  # type names of pandas.NA and NaT, so that pandas is not imported


def node_classes(nodes: ArrayLike, taxonomy: Taxonomy) -> IntArray:
    """Class index of each node, same shape.

    Raises:
        ValueError: naming the first node that is not a class.

    Example:
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> node_classes([4, 2], t).tolist()
        [2, 0]
    """
    indices = label_indices(nodes, taxonomy)
    inner = indices[indices >= taxonomy.num_classes] - taxonomy.num_classes
    if inner.size:
        raise ValueError(f"{taxonomy.path_text(int(inner[0]))!r} is an inner node: expected a class, which is a leaf")
    return indices


def label_indices(nodes: ArrayLike, taxonomy: Taxonomy) -> IntArray:
    """Nodes as label indices, same shape: the class index of a leaf, C + node for an inner node, C + N for the root.

    Data sets, losses and metrics take labels in this form, which leaves class indices unchanged.

    Example:
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> label_indices([4, 2, 0, -1], t).tolist()  # car, cat, pet, and the root
        [2, 0, 3, 8]
    """
    of_node = taxonomy.num_classes + np.arange(taxonomy.num_nodes + 1)  # the last entry is the root's, index -1
    of_node[taxonomy.leaves] = np.arange(taxonomy.num_classes)
    indices: IntArray = of_node[np.asarray(nodes, dtype=np.int64)]
    return indices


def nodes_of_labels(labels: ArrayLike, taxonomy: Taxonomy) -> IntArray:
    """Node of each label index, same shape: the inverse of `label_indices`, -1 for the root.

    Example:
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> nodes_of_labels([2, 0, 3, 8], t).tolist()
        [4, 2, 0, -1]
    """
    of_label = np.concatenate([taxonomy.leaves, np.arange(taxonomy.num_nodes), [-1]])
    nodes: IntArray = of_label[np.asarray(labels, dtype=np.int64)]
    return nodes


def inner_label_notes(labels: IntArray, taxonomy: Taxonomy, *, source: str) -> list[str]:
    """A note about how many labels are inner nodes or the root, for the user; none if all are classes.

    Args:
        labels: label indices, see `label_indices`, shape (M,).
        taxonomy: the tree.
        source: name of the data.
    """
    inner = int((labels >= taxonomy.num_classes).sum())
    if not inner:
        return []
    return [
        f"{source}: {inner} of {len(labels)} samples are labelled with an inner node; "
        "metrics of a ranking of the classes leave them out."
    ]


ROOT_LABEL = "root"  # label of a sample that may be of any class, unless a node has this name


def path_parts(text: str) -> tuple[str, ...]:
    """Names of a path such as `a > b > c`, with any space around the separators, in NFC.

    Example:
        >>> path_parts("pet>  cat")
        ('pet', 'cat')
    """
    return tuple(part.strip() for part in same_form(text).split(PATH_SIGN))


def are_paths(labels: Iterable[object]) -> bool:
    """Whether some label is a text with a name on both sides of a `>`; `>50K` is a name.

    Example:
        >>> are_paths(["pet>cat", "car"]), are_paths([">50K", "<=50K"])
        (True, False)
    """
    return any(
        isinstance(label, str) and PATH_SIGN in label and sum(map(bool, path_parts(label))) > 1 for label in labels
    )


OTHER_SIGNS = ("/", "\\", "|", "::", ";")  # signs that other programs put between the names of a path


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

    Raises:
        DataError: if no label is a path, or for each one that has an empty name.
    """
    first_rows: dict[tuple[str, ...], int] = {}
    for row, label in enumerate(labels):
        first_rows.setdefault(path_parts(str(label)), row)
    if not are_paths(map(str, labels)):
        raise DataError(
            f"{source}: the labels (such as {str(labels[0])!r}) are not paths: "
            f"expected a taxonomy (--taxonomy FILE), or {path_form}"
        )
    inner = {path[:end] for path in first_rows for end in range(1, len(path))}
    faults = [
        f"{source}: {row_name(row)}: expected a name at every step of the path, got {str(labels[row])!r}"
        for path, row in first_rows.items()
        if not all(path)
    ]
    if faults:
        raise DataError(faults)
    return Taxonomy.from_paths(sorted(first_rows.keys() - inner - {(ROOT_LABEL,)}))


def taxonomy_from_levels(y: ArrayLike) -> Taxonomy:
    """Build the tree of the distinct rows of 2-D labels; its leaves are the classes, in sorted order of their paths.

    Args:
        y: names by level, shape (M, L), "", None or nan to the right of a sample's last level; numbers are converted
            to text.

    Raises:
        DataError: for another shape, for every distinct row that has a blank in between, and if all rows are blank.

    Example:
        >>> taxonomy_from_levels([["pet", "dog"], ["pet", "cat"], ["plant", ""], ["pet", "dog"]]).class_names
        ('cat', 'dog', 'plant')
    """
    paths = set(label_paths(y))
    leaves = paths - {path[:end] for path in paths for end in range(len(path))} - {()}
    if not leaves:
        raise DataError("expected a name in at least one row of the labels, got blanks only")
    return Taxonomy.from_paths(sorted(leaves))


def nodes_from_levels(y: ArrayLike, taxonomy: Taxonomy, *, inner: bool = False) -> IntArray:
    """Node of each row of 2-D labels, shape (M,); -1, the root, for a blank row.

    Args:
        y: names by level, as in `taxonomy_from_levels`.
        taxonomy: the tree.
        inner: whether a row may end at an inner node, or be blank.

    Raises:
        DataError: as `taxonomy_from_levels`.
        UnknownLabelError: for every distinct row that is not a class (or node) of the taxonomy.
    """
    nodes = [*(range(taxonomy.num_nodes) if inner else ()), *taxonomy.leaves.tolist()]  # of equal paths, a class wins
    known = {tuple(taxonomy.names[step] for step in taxonomy.path(node)): node for node in nodes}
    known |= {(): -1} if inner else {}
    paths = label_paths(y)
    unknown = {path: row for row, path in reversed(list(enumerate(paths, 1))) if path not in known}
    if unknown:
        kind, ordered = "node" if inner else "class", sorted(unknown.items(), key=lambda item: item[1])
        raise UnknownLabelError(
            f"row {row}: {' > '.join(path)!r} is not a {kind} of the taxonomy" for path, row in ordered
        )
    return np.array([known[path] for path in paths], dtype=np.int64)


def level_names(nodes: ArrayLike, taxonomy: Taxonomy) -> TextObjects:
    """Names along the path of each node, shape (M, H), "" beyond its depth.

    Example:
        >>> toy = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("plant",)])
        >>> level_names([3, 1, 0], toy).tolist()
        [['pet', 'dog'], ['plant', ''], ['pet', '']]
    """
    names = np.array([*taxonomy.names, ""], dtype=object)  # index -1 is ""
    labels: TextObjects = names[taxonomy.path_table(nodes)]
    return labels


def label_paths(y: ArrayLike) -> list[tuple[str, ...]]:
    """Path of each row of 2-D labels.

    Raises:
        DataError: for another shape, and for every distinct row that has a blank in between.
    """
    cells = np.asarray(y, dtype=object)
    if cells.ndim != 2 or not cells.size:
        raise DataError(f"expected labels of shape (samples, levels), got shape {cells.shape}")
    paths: list[tuple[str, ...]] = []
    faults: dict[tuple[str, ...], str] = {}
    for row, values in enumerate(cells.tolist(), 1):
        names = [_text(value) for value in values]
        depth = max((level for level, name in enumerate(names, 1) if name), default=0)
        paths.append(tuple(names[:depth]))
        if not all(paths[-1]):
            faults.setdefault(paths[-1], f"row {row}: expected names from the left without a blank, got {names}")
    if faults:
        raise DataError(faults.values())
    return paths


def _text(value: object) -> str:
    """A cell as text, "" for a missing value (None, nan, pandas.NA or NaT)."""
    missing = value is None or (isinstance(value, float) and math.isnan(value)) or type(value).__name__ in PANDAS_BLANKS
    return "" if missing else str(value).strip()
