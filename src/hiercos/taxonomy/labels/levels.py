"""Labels with one row per sample and one column per level, blank on the right beyond the label's depth.

hiclass takes and returns labels in this form; they are plain arrays, so hiclass is not imported.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hiercos.errors import DataError
from hiercos.taxonomy.tree import IntArray, Taxonomy

TextObjects = NDArray[Any]  # dtype object, holding texts
PANDAS_BLANKS = ("NAType", "NaTType")  # type names of pandas.NA and NaT, so that pandas is not imported


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
        DataError: as `taxonomy_from_levels`, and for every distinct row that is not a class (or node) of the taxonomy.
    """
    nodes = [*(range(taxonomy.num_nodes) if inner else ()), *taxonomy.leaves.tolist()]  # of equal paths, a class wins
    known = {tuple(taxonomy.names[step] for step in taxonomy.path(node)): node for node in nodes}
    known |= {(): -1} if inner else {}
    paths = label_paths(y)
    unknown = {path: row for row, path in reversed(list(enumerate(paths, 1))) if path not in known}
    if unknown:
        kind, ordered = "node" if inner else "class", sorted(unknown.items(), key=lambda item: item[1])
        raise DataError(f"row {row}: {' > '.join(path)!r} is not a {kind} of the taxonomy" for path, row in ordered)
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
