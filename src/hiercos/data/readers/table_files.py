"""Table files: CSV and TSV record by record, Parquet by columns, JSON Lines by objects."""

import csv
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hiercos.errors import DataError, one_line
from hiercos.limits import ARRAY_BYTES, TEXT_CHARACTERS, VARIABLE, limit_fault, limited
from hiercos.storage import check_regular

ROW_BYTES = 1024  # of a row of a Parquet file that has fewer bytes than rows
DELIMITERS = {".csv": ",", ".tsv": "\t"}
PARQUET = ".parquet"
TABLES = (*DELIMITERS, PARQUET)  # extensions of score tables
JSONL = ".jsonl"
SAMPLE_TABLES = (*TABLES, JSONL)  # extensions of sample tables

LINE_BYTES = 16  # bytes of a line of JSON Lines for each character that a text may have
NumberedRow = tuple[int, list[str]]  # first line of a record, and its cells


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
    if path.suffix.lower() == JSONL:
        return list(dict.fromkeys(name for _, values in json_lines(path) for name in values))
    if path.suffix.lower() == PARQUET:
        with parquet_file(path) as file:
            return list(file.schema_arrow.names)
    with delimited_file(path) as (names, _):
        return names


Object = tuple[int, dict[str, Any]]  # line number from 1, and the object on it


def json_lines(path: Path) -> Iterator[Object]:
    """Objects of a JSON Lines file, read one at a time; blank lines are skipped.

    Raises:
        DataError: while reading, for a line that is not a JSON object, text that is not UTF-8, or an empty file.
    """
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


def cell_text(value: object) -> str | None:
    """A value as text: integers in their shortest form, null as empty; None for anything else."""
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    return str(value)
