"""Tables: CSV, TSV, Parquet, JSON Lines, exports of Label Studio, and the reader of texts, images and columns in them.

Every cell stays text, so that a code such as 06.10 does not become a number.
"""

import csv
import json
import math
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

from hiercos.checks import ARRAY_BYTES, TEXT_CHARACTERS, VARIABLE, limit_fault, limited
from hiercos.data.columns import (
    IMAGE,
    ROLES,
    ColumnInputs,
    ColumnKinds,
    checked_kinds,
    column_inputs,
    guessed_kinds,
)
from hiercos.data.images.collections import ImageFiles
from hiercos.data.images.decoding import SUFFIXES
from hiercos.data.inputs import Inputs, Kind, Texts
from hiercos.data.readers.label_studio import exported_label, exported_rows
from hiercos.data.readers.registry import Reader
from hiercos.data.rows import (
    CANDIDATES_COLUMN,
    LABEL_COLUMN,
    PATH_COLUMN,
    SPLIT_COLUMN,
    TEXT_COLUMN,
    InputBatch,
    Source,
    SourceOptions,
)
from hiercos.errors import DataError, listed, one_line, suggestion
from hiercos.storage import check_regular
from hiercos.taxonomy.formats import separator_fault

DELIMITERS = {".csv": ",", ".tsv": "\t"}
PARQUET, JSONL, JSON = ".parquet", ".jsonl", ".json"
TABLES = (*DELIMITERS, PARQUET)  # extensions of score tables
SAMPLE_TABLES = (*TABLES, JSONL, JSON)  # extensions of sample tables
ALL_COLUMNS = "all"  # stands for all columns of an input table
MOST_SHOWN, MOST_NAMED = 60, 5  # characters of a cell and columns in a message
ROW_BYTES = 1024  # of a row of a Parquet file that has fewer bytes than rows
LINE_BYTES = 16  # bytes of a line of JSON Lines for each character that a text may have
PARQUET_ROWS_AT_ONCE = 8192  # rows of a Parquet file read at a time, at most a row group

TableRow = tuple[int, dict[str, str]]  # row number from 1, and the cells by column
NumberedRow = tuple[int, list[str]]  # first line of a record, and its cells
Object = tuple[int, dict[str, Any]]  # line number from 1, and the object on it


class TableReader(Reader):
    """Texts, or paths to images, in a column of a table, or several columns of it."""

    suffixes = SAMPLE_TABLES
    kinds: ClassVar[tuple[Kind, ...]] = ("texts", "images", "columns")

    def rows(self, source: str, options: SourceOptions, kind: Kind | None) -> Source:
        """Rows with the columns that are asked for; memory does not grow with the number of rows.

        Raises:
            DataError: see `Columns.rows`; also for an empty path and a table without rows.
        """
        path = Path(source)
        label, split = options.label_column, options.split_column
        kinds, column = ({}, "") if options.columns is None else (_column_kinds(path, options), "")
        if not kinds:
            column, kind = _input_column(path, options, kind)
        needed, optional = ({} if kinds else {column: "--input-column"}), []
        if label is not None:
            needed.setdefault(label, "--label-column")
            optional = [SPLIT_COLUMN, CANDIDATES_COLUMN]
            if split != SPLIT_COLUMN:  # a named column must exist
                needed.setdefault(split, "--split-column")
        kept = _kept_columns(path, options.keep_columns, column if kind == "texts" else None)
        columns = Columns(needed, optional, [*kept, *kinds])
        used = {*needed, *optional, *kept, *kinds, *options.read_elsewhere}
        notes = _unread(path, used, is_labelled=label is not None)

        def inputs(table: Table) -> Inputs:
            if kinds:
                return _column_inputs(path, table, kinds, options.root)
            return Texts(table.columns[column]) if kind == "texts" else _images(path, table, column, options.root)

        def read(size: int) -> Iterator[InputBatch]:
            for table in columns.tables(path, size):
                cells = table.columns
                yield InputBatch(
                    table.numbers,
                    inputs(table),
                    {name: cells[name] for name in kept},
                    None
                    if label is None
                    else tuple(exported_label(each) if each.startswith("[{") else each for each in cells[label]),
                    None if label is None else cells.get(split),
                    None if label is None else cells.get(CANDIDATES_COLUMN),
                )

        return Source(str(path), "columns" if kinds else kind or "texts", read, names_images=True, notes=notes)


