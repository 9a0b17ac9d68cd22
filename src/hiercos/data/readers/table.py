"""Columns of tables: CSV, TSV, Parquet and JSON Lines.

Every cell stays text, so that a code such as 06.10 does not become a number.
"""

import json
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

from hiercos.data.images.collections import ImageFiles
from hiercos.data.images.decoding import SUFFIXES
from hiercos.data.inputs import Kind, Texts
from hiercos.data.readers.registry import Reader
from hiercos.data.readers.table_files import (
    DELIMITERS,
    JSONL,
    PARQUET,
    SAMPLE_TABLES,
    cell_text,
    column_names,
    delimited_file,
    json_lines,
    length_fault,
    parquet_file,
)
from hiercos.data.rows import PATH_COLUMN, SPLIT_COLUMN, TEXT_COLUMN, InputBatch, Source, SourceOptions
from hiercos.errors import DataError, suggestion
from hiercos.taxonomy.formats import separator_fault

ALL_COLUMNS = "all"  # stands for all columns of an input table
MOST_SHOWN = 60  # characters of a cell in a message
PARQUET_ROWS_AT_ONCE = 8192  # rows of a Parquet file read at a time, at most a row group

Wanted = Mapping[str, str]  # columns that a table must have, each with the option that names another, or ""
TableRow = tuple[int, dict[str, str]]  # row number from 1, and the cells by column


class TableReader(Reader):
    """Texts, or paths to images, in a column of a table."""

    suffixes = SAMPLE_TABLES
    kinds: ClassVar[tuple[Kind, ...]] = ("texts", "images")

    def rows(self, source: str, options: SourceOptions, kind: Kind | None) -> Source:
        """Rows with the columns that are asked for; memory does not grow with the number of rows.

        Raises:
            DataError: see `table_rows`; also for an empty path and a table without rows.
        """
        path = Path(source)
        column, kind = _input_column(path, options, kind)
        kept = _kept_columns(path, options.keep_columns, column if kind == "texts" else None)
        label, split = options.label_column, options.split_column
        named, hints = [column], {column: "--input-column"}
        if label is not None:
            named += [label] if split == SPLIT_COLUMN else [label, split]  # named columns must exist
            hints = {split: "--split-column", label: "--label-column", **hints}
        optional = [] if label is None else [SPLIT_COLUMN]

        def read(size: int) -> Iterator[InputBatch]:
            rows = table_rows(path, columns=named, optional=optional, copied=kept, options=hints)
            for table in _tables(path, rows, [*named, *optional, *kept], size):
                cells = table.columns
                yield InputBatch(
                    table.numbers,
                    Texts(cells[column]) if kind == "texts" else _images(path, table, column, options.root),
                    {name: cells[name] for name in kept},
                    None if label is None else cells[label],
                    None if label is None else cells.get(split),
                )

        return Source(str(path), kind, read, names_images=True)


def _input_column(path: Path, options: SourceOptions, kind: Kind | None) -> tuple[str, Kind]:
    """The column of inputs and their kind: those asked for, or the column of a default name.

    A column of another name has the kind that is asked for, or images if the first cell ends as their files do.

    Raises:
        DataError: if no column is named, and the table has both columns of the default names or neither.
    """
    defaults: dict[str, Kind] = {TEXT_COLUMN: "texts", PATH_COLUMN: "images"}
    column, known = options.input_column, kind in defaults.values()
    if column is None and known:
        column = next(name for name, each in defaults.items() if each == kind)
    if column is None:
        names = column_names(path)
        there = [name for name in defaults if name in names]
        if len(there) == 2:
            raise DataError(
                f"{path}: the table has both columns {TEXT_COLUMN!r} and {PATH_COLUMN!r}: "
                "expected --input-column to choose one"
            )
        if not there:
            raise DataError(
                f"{path}: expected a column {TEXT_COLUMN!r} or {PATH_COLUMN!r}{suggestion('', names)} "
                "(--input-column names another)"
            )
        column = there[0]
    if kind is not None and known:
        return column, kind
    if column in defaults:
        return column, defaults[column]
    rows = table_rows(path, columns=(column,), options={column: "--input-column"})
    is_image = next((cells[column].strip().lower().endswith(SUFFIXES) for _, cells in rows), False)
    return column, "images" if is_image else "texts"


