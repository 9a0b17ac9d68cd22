"""Labels that are paths such as `a > b > c`, and the taxonomy built from them."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from hiercos.errors import DataError, RowName
from hiercos.taxonomy.tree import PATH_SIGN, AnyArray, IntArray, Taxonomy


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
    """Nodes as label indices, same shape: the class index of a leaf, C + node for an inner node.

    Data sets, losses and metrics take labels in this form, which leaves class indices unchanged.

    Example:
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> label_indices([4, 2, 0], t).tolist()  # car, cat, pet
        [2, 0, 3]
    """
    of_node = taxonomy.num_classes + np.arange(taxonomy.num_nodes)
    of_node[taxonomy.leaves] = np.arange(taxonomy.num_classes)
    indices: IntArray = of_node[np.asarray(nodes, dtype=np.int64)]
    return indices


def path_parts(text: str) -> tuple[str, ...]:
    """Names of a path such as `a > b > c`, with any space around the separators.

    Example:
        >>> path_parts("pet>  cat")
        ('pet', 'cat')
    """
    return tuple(part.strip() for part in text.split(PATH_SIGN))


def taxonomy_of_labels(
    labels: Sequence[str] | AnyArray, *, source: str, row_name: RowName, path_form: str = "labels such as 'a > b > c'"
) -> Taxonomy:
    """Build the tree of the distinct paths among the labels, classes in sorted order.

    Args:
        labels: M paths such as `a > b > c`.
        source: name of the data, for messages.
        row_name: function from the index of a sample to its name in messages.
        path_form: description of labels that are paths, for the message if there are none.

    Raises:
        DataError: if no label is a path, or for each one that has an empty name or is an ancestor of another.
    """
    first_rows: dict[tuple[str, ...], int] = {}
    for row, label in enumerate(labels):
        first_rows.setdefault(path_parts(str(label)), row)
    if all(len(path) == 1 for path in first_rows):
        raise DataError(
            f"{source}: the labels (such as {str(labels[0])!r}) are not paths: "
            f"expected a taxonomy (--taxonomy FILE), or {path_form}"
        )
    inner = {path[:end] for path in first_rows for end in range(1, len(path))}
    faults = [
        f"{source}: {row_name(row)}: {fault}"
        for path, row in first_rows.items()
        if (fault := _fault(path, str(labels[row]), inner))
    ]
    if faults:
        raise DataError(faults)
    return Taxonomy.from_paths(sorted(first_rows))


def _fault(path: tuple[str, ...], label: str, inner: set[tuple[str, ...]]) -> str | None:
    if not all(path):
        return f"expected a name at every step of the path, got {label!r}"
    if path in inner:
        return f"the path {label!r} continues in other rows: expected a class (a leaf)"
    return None