def _column_kinds(path: Path, options: SourceOptions) -> dict[str, str]:
    """Kinds of the input columns of a table, guessed by their cells where they are not given.

    Without labels, as a model reads, columns of roles may be missing.
    """
    wanted, names = dict(options.columns or {}), column_names(path)
    if list(wanted) == [ALL_COLUMNS] and ALL_COLUMNS not in names:
        others = {options.label_column, options.split_column, CANDIDATES_COLUMN}
        wanted = {name: "" for name in names if name not in others}
    wanted = {name: kind for name, kind in wanted.items() if name in names or kind not in ROLES}
    if options.label_column in wanted:
        raise DataError(f"{path}: --columns: {options.label_column!r} is the column of the labels")
    if "" not in wanted.values():
        return wanted
    (table,) = Columns({}, copied=[name for name, kind in wanted.items() if not kind]).tables(path, sys.maxsize)
    return checked_kinds(guessed_kinds(table.columns, wanted), str(path))


def _column_inputs(path: Path, table: "Table", kinds: ColumnKinds, root: str | Path | None) -> ColumnInputs:
    """Rows of columns; paths of images are relative to the root or else to the folder of the table."""
    base, cells = path.parent if root is None else Path(root), dict(table.columns)
    for name, kind in kinds.items():
        if kind == IMAGE:
            cells[name] = tuple(str(base / cell) if cell.strip() else "" for cell in cells[name])
    return column_inputs(cells, kinds, source=str(path), row_name=table.row_name)


def _unread(path: Path, used: Collection[str], *, is_labelled: bool) -> tuple[str, ...]:
    """A note on the columns that are not read; inputs may have labels that nobody asks for."""
    names = column_names(path) if path.suffix.lower() != JSONL else list(next(json_lines(path))[1])
    known = {*used, *(() if is_labelled else (LABEL_COLUMN, SPLIT_COLUMN, CANDIDATES_COLUMN))}
    if not (unread := [repr(name) for name in names if name not in known]):
        return ()
    hint = "" if is_labelled else "; --keep-columns all copies them to the answers"
    return (f"{path}: columns that are not read: {listed(unread, MOST_NAMED)}{hint}.",)


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
                "(--input-column names another, --columns several)"
            )
        column = there[0]
    if kind is not None and known:
        return column, kind
    if column in defaults:
        return column, defaults[column]
    rows = Columns({column: "--input-column"}).rows(path)
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
    """Selected columns of a table as text."""

    columns: Mapping[str, tuple[str, ...]]  # cells by column name, M each
    numbers: tuple[int, ...]  # number of each row: the line in a text file, where the header is line 1, else from 1

    def row_name(self, row: int) -> str:
        """Name of a row in messages."""
        return f"row {self.numbers[row]}"


@dataclass(frozen=True)
class Columns:
    """Columns to read of a table."""

    needed: Mapping[str, str]  # columns that it must have, each with the option that names another, or ""
    optional: Sequence[str] = ()  # columns that may be missing
    copied: Sequence[str] = ()  # further columns that it must have, whose cells may be of any type; see `any_text`

    def rows(self, path: Path) -> Iterator[TableRow]:
        """Row numbers and cells by column name; memory does not grow with the number of rows.

        Raises:
            DataError: at once for an empty file, another separator, a missing column, text that is not UTF-8 or Parquet
                without pyarrow; after the last row for every row of another length or with a cell that is neither text
                nor an integer (and in JSON Lines, for a missing column).
        """
        return {PARQUET: _parquet_rows, JSONL: _json_rows, JSON: _json_rows}.get(path.suffix.lower(), _delimited_rows)(
            path, self
        )

    @property
    def any_type(self) -> set[str]:
        """Columns whose cells may be of any type."""
        return {*self.copied} - {*self.needed, *self.optional}

    def present(self, path: Path, names: list[str]) -> list[str]:
        """Those among the columns of a table; an error names every missing or duplicate one, with the nearest there."""
        needed = {**dict.fromkeys(self.copied, ""), **self.needed}
        faults = [
            f"{path}: expected a column {name!r}{suggestion(name, names)}"
            + (f" ({option} names another)" if option else "")
            for name, option in needed.items()
            if name not in names
        ]
        kept = [name for name in dict.fromkeys((*needed, *self.optional)) if name in names]
        faults += [f"{path}: the column {name!r} appears twice" for name in kept if names.count(name) > 1]
        if faults:
            raise DataError(faults)
        return kept

    def tables(self, path: Path, size: int) -> Iterator[Table]:
        """Tables of at most `size` rows, with the columns that occur; a DataError if there are no rows."""
        rows, found = self.rows(path), False
        while chunk := list(islice(rows, size)):
            found = True
            names = dict.fromkeys(name for _, cells in chunk for name in cells)
            cells = {name: tuple(cells.get(name, "") for _, cells in chunk) for name in names}
            yield Table(cells, tuple(number for number, _ in chunk))
        if not found:
            raise DataError(f"{path}: expected at least one row below the header, got none")