def _kept_columns(path: Path, wanted: Sequence[str], input_column: str | None) -> list[str]:
    """Names of the columns that are copied to the answers; "all" is for all but that of the texts, if there is one."""
    if list(wanted) != [ALL_COLUMNS]:
        return list(dict.fromkeys(wanted))
    return [name for name in dict.fromkeys(column_names(path)) if name != input_column]


def _images(path: Path, table: "Table", column: str, root: str | Path | None) -> ImageFiles:
    """Images at the paths in a column, relative to the root or else to the folder of the table."""
    cells = table.columns[column]
    if faults := [
        f"{path}: {table.row_name(row)}: the path is empty" for row, cell in enumerate(cells) if not cell.strip()
    ]:
        raise DataError(faults)
    base = path.parent if root is None else Path(root)
    return ImageFiles([base / cell for cell in cells])


@dataclass(frozen=True)
class Table:
    """Selected columns of a table as text.

    Attributes:
        columns: cells by column name, M each.
        numbers: row number of each row, M numbers: the line in a text file, where the header is line 1, else from 1.
    """

    columns: Mapping[str, tuple[str, ...]]
    numbers: tuple[int, ...]

    def row_name(self, row: int) -> str:
        """Name of a row in messages."""
        return f"row {self.numbers[row]}"


def read_table(
    path: Path,
    *,
    columns: Iterable[str],
    optional: Iterable[str] = (),
    copied: Iterable[str] = (),
    options: Mapping[str, str] | None = None,
) -> Table:
    """Read the named columns into memory; see `table_rows` for the arguments.

    Raises:
        DataError: see `table_rows`; also for a table without rows.
    """
    wanted, others, also = list(columns), list(optional), list(copied)
    rows = table_rows(path, columns=wanted, optional=others, copied=also, options=options)
    (table,) = _tables(path, rows, [*wanted, *others, *also], sys.maxsize)
    return table


def _tables(path: Path, rows: Iterator[TableRow], names: Sequence[str], size: int) -> Iterator[Table]:
    """Tables of at most `size` rows of a stream, with the columns that occur; a DataError if there are no rows."""
    found = False
    while True:
        numbers: list[int] = []
        columns: dict[str, list[str]] = {name: [] for name in names}
        seen: set[str] = set()
        for number, cells in islice(rows, size):
            numbers.append(number)
            seen.update(cells)
            for name, column in columns.items():
                column.append(cells.get(name, ""))
        if not numbers and not found:
            raise DataError(f"{path}: expected at least one row below the header, got none")
        if not numbers:
            return
        found = True
        yield Table({name: tuple(column) for name, column in columns.items() if name in seen}, tuple(numbers))


def table_rows(
    path: Path,
    *,
    columns: Sequence[str],
    optional: Sequence[str] = (),
    copied: Sequence[str] = (),
    options: Mapping[str, str] | None = None,
) -> Iterator[TableRow]:
    """Stream the named columns row by row; memory does not grow with the number of rows.

    Args:
        path: table.
        columns: columns that the table must have.
        optional: columns that may be missing.
        copied: further columns that the table must have, whose cells may be of any type; see `any_text`.
        options: option of the commands that names another column, such as "--label-column", by column; for errors.

    Yields:
        Row number and cells by column name.

    Raises:
        DataError: at once for an empty file, another separator, a missing column, text that is not UTF-8 or Parquet
            without pyarrow; after the last row for every row of another length or with a cell that is neither text
            nor an integer (and in JSON Lines, for a missing column).
    """
    readers = {PARQUET: _parquet_rows, JSONL: _json_rows}
    every = {name: (options or {}).get(name, "") for name in (*columns, *copied)}
    others = set(copied) - {*columns, *optional}
    return readers.get(path.suffix.lower(), _delimited_rows)(path, every, list(optional), others)


