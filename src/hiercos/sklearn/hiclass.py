"""The 2-D labels of hiclass: a row for each sample, a column for each level, blank on the right beyond its depth.

Nothing of hiclass is imported: its labels are plain arrays.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hiercos.errors import DataError
from hiercos.taxonomy import IntArray, Taxonomy

TextArray = NDArray[Any]  # of objects that are texts
PANDAS_BLANKS = ("NAType", "NaTType")  # the types of pandas.NA and NaT, which need no pandas to be known


def taxonomy_from_hiclass(y: ArrayLike) -> Taxonomy:
    """The tree of the distinct rows of 2-D labels, its classes in sorted order of their paths.

    Args:
        y: names by level, shape (M, L), "", None or nan to the right of a sample's last level; numbers are taken as
            text.

    Raises:
        DataError: for another shape, and for every distinct row that is blank, has a blank in between, or ends where
            another goes on.

    Example:
        >>> taxonomy_from_hiclass([["pet", "dog"], ["pet", "cat"], ["plant", ""], ["pet", "dog"]]).class_names
        ('cat', 'dog', 'plant')
    """
    paths = label_paths(y)
    rows = {path: row for row, path in reversed(list(enumerate(paths, 1)))}
    inner = {path[:end] for path in rows for end in range(1, len(path))}
    faults = [
        f"row {row}: {' > '.join(path)!r} goes on in other rows: expected a class (a leaf)"
        for path, row in sorted(rows.items(), key=lambda item: item[1])
        if path in inner
    ]
    if faults:
        raise DataError(faults)
    return Taxonomy.from_paths(sorted(rows))


def classes_from_hiclass(y: ArrayLike, taxonomy: Taxonomy) -> IntArray:
    """The class index of each row of 2-D labels, shape (M,).

    Raises:
        DataError: as `taxonomy_from_hiclass`, and for every distinct row that is no class of the taxonomy.
    """
    known = {
        tuple(taxonomy.names[node] for node in taxonomy.path(leaf)): label
        for label, leaf in enumerate(taxonomy.leaves.tolist())
    }
    paths = label_paths(y)
    unknown = {path: row for row, path in reversed(list(enumerate(paths, 1))) if path not in known}
    if unknown:
        ordered = sorted(unknown.items(), key=lambda item: item[1])
        raise DataError(f"row {row}: {' > '.join(path)!r} is no class of the taxonomy" for path, row in ordered)
    return np.array([known[path] for path in paths], dtype=np.int64)


def hiclass_labels(classes: ArrayLike, taxonomy: Taxonomy) -> TextArray:
    """Class indices as hiclass takes them: the names along each path, shape (M, H), "" beyond a class's depth.

    Example:
        >>> toy = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("plant",)])
        >>> hiclass_labels([1, 2], toy).tolist()
        [['pet', 'dog'], ['plant', '']]
    """
    names = np.array([*taxonomy.names, ""], dtype=object)  # -1 is the last
    labels: TextArray = names[taxonomy.path_table(taxonomy.leaves[np.asarray(classes, dtype=np.int64)])]
    return labels


def label_paths(y: ArrayLike) -> list[tuple[str, ...]]:
    """The path of each row of 2-D labels.

    Raises:
        DataError: for another shape, and for every distinct row that is blank or has a blank in between.
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
        if not all(paths[-1]) or not depth:
            faults.setdefault(paths[-1], f"row {row}: expected names from the left without a blank, got {names}")
    if faults:
        raise DataError(faults.values())
    return paths


def _text(value: object) -> str:
    """A cell as text, "" for what hiclass and pandas write where there is nothing."""
    missing = value is None or (isinstance(value, float) and math.isnan(value)) or type(value).__name__ in PANDAS_BLANKS
    return "" if missing else str(value).strip()