def read_table(
    path: Path, *, columns: Iterable[str], optional: Sequence[str] = (), options: Mapping[str, str] | None = None
) -> Table:
    """Read the named columns into memory.

    Args:
        path: table.
        columns: columns that the table must have.
        optional: columns that may be missing.
        options: option of the commands that names another column, such as "--label-column", by column; for errors.

    Raises:
        DataError: see `Columns.rows`; also for a table without rows.
    """
    needed = {name: (options or {}).get(name, "") for name in columns}
    (table,) = Columns(needed, optional).tables(path, sys.maxsize)
    return table


def _delimited_rows(path: Path, columns: Columns) -> Iterator[TableRow]:
    faults = []
    with delimited_file(path) as (names, records):
        fault = separator_fault(names, DELIMITERS[path.suffix.lower()])
        if fault and not {*columns.needed, *columns.copied} <= {*names}:
            raise DataError(f"{path}: row 1: {fault}")
        places = {name: names.index(name) for name in columns.present(path, names)}
        for line, cells in records:
            if wrong := length_fault(path, (line, cells), len(names)):
                faults.append(wrong)
            else:
                yield line, {name: cells[place] for name, place in places.items()}
    if faults:
        raise DataError(faults)


def _parquet_rows(path: Path, columns: Columns) -> Iterator[TableRow]:
    """Rows of a Parquet file, row group by row group."""
    number, any_type = 0, columns.any_type
    with parquet_file(path) as file:
        kept = columns.present(path, list(file.schema_arrow.names))
        for batch in file.iter_batches(columns=kept, batch_size=PARQUET_ROWS_AT_ONCE):
            texts = [
                list(map(any_text, batch.column(name).to_pylist()))
                if name in any_type
                else _parquet_texts(path, name, batch.column(name))
                for name in kept
            ]
            for cells in zip(*texts, strict=True):
                number += 1
                yield number, dict(zip(kept, cells, strict=True))


def _parquet_texts(path: Path, name: str, column: Any) -> tuple[str, ...]:
    """Cells as text: integers in their shortest form, null as empty; a DataError for other types."""
    from pyarrow import types

    kind = column.type.value_type if types.is_dictionary(column.type) else column.type
    if not (types.is_string(kind) or types.is_large_string(kind) or types.is_integer(kind) or types.is_null(kind)):
        raise DataError(f"{path}: column {name!r}: expected text or integers, got {column.type}")
    return tuple("" if cell is None else str(cell) for cell in column.to_pylist())


def _json_rows(path: Path, columns: Columns) -> Iterator[TableRow]:
    """Rows of JSON Lines: a missing key or null is an empty cell; a column exists if any object has its key."""
    names: dict[str, None] = {}
    faults, any_type = [], columns.any_type
    needed = dict.fromkeys((*columns.needed, *columns.copied))
    for line, values in json_lines(path):
        names.update(dict.fromkeys(values))
        found = dict.fromkeys((*needed, *(name for name in columns.optional if name in values)))
        cells = {name: (any_text if name in any_type else cell_text)(values.get(name)) for name in found}
        wrong = [name for name, cell in cells.items() if cell is None]
        faults += [
            f"{path}: row {line}: {name!r}: expected text or an integer, got {json.dumps(values[name])[:MOST_SHOWN]}"
            for name in wrong
        ]
        if not wrong:
            yield line, {name: str(cell) for name, cell in cells.items()}
    columns.present(path, list(names))
    if faults:
        raise DataError(faults)


def cell_text(value: object) -> str | None:
    """A value as text: integers in their shortest form, null as empty; None for anything else."""
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    return str(value)


def any_text(value: object) -> str:
    """A value of any type as text: texts as they are, null as empty, other values as JSON if they have that form.

    Example:
        >>> any_text("06.10"), any_text(2.5), any_text(True), any_text(None), any_text([1, 2])
        ('06.10', '2.5', 'true', '', '[1, 2]')
    """
    if isinstance(value, str):
        return value
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return json.dumps(value, ensure_ascii=False, default=str).strip('"')


