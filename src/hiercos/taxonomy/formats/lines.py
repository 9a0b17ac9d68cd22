"""Lines of `a > b > c`, one per class."""

from collections.abc import Iterator

from hiercos.taxonomy.errors import HOLD_IDS, TaxonomyError
from hiercos.taxonomy.paths import PathRow, tree_from_path_rows
from hiercos.taxonomy.tree import PATH_SEPARATOR, Taxonomy

MARK = PATH_SEPARATOR.strip()


def read_lines(text: str) -> Taxonomy:
    """The taxonomy of some paths, one per line in class order; blank lines do not count."""
    rows = list(_rows(text))
    if not rows:
        raise TaxonomyError("the file has no rows: expected one path a > b > c per line for each class")
    return tree_from_path_rows(rows, [])


def _rows(text: str) -> Iterator[PathRow]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield PathRow(f"row {number}", [name.strip() for name in line.split(MARK)])


def lines_text(taxonomy: Taxonomy) -> str:
    """One path per class, in class order.

    Raises:
        TaxonomyError: if there are ids, or a name that a line cannot hold.
    """
    faults = [f"lines cannot hold ids; {HOLD_IDS}"] if taxonomy.ids else []
    faults += [
        f"{name!r}: a line cannot hold a name with {MARK!r}, a line end or white space around it; json can"
        for name in dict.fromkeys(taxonomy.names)
        if MARK in name or "\n" in name or name != name.strip()
    ]
    if faults:
        raise TaxonomyError(faults)
    return "".join(taxonomy.path_text(leaf) + "\n" for leaf in taxonomy.leaves.tolist())
