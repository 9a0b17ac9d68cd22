"""Tables of the user: CSV, TSV, Parquet and JSON Lines, some of whose columns are read.

Every cell stays text, so a code such as 06.10 is never a number.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hiercos.data.readers.table_files import (
    DELIMITERS,
    JSONL,
    PARQUET,
    Record,
    cell_text,
    delimited_file,
    json_lines,
    length_fault,
    parquet_file,
)
from hiercos.errors import DataError, suggestion
from hiercos.taxonomy.formats import separator_fault

MOST_SHOWN = 60  # characters of a cell in a message


@dataclass(frozen=True)
class Table:
    """Some columns of a table as text.

    Attributes:
        columns: the cells of each column by its name, M each.
        numbers: the number of each row as people count, M of them: the line in a text file, whose header is 1.
    """

    columns: Mapping[str, tuple[str, ...]]
    numbers: tuple[int, ...]

    def row_name(self, row: int) -> str:
        """What messages call the row at an index."""
        return f"row {self.numbers[row]}"


def read_table(path: Path, *, columns: Iterable[str], optional: Iterable[str] = ()) -> Table:
    """Read the named columns; those that are optional may be missing.

    Raises:
        DataError: for an empty file, another separator, a missing column, a row of another length, text that is not
            UTF-8, a cell that is neither text nor an integer, no rows, or Parquet without pyarrow.
    """
    readers = {PARQUET: _read_parquet, JSONL: _read_json_lines}
    read = readers.get(path.suffix.lower(), _read_delimited)
    table = read(path, list(columns), list(optional))
    if not table.numbers:
        raise DataError(f"{path}: expected at least one row below the header, got none")
    return table


def _present(path: Path, names: list[str], wanted: list[str], optional: list[str]) -> list[str]:
    """The columns to read; a DataError names every missing one and the nearest that is there, or all."""
    faults = [f"{path}: expected a column {name!r}{suggestion(name, names)}" for name in wanted if name not in names]
    kept = [name for name in (*wanted, *optional) if name in names]
    faults += [f"{path}: the column {name!r} is there twice" for name in kept if names.count(name) > 1]
    if faults:
        raise DataError(faults)
    return kept


def _read_delimited(path: Path, wanted: list[str], optional: list[str]) -> Table:
    with delimited_file(path) as (names, records):
        fault = separator_fault(names, DELIMITERS[path.suffix.lower()])
        if fault and not set(wanted) <= set(names):
            raise DataError(f"{path}: row 1: {fault}")
        kept = _present(path, names, wanted, optional)
        return _columns_of(path, records, {name: names.index(name) for name in kept}, len(names))


def _columns_of(path: Path, records: Iterable[Record], places: Mapping[str, int], width: int) -> Table:
    columns: dict[str, list[str]] = {name: [] for name in places}
    numbers, faults = [], []
    for record in records:
        if fault := length_fault(path, record, width):
            faults.append(fault)
            continue
        line, cells = record
        numbers.append(line)
        for name, place in places.items():
            columns[name].append(cells[place])
    if faults:
        raise DataError(faults)
    return Table({name: tuple(cells) for name, cells in columns.items()}, tuple(numbers))


def _read_parquet(path: Path, wanted: list[str], optional: list[str]) -> Table:
    with parquet_file(path) as file:
        kept = _present(path, list(file.schema_arrow.names), wanted, optional)
        content = file.read(columns=kept)
    columns = {name: _parquet_texts(path, name, content.column(name)) for name in kept}
    return Table(columns, tuple(range(1, content.num_rows + 1)))


def _parquet_texts(path: Path, name: str, column: Any) -> tuple[str, ...]:
    """The cells as text: integers in their shortest form, null as empty; anything else is an error."""
    from pyarrow import types

    kind = column.type.value_type if types.is_dictionary(column.type) else column.type
    if not (types.is_string(kind) or types.is_large_string(kind) or types.is_integer(kind) or types.is_null(kind)):
        raise DataError(f"{path}: column {name!r}: expected text or integers, got {column.type}")
    return tuple("" if cell is None else str(cell) for cell in column.to_pylist())


def _read_json_lines(path: Path, wanted: list[str], optional: list[str]) -> Table:
    """Objects may lack a key or have null there, which is an empty cell; a column is there if any object has it."""
    names: dict[str, None] = {}
    rows, numbers, faults = [], [], []
    for line, values in json_lines(path):
        names.update(dict.fromkeys(values))
        cells = {name: cell_text(values.get(name)) for name in (*wanted, *optional)}
        faults += [
            f"{path}: row {line}: {name!r}: expected text or an integer, got {json.dumps(values[name])[:MOST_SHOWN]}"
            for name, cell in cells.items()
            if cell is None
        ]
        rows.append(cells)
        numbers.append(line)
    kept = _present(path, list(names), wanted, optional)
    if faults:
        raise DataError(faults)
    return Table({name: tuple(str(cells[name]) for cells in rows) for name in kept}, tuple(numbers))
