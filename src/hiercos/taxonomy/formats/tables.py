"""Taxonomies as tables: a column per level, a row per node with its parent, or one path per line."""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from reprlib import repr as shortened

import numpy as np

from hiercos.checks import TEXT_CHARACTERS, limited
from hiercos.storage import csv_text
from hiercos.taxonomy.checks import IDS_HINT, TaxonomyError, repeated
from hiercos.taxonomy.rows import EdgeRow, PathRow, tree_from_edge_rows, tree_from_path_rows
from hiercos.taxonomy.tree import PATH_SIGN, Taxonomy

FieldRow = tuple[str, dict[str, str]]  # position of the row, for messages, and its fields by column


def read_table(text: str, delimiter: str, *, is_edges: bool = False) -> Taxonomy:
    """Read an edge table if there are columns `parent` and `child`, or if it has to be one, else a level table."""
    faults: list[str] = []
    columns, rows = _parsed(text, delimiter, faults)
    from_rows = edges_from_rows if is_edges or {"parent", "child"} <= set(columns) else levels_from_rows
    return from_rows(columns, rows, faults)


def _parsed(text: str, delimiter: str, faults: list[str]) -> tuple[list[str], Iterator[FieldRow]]:
    """Read the columns and rows of a table.

    Args:
        faults: list to which rows that do not fit the header are appended while the rows are read.
    """
    lines = _lines(text, delimiter, faults)
    header, first = next(lines, (1, [])), next(lines, None)
    columns = [field.strip().casefold() for field in header[1]]
    header_faults = [f"row 1: column {place} has no name" for place, name in enumerate(columns, 1) if not name]
    header_faults += [f"row 1: column {name!r} occurs {count} times" for name, count in repeated(columns) if name]
    if fault := separator_fault(columns, delimiter):
        header_faults.append(f"row 1: {fault}")
    if first is None and not faults:
        header_faults.append("the file has no rows: expected a header and one row under it for each class")
    if header_faults or first is None:
        raise TaxonomyError(faults + header_faults)
    return columns, _fitting_rows(columns, chain([first], lines), faults)


def separator_fault(columns: Sequence[str], delimiter: str) -> str | None:
    """The fault of a header that is a single column because its names have another separator; None without one.

    Example:
        >>> separator_fault(["text;label"], ",")
        "expected ',' between columns, it seems to be ';'"
    """
    signs = [sign for sign in ";\t,|" if sign != delimiter and len(columns) == 1 and sign in columns[0]]
    return f"expected {delimiter!r} between columns, it seems to be {signs[0]!r}" if signs else None


def _lines(text: str, delimiter: str, faults: list[str]) -> Iterator[tuple[int, list[str]]]:
    """Each row that is not blank, with the line number of its start."""
    csv.field_size_limit(limited(TEXT_CHARACTERS))
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    number = 1
    try:
        for fields in reader:
            if fields:
                yield number, fields
            number = reader.line_num + 1
    except csv.Error as error:
        faults.append(f"row {number}: {error}")


def _fitting_rows(columns: list[str], lines: Iterable[tuple[int, list[str]]], faults: list[str]) -> Iterator[FieldRow]:
    for number, fields in lines:
        if len(fields) == len(columns):
            yield f"row {number}", dict(zip(columns, map(str.strip, fields), strict=True))
        else:
            faults.append(
                f"row {number}: expected {len(columns)} fields as in the header, got {len(fields)}: {shortened(fields)}"
            )


def table_text(rows: Iterable[Sequence[str]], delimiter: str) -> str:
    """The rows as table text that reads back the same."""
    table = list(rows)
    if padded := {field: None for row in table for field in row if field != field.strip()}:
        raise TaxonomyError(f"{field!r}: a table cannot hold white space around a name; json can" for field in padded)
    return csv_text(table, delimiter)


INPUT_COLUMNS = ("text", "path")  # of samples, beside their labels
NUMBERED = re.compile(r"level_([1-9][0-9]*)")
UNNAMED = re.compile(r"rank [1-9][0-9]*|\d+")  # columns that do not name their level


def levels_from_rows(columns: Sequence[str], rows: Iterator[FieldRow], faults: list[str]) -> Taxonomy:
    """Build the taxonomy of a level table.

    If there are columns `level_1`…`level_H`, these are the levels, and other columns except `id` and `name` are
    ignored; with `name_1`…`name_H` beside them the levels hold ids, and the `name_` columns the display names.
    Otherwise every column except `id` and `name` is a level, and its name is that of the level (`Taxonomy.ranks`). `id`
    and `name` describe the class of the row.
    """
    numbered = _numbered_levels(columns)
    levels = numbered or [name for name in columns if name not in ("id", "name")]
    inputs = [name for name in INPUT_COLUMNS if name in columns]
    if not numbered and inputs and "label" in columns:
        raise TaxonomyError(
            f"row 1: columns {inputs[0]!r} and 'label' are those of data: expected a taxonomy, with a column for each "
            "level; data whose labels are paths a > b > c need no taxonomy"
        )
    if not levels:
        raise TaxonomyError(f"row 1: expected a column for each level, got only {', '.join(columns)}")
    if levels[0] != "level_1" or not any(_name_column(level) in columns for level in levels):
        taxonomy = tree_from_path_rows(_class_named_rows(levels, rows), faults)
        unnamed = levels[0] == "level_1" or any(UNNAMED.fullmatch(level) for level in levels)
        return taxonomy if unnamed else taxonomy.with_ranks(levels[: taxonomy.height])
    if "name" in columns:
        raise TaxonomyError("row 1: expected names in columns name_1, name_2, … or in 'name', got both")
    return tree_from_path_rows(_level_named_rows(levels, rows, faults), faults)