@contextmanager
def delimited_file(path: Path) -> Iterator[tuple[list[str], Iterator[NumberedRow]]]:
    """Column names of a CSV or TSV file, and its records, read one at a time.

    Raises:
        DataError: at once or while reading, for an empty file, text that is not UTF-8 or unclosed quotes.
    """
    check_regular(path)
    csv.field_size_limit(limited(TEXT_CHARACTERS))
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            records = _records(path, csv.reader(file, delimiter=DELIMITERS[path.suffix.lower()], strict=True))
            _, header = next(records, (1, None))
            if header is None:
                raise DataError(f"{path}: the file is empty; expected a header and rows below it")
            yield [name.strip() for name in header], records
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: {_encoding_fault(path)}; expected the file in UTF-8") from error


def _records(path: Path, reader: Any) -> Iterator[NumberedRow]:
    """Each record with its line; blank lines are skipped."""
    while True:
        line = reader.line_num + 1
        try:
            record = next(reader, None)
        except csv.Error as error:
            raise DataError(f"{path}: row {line}: {csv_fault(error)}") from error
        if record is None:
            return
        if record:
            yield line, record


def csv_fault(error: csv.Error) -> str:
    """Message of the csv module, in our words where our limit is the reason."""
    if "field larger" in str(error):
        return f"expected at most {TEXT_CHARACTERS:,} characters in a cell ({VARIABLE}=1 lifts all limits)"
    return str(error)


def length_fault(path: Path, record: NumberedRow, width: int) -> str | None:
    """Error message about a record with more or fewer cells than the header; None for a correct one."""
    line, cells = record
    if len(cells) == width:
        return None
    return f"{path}: row {line}: expected {width} cells as in the header, got {len(cells)}"


def _encoding_fault(path: Path) -> str:
    """Row and byte at which a file is first not UTF-8."""
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                return f"row {number}: byte 0x{line[error.start]:02x} is not UTF-8"
    return "its end is not UTF-8"


@contextmanager
def parquet_file(path: Path) -> Iterator[Any]:
    """A `pyarrow.parquet.ParquetFile`.

    Raises:
        DataError: at once or while reading, for another kind of file or a damaged one, and without pyarrow.
    """
    try:
        from pyarrow import ArrowException, parquet
    except ImportError as error:
        raise DataError(f"{path}: reading Parquet needs pyarrow: pip install 'hiercos[parquet]'") from error
    check_regular(path)
    try:
        with parquet.ParquetFile(path) as file:
            allowed = max(ARRAY_BYTES // ROW_BYTES, path.stat().st_size)
            if fault := limit_fault("rows", file.metadata.num_rows, allowed):
                raise DataError(f"{path}: {fault}")
            yield file
    except (ArrowException, OSError, UnicodeDecodeError, OverflowError) as error:
        raise DataError(f"{path}: expected a Parquet file, but {one_line(error)}") from error


def column_names(path: Path) -> list[str]:
    """Column names of a table in order; for JSON Lines, the keys of all objects."""
    if path.suffix.lower() in (JSONL, JSON):
        return list(dict.fromkeys(name for _, values in json_lines(path) for name in values))
    if path.suffix.lower() == PARQUET:
        with parquet_file(path) as file:
            return list(file.schema_arrow.names)
    with delimited_file(path) as (names, _):
        return names


def json_lines(path: Path) -> Iterator[Object]:
    """Objects of a JSON Lines file, read one at a time, or of an export of Label Studio; blank lines are skipped.

    Raises:
        DataError: while reading, for a line that is not a JSON object, text that is not UTF-8, or an empty file.
    """
    if path.suffix.lower() == JSON:
        yield from exported_rows(path)
        return
    found = False
    check_regular(path)
    most = LINE_BYTES * limited(TEXT_CHARACTERS)
    with path.open("rb") as file:
        for line, content in enumerate(iter(lambda: file.readline(most + 1), b""), 1):
            if len(content) > most:
                raise DataError(f"{path}: row {line}: expected at most {most:,} bytes in a line")
            text = _decoded(path, line, content)
            if text.strip():
                found = True
                yield line, _object(path, line, text)
    if not found:
        raise DataError(f"{path}: the file is empty; expected one object per line")


def _decoded(path: Path, line: int, content: bytes) -> str:
    try:
        return content.decode("utf-8-sig" if line == 1 else "utf-8")
    except UnicodeDecodeError as error:
        byte = f"byte 0x{content[error.start]:02x}"
        raise DataError(f"{path}: row {line}: {byte} is not UTF-8; expected the file in UTF-8") from error


def _object(path: Path, line: int, text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: row {line}: expected a JSON object ({error})") from error
    if not isinstance(value, dict):
        raise DataError(f"{path}: row {line}: expected a JSON object, got {type(value).__name__}")
    return value
