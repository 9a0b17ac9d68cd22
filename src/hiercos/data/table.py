"""Tables of the user: CSV, TSV and Parquet with a column of texts, of labels and, if there is one, of splits.

Every cell stays text, so a code such as 06.10 is never a number.
"""

import csv
import difflib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hiercos.data.errors import DataError

DELIMITERS = {".csv": ",", ".tsv": "\t"}
PARQUET = ".parquet"
TABLES = (*DELIMITERS, PARQUET)
MOST_COLUMNS = 12  # named in a message about a missing one


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
        DataError: for a missing column, a row of another length, text that is not UTF-8, a cell of Parquet that
            is neither text nor an integer, no rows, or Parquet without pyarrow.
    """
    read = _read_parquet if path.suffix.lower() == PARQUET else _read_delimited
    table = read(path, list(columns), list(optional))
    if not table.numbers:
        raise DataError(f"{path}: expected at least one row below the header, got none")
    return table


def _present(path: Path, names: list[str], wanted: list[str], optional: list[str]) -> list[str]:
    """The columns to read; a DataError names every missing one and what is there instead."""
    listed = [repr(name) for name in names[:MOST_COLUMNS]] + ["…"] * (len(names) > MOST_COLUMNS)
    faults = []
    for name in wanted:
        if name not in names:
            near = difflib.get_close_matches(name, names, n=1)
            hint = f" (did you mean {near[0]!r}?)" if near else ""
            faults.append(f"{path}: expected a column {name!r}{hint}, got {', '.join(listed) or 'nothing'}")
    kept = [name for name in (*wanted, *optional) if name in names]
    faults += [f"{path}: the column {name!r} is there twice" for name in kept if names.count(name) > 1]
    if faults:
        raise DataError(faults)
    return kept


def _read_delimited(path: Path, wanted: list[str], optional: list[str]) -> Table:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, delimiter=DELIMITERS[path.suffix.lower()], strict=True)
            records = _numbered_records(path, reader)
            _, header = next(records, (1, []))
            names = [name.strip() for name in header]
            kept = _present(path, names, wanted, optional)
            return _columns_of(path, records, {name: names.index(name) for name in kept}, len(names))
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: {_encoding_fault(path)}; expected the file in UTF-8") from error


def _encoding_fault(path: Path) -> str:
    """Where a file first is not UTF-8."""
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                return f"row {number}: byte 0x{line[error.start]:02x} is not UTF-8"
    return "its end is not UTF-8"


def _numbered_records(path: Path, reader: Any) -> Iterator[tuple[int, list[str]]]:
    """Each record with the line it begins on; blank lines are left out."""
    while True:
        line = reader.line_num + 1
        try:
            record = next(reader, None)
        except csv.Error as error:
            raise DataError(f"{path}: row {line}: {error}") from error
        if record is None:
            return
        if record:
            yield line, record


def _columns_of(path: Path, records: Iterable[tuple[int, list[str]]], places: Mapping[str, int], width: int) -> Table:
    columns: dict[str, list[str]] = {name: [] for name in places}
    numbers, faults = [], []
    for line, record in records:
        if len(record) != width:
            faults.append(f"{path}: row {line}: expected {width} cells as in the header, got {len(record)}")
            continue
        numbers.append(line)
        for name, place in places.items():
            columns[name].append(record[place])
    if faults:
        raise DataError(faults)
    return Table({name: tuple(cells) for name, cells in columns.items()}, tuple(numbers))


def _read_parquet(path: Path, wanted: list[str], optional: list[str]) -> Table:
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise DataError(f"{path}: reading Parquet needs pyarrow: pip install 'hiercos[parquet]'") from error
    from pyarrow import ArrowException

    try:
        file = parquet.ParquetFile(path)
        kept = _present(path, list(file.schema_arrow.names), wanted, optional)
        content = file.read(columns=kept)
    except ArrowException as error:
        raise DataError(f"{path}: expected a Parquet file, but {error}") from error
    columns = {name: _parquet_texts(path, name, content.column(name)) for name in kept}
    return Table(columns, tuple(range(1, content.num_rows + 1)))


def _parquet_texts(path: Path, name: str, column: Any) -> tuple[str, ...]:
    """The cells as text: integers in their shortest form, null as empty; anything else is an error."""
    from pyarrow import types

    kind = column.type.value_type if types.is_dictionary(column.type) else column.type
    if not (types.is_string(kind) or types.is_large_string(kind) or types.is_integer(kind) or types.is_null(kind)):
        raise DataError(f"{path}: column {name!r}: expected text or integers, got {column.type}")
    return tuple("" if cell is None else str(cell) for cell in column.to_pylist())