def any_text(value: object) -> str:
    """A value of any type as text: texts as they are, null as empty, other values as JSON if they have that form.

    Example:
        >>> any_text("06.10"), any_text(2.5), any_text(True), any_text(None), any_text([1, 2])
        ('06.10', '2.5', 'true', '', '[1, 2]')
    """
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False, default=str).strip('"')


def _present(path: Path, names: list[str], wanted: Wanted, optional: list[str]) -> list[str]:
    """Columns to read; a DataError names every missing or duplicate column, with the nearest existing one.

    Args:
        path: table, for errors.
        names: columns of the table.
        wanted: columns that the table must have, each with the option that names another, or "".
        optional: columns that may be missing.
    """
    faults = [
        f"{path}: expected a column {name!r}{suggestion(name, names)}{f' ({option} names another)' if option else ''}"
        for name, option in wanted.items()
        if name not in names
    ]
    kept = [name for name in (*wanted, *optional) if name in names]
    faults += [f"{path}: the column {name!r} appears twice" for name in kept if names.count(name) > 1]
    if faults:
        raise DataError(faults)
    return kept


def _delimited_rows(
    path: Path,
    wanted: Wanted,
    optional: list[str],
    copied: Collection[str],  # noqa: ARG001  # every cell is text
) -> Iterator[TableRow]:
    faults = []
    with delimited_file(path) as (names, records):
        fault = separator_fault(names, DELIMITERS[path.suffix.lower()])
        if fault and not set(wanted) <= set(names):
            raise DataError(f"{path}: row 1: {fault}")
        places = {name: names.index(name) for name in _present(path, names, wanted, optional)}
        for record in records:
            if wrong := length_fault(path, record, len(names)):
                faults.append(wrong)
            else:
                line, cells = record
                yield line, {name: cells[place] for name, place in places.items()}
    if faults:
        raise DataError(faults)


def _parquet_rows(path: Path, wanted: Wanted, optional: list[str], copied: Collection[str]) -> Iterator[TableRow]:
    """Rows of a Parquet file, row group by row group."""
    number = 0
    with parquet_file(path) as file:
        kept = _present(path, list(file.schema_arrow.names), wanted, optional)
        for batch in file.iter_batches(columns=kept, batch_size=PARQUET_ROWS_AT_ONCE):
            columns = [
                list(map(any_text, batch.column(name).to_pylist()))
                if name in copied
                else _parquet_texts(path, name, batch.column(name))
                for name in kept
            ]
            for cells in zip(*columns, strict=True):
                number += 1
                yield number, dict(zip(kept, cells, strict=True))


def _parquet_texts(path: Path, name: str, column: Any) -> tuple[str, ...]:
    """Cells as text: integers in their shortest form, null as empty; a DataError for other types."""
    from pyarrow import types

    kind = column.type.value_type if types.is_dictionary(column.type) else column.type
    if not (types.is_string(kind) or types.is_large_string(kind) or types.is_integer(kind) or types.is_null(kind)):
        raise DataError(f"{path}: column {name!r}: expected text or integers, got {column.type}")
    return tuple("" if cell is None else str(cell) for cell in column.to_pylist())


def _json_rows(path: Path, wanted: Wanted, optional: list[str], copied: Collection[str]) -> Iterator[TableRow]:
    """Rows of JSON Lines: a missing key or null is an empty cell; a column exists if any object has its key."""
    names: dict[str, None] = {}
    faults = []
    for line, values in json_lines(path):
        names.update(dict.fromkeys(values))
        cells = {
            name: (any_text if name in copied else cell_text)(values.get(name))
            for name in (*wanted, *optional)
            if name in {*wanted, *values}
        }
        wrong = [name for name, cell in cells.items() if cell is None]
        faults += [
            f"{path}: row {line}: {name!r}: expected text or an integer, got {json.dumps(values[name])[:MOST_SHOWN]}"
            for name in wrong
        ]
        if not wrong:
            yield line, {name: str(cell) for name, cell in cells.items()}
    _present(path, list(names), wanted, optional)
    if faults:
        raise DataError(faults)
