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

    With columns `level_1`…`level_H` these are the levels, `name_1`…`name_H` their display names (then the levels
    hold the ids), and other columns are ignored. Otherwise every column is a level but `id` and `name`, which
    belong to the class of the row.
    """
    if numbers := sorted(int(match[1]) for name in columns if (match := NUMBERED.fullmatch(name))):
        if numbers != list(range(1, len(numbers) + 1)):
            raise TaxonomyError(f"row 1: expected columns level_1, level_2, … without a gap, got levels {numbers}")
        return tree_from_path_rows(_numbered_rows(columns, rows, len(numbers), faults), faults)
    levels = [name for name in columns if name not in ("id", "name")]
    if not levels:
        raise TaxonomyError(f"row 1: expected a column for each level, got only {', '.join(columns)}")
    return tree_from_path_rows(_plain_rows(levels, rows), faults)


def _numbered_rows(columns: Sequence[str], rows: Iterator[Row], height: int, faults: list[str]) -> Iterator[PathRow]:
    levels = range(1, height + 1)
    named = any(f"name_{level}" in columns for level in levels)
    for where, fields in rows:
        keys = _path([fields[f"level_{level}"] for level in levels])
        names = [fields.get(f"name_{level}", "") for level in levels]
        faults += [
            f"{where}: name_{level} is {name!r}, but level_{level} is blank"
            for level, name in enumerate(names, 1)
            if name and not fields[f"level_{level}"]
        ]
        if named:
            shown = [name or key for key, name in zip(keys, names, strict=False)]
            yield PathRow(where, keys, shown, keys)
        else:
            yield PathRow(where, keys)


def _plain_rows(levels: Sequence[str], rows: Iterator[Row]) -> Iterator[PathRow]:
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
