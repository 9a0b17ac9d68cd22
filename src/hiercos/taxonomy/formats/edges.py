"""Edge tables (one row per node with its parent and, optionally, its display name) and files of one path per line."""

from collections.abc import Iterator, Sequence

import numpy as np

from hiercos.taxonomy.checks import IDS_HINT, TaxonomyError
from hiercos.taxonomy.formats.levels import FieldRow, table_text
from hiercos.taxonomy.rows import EdgeRow, PathRow, tree_from_edge_rows, tree_from_path_rows
from hiercos.taxonomy.tree import PATH_SIGN, Taxonomy


def read_lines(text: str) -> Taxonomy:
    """Read a taxonomy from one path per line, in class order; blank lines are ignored."""
    rows = list(_rows(text))
    if not rows:
        raise TaxonomyError("the file has no rows: expected one path a > b > c per line for each class")
    return tree_from_path_rows(rows, [])


def _rows(text: str) -> Iterator[PathRow]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield PathRow(f"row {number}", [name.strip() for name in line.split(PATH_SIGN)])


def lines_text(taxonomy: Taxonomy) -> str:
    """One path per line for each class, in class order.

    Raises:
        TaxonomyError: if there are ids, or a name that a line cannot hold.
    """
    faults = [f"lines cannot hold ids; {IDS_HINT}"] if taxonomy.ids else []
    faults += [
        f"{name!r}: a line cannot hold a name with {PATH_SIGN!r}, a line end or white space around it; json can"
        for name in dict.fromkeys(taxonomy.names)
        if PATH_SIGN in name or "\n" in name or name != name.strip()
    ]
    if faults:
        raise TaxonomyError(faults)
    return "".join(taxonomy.path_text(leaf) + "\n" for leaf in taxonomy.leaves.tolist())


def edges_from_rows(columns: Sequence[str], rows: Iterator[FieldRow], faults: list[str]) -> Taxonomy:
    """Build the taxonomy of a table with columns `parent` and `child`; with `name`, the child is an id."""
    if missing := [name for name in ("parent", "child") if name not in columns]:
        raise TaxonomyError(f"row 1: expected a column {name!r}, got {', '.join(columns)}" for name in missing)
    edges = (EdgeRow(where, fields["parent"], fields["child"], fields.get("name", "")) for where, fields in rows)
    return tree_from_edge_rows(edges, faults, with_ids="name" in columns)


def edges_text(taxonomy: Taxonomy, delimiter: str) -> str:
    """The edge table of a taxonomy; a blank parent marks the top, and the classes are in class order.

    Raises:
        TaxonomyError: if neither names nor ids tell all nodes apart, or some nodes only have an id.
    """
    if taxonomy.ids and not all(taxonomy.ids):
        raise TaxonomyError("an edge table holds the ids of all nodes or of none, and here some are empty; json can")
    keys = taxonomy.ids or taxonomy.names
    _check_distinct(taxonomy, keys)
    rows = [["parent", "child"] + (["name"] if taxonomy.ids else [])]
    for node in _row_order(taxonomy):
        for parent in taxonomy.parent_lists.list(node).tolist() or [-1]:
            row = [keys[parent] if parent >= 0 else "", keys[node]]
            rows.append([*row, taxonomy.names[node]] if taxonomy.ids else row)
    return table_text(rows, delimiter)


def _check_distinct(taxonomy: Taxonomy, keys: Sequence[str]) -> None:
    """Raise for repeated keys; ids are distinct already, names may not be."""
    first: dict[str, int] = {}
    faults = [
        f"name {key!r} is both {taxonomy.path_text(first[key])!r} and {taxonomy.path_text(node)!r}: an edge table "
        "needs distinct names, or ids; csv and json do not"
        for node, key in enumerate(keys)
        if first.setdefault(key, node) != node
    ]
    if faults:
        raise TaxonomyError(faults)


def _row_order(taxonomy: Taxonomy) -> list[int]:
    """Nodes in node order if that keeps the class order, else the inner nodes and then the classes."""
    if (np.diff(taxonomy.leaves) > 0).all():
        return list(range(taxonomy.num_nodes))
    inner: list[int] = np.flatnonzero(taxonomy.child_counts).tolist()
    return inner + [int(leaf) for leaf in taxonomy.leaves]
