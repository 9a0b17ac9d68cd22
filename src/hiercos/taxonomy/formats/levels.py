"""Level tables: one row per class, one column per level, blank beyond the depth of a class."""

import re
from collections.abc import Iterator, Sequence

from hiercos.taxonomy.errors import TaxonomyError
from hiercos.taxonomy.formats.tables import Row, table_text
from hiercos.taxonomy.paths import PathRow, tree_from_path_rows
from hiercos.taxonomy.tree import Taxonomy

NUMBERED = re.compile(r"level_([1-9][0-9]*)")


def levels_from_rows(columns: Sequence[str], rows: Iterator[Row], faults: list[str]) -> Taxonomy:
    """The taxonomy of a level table.

    With columns `level_1`…`level_H` these are the levels, and other columns but `id` and `name` are ignored; with
    `name_1`…`name_H` beside them the levels hold the ids, and these their display names. Otherwise every column is a
    level but `id` and `name`. Both belong to the class of the row.
    """
    levels = _numbered_levels(columns) or [name for name in columns if name not in ("id", "name")]
    if not levels:
        raise TaxonomyError(f"row 1: expected a column for each level, got only {', '.join(columns)}")
    if levels[0] != "level_1" or not any(_name_column(level) in columns for level in levels):
        return tree_from_path_rows(_class_named_rows(levels, rows), faults)
    if "name" in columns:
        raise TaxonomyError("row 1: expected names in columns name_1, name_2, … or in 'name', got both")
    return tree_from_path_rows(_level_named_rows(levels, rows, faults), faults)


def _numbered_levels(columns: Sequence[str]) -> list[str]:
    """The columns level_1…level_H in their order, none where no column is called so."""
    numbers = sorted(int(match[1]) for name in columns if (match := NUMBERED.fullmatch(name)))
    if numbers != list(range(1, len(numbers) + 1)):
        raise TaxonomyError(f"row 1: expected columns level_1, level_2, … without a gap, got levels {numbers}")
    return [f"level_{number}" for number in numbers]


def _name_column(level: str) -> str:
    return level.replace("level_", "name_")


def _level_named_rows(levels: Sequence[str], rows: Iterator[Row], faults: list[str]) -> Iterator[PathRow]:
    """The levels hold ids, columns beside them the names; an `id` of the class goes before that of its level."""
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


def _class_named_rows(levels: Sequence[str], rows: Iterator[Row]) -> Iterator[PathRow]:
    for where, fields in rows:
        keys = _path([fields[level] for level in levels])
        class_id = fields.get("id", keys[-1] if keys and "name" in fields else "")
        name = fields.get("name") or "".join(keys[-1:])
        yield PathRow(where, keys, [*keys[:-1], name], [*[""] * (len(keys) - 1), class_id])


def _path(fields: list[str]) -> list[str]:
    """The fields up to the last that is not blank."""
    depth = max((level for level, field in enumerate(fields, 1) if field), default=0)
    return fields[:depth]


def levels_text(taxonomy: Taxonomy, delimiter: str) -> str:
    """The level table of a taxonomy, one row per class in class order.

    Raises:
        TaxonomyError: if a table cannot hold its ids or names.
    """
    return table_text(_table(taxonomy), delimiter)


def _table(taxonomy: Taxonomy) -> list[list[str]]:
    """Without ids the levels hold names; with an id everywhere, ids beside names; else ids of classes only."""
    levels = [str(level) for level in range(1, taxonomy.height + 1)]
    rows = taxonomy.path_table(taxonomy.leaves).tolist()
    names = [[taxonomy.names[node] if node >= 0 else "" for node in row] for row in rows]
    if not taxonomy.ids:
        return [[f"level_{level}" for level in levels], *names]
    if all(taxonomy.ids):
        ids = [[taxonomy.ids[node] if node >= 0 else "" for node in row] for row in rows]
        header = [f"level_{level}" for level in levels] + [f"name_{level}" for level in levels]
        return [header, *([*row_ids, *row_names] for row_ids, row_names in zip(ids, names, strict=True))]
    _check_class_ids(taxonomy)
    class_ids = [taxonomy.ids[leaf] for leaf in taxonomy.leaves]
    header = [f"rank {level}" for level in levels] + ["id"]
    return [header, *([*row, class_id] for row, class_id in zip(names, class_ids, strict=True))]


def _check_class_ids(taxonomy: Taxonomy) -> None:
    """Ids of some nodes only: they must be those of classes, and siblings must differ by name."""
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
