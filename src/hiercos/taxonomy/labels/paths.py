"""Labels that are paths such as `a > b > c`, and the taxonomy of data that come without one."""

from collections.abc import Sequence

from hiercos.errors import DataError, RowName
from hiercos.taxonomy.tree import PATH_SEPARATOR, AnyArray, Taxonomy

PATH_SIGN = PATH_SEPARATOR.strip()


def path_parts(text: str) -> tuple[str, ...]:
    """The names of a path such as `a > b > c`, with any space around the signs.

    Example:
        >>> path_parts("pet>  cat")
        ('pet', 'cat')
    """
    return tuple(part.strip() for part in text.split(PATH_SIGN))


def taxonomy_of_labels(
    labels: Sequence[str] | AnyArray, *, source: str, row_name: RowName, path_form: str = "labels such as 'a > b > c'"
) -> Taxonomy:
    """The tree of the distinct paths among the labels, classes in sorted order.

    Args:
        labels: M paths such as `a > b > c`.
        source: the name of the data in messages.
        row_name: what messages call the sample at an index.
        path_form: what a message says the user can write for the labels to be paths.

    Raises:
        DataError: where no label is a path, or for each one that has an empty step or ends where another goes on.
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
        return f"the path {label!r} goes on in other rows: expected a class (a leaf)"
    return None