def _numbered_levels(columns: Sequence[str]) -> list[str]:
    """Columns level_1…level_H in order; empty if there are none."""
    numbers = sorted(int(match[1]) for name in columns if (match := NUMBERED.fullmatch(name)))
    if numbers != list(range(1, len(numbers) + 1)):
        raise TaxonomyError(f"row 1: expected columns level_1, level_2, … without a gap, got levels {numbers}")
    return [f"level_{number}" for number in numbers]


def _name_column(level: str) -> str:
    return level.replace("level_", "name_")


def _level_named_rows(levels: Sequence[str], rows: Iterator[FieldRow], faults: list[str]) -> Iterator[PathRow]:
    """Paths of a table with ids in the levels and names beside them; the column `id` overrides the class's level."""
    for where, fields in rows:
        keys = _path([fields[level] for level in levels])
        names = [fields.get(_name_column(level), "") for level in levels]
        faults += [
            f"{where}: {_name_column(level)} is {name!r}, but {level} is blank"
            for level, name in zip(levels, names, strict=True)
            if name and not fields[level]
        ]
        shown = [name or key for key, name in zip(keys, names, strict=False)]
        yield PathRow(where, keys, shown, [*keys[:-1], *(fields.get("id") or key for key in keys[-1:])])


def _class_named_rows(levels: Sequence[str], rows: Iterator[FieldRow]) -> Iterator[PathRow]:
    for where, fields in rows:
        keys = _path([fields[level] for level in levels])
        class_id = fields.get("id", keys[-1] if keys and "name" in fields else "")
        name = fields.get("name") or "".join(keys[-1:])
        yield PathRow(where, keys, [*keys[:-1], name], [*[""] * (len(keys) - 1), class_id])


def _path(fields: list[str]) -> list[str]:
    """Fields up to the last that is not blank."""
    depth = max((level for level, field in enumerate(fields, 1) if field), default=0)
    return fields[:depth]


def levels_text(taxonomy: Taxonomy, delimiter: str) -> str:
    """The level table of a taxonomy, one row per class in class order."""
    return table_text(_table(taxonomy), delimiter)


def _table(taxonomy: Taxonomy) -> list[list[str]]:
    """Rows of names; with ids of all nodes, rows of ids and names; with ids of some, names and the class's id."""
    levels = [str(level) for level in range(1, taxonomy.height + 1)]
    rows = taxonomy.path_table(taxonomy.leaves).tolist()
    names = [[taxonomy.names[node] if node >= 0 else "" for node in row] for row in rows]
    if not taxonomy.ids:
        return [_written_ranks(taxonomy) or [f"level_{level}" for level in levels], *names]
    if all(taxonomy.ids):
        ids = [[taxonomy.ids[node] if node >= 0 else "" for node in row] for row in rows]
        header = [f"level_{level}" for level in levels] + [f"name_{level}" for level in levels]
        return [header, *([*row_ids, *row_names] for row_ids, row_names in zip(ids, names, strict=True))]
    _check_class_ids(taxonomy)
    class_ids = [taxonomy.ids[leaf] for leaf in taxonomy.leaves]
    header = [*(_written_ranks(taxonomy) or [f"rank {level}" for level in levels]), "id"]
    return [header, *([*row, class_id] for row, class_id in zip(names, class_ids, strict=True))]


def _written_ranks(taxonomy: Taxonomy) -> list[str]:
    """Names of the levels as columns; none if a table with these columns would be read otherwise."""
    names = [rank.casefold() for rank in taxonomy.ranks]
    special = {"id", "name", "parent", "child"}
    return [] if any(name in special or NUMBERED.fullmatch(name) for name in names) else list(taxonomy.ranks)


def _check_class_ids(taxonomy: Taxonomy) -> None:
    """Raise unless only classes have ids and siblings differ by name."""
    faults = [
        f"{taxonomy.path_text(node)!r}: a table holds the ids of all nodes or of classes, not of this one; json can"
        for node in range(taxonomy.num_nodes)
        if taxonomy.ids[node] and taxonomy.child_counts[node]
    ]
    places = list(zip(taxonomy.parents.tolist(), taxonomy.names, strict=True))
    seen = dict(zip(reversed(places), range(taxonomy.num_nodes - 1, -1, -1), strict=True))
    faults += [
        f"{taxonomy.path_text(node)!r}: two siblings of one name fit in a table only if every node has an id; json can"
        for node, place in enumerate(places)
        if seen[place] != node
    ]
    if faults:
        raise TaxonomyError(faults)


def read_lines(text: str) -> Taxonomy:
    """Read a taxonomy from one path per line, in class order; blank lines are ignored."""
    rows = list(_rows(text))
    if not rows:
        raise TaxonomyError("the file has no rows: expected one path a > b > c per line for each class")
    return tree_from_path_rows(rows, [])


def _rows(text: str) -> Iterator[PathRow]:
    for number, line in enumerate(text.split("\n"), 1):
        if line[:1].isspace() and line.strip() and PATH_SIGN not in line:
            raise TaxonomyError(f"row {number} begins with blanks: indentation is not read; expected a path a > b > c")
        if line.strip():
            yield PathRow(f"row {number}", [name.strip() for name in line.split(PATH_SIGN)])


def lines_text(taxonomy: Taxonomy) -> str:
    """One path per line for each class, in class order."""
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
    """The edge table of a taxonomy; a blank parent marks the top, and the classes are in class order."""
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
