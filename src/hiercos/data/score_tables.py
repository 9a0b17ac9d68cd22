"""Tables of class scores: a column of labels and a column of numbers for each class."""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hiercos.data.errors import DataError
from hiercos.data.rows import RowName
from hiercos.data.table import DELIMITERS, PARQUET, read_table

LABEL = "label"
ScoreArray = NDArray[np.floating[Any]]


def column_names(path: Path) -> list[str]:
    """The names of a table's columns."""
    if path.suffix.lower() == PARQUET:
        return list(_parquet_file(path).schema_arrow.names)
    with path.open(encoding="utf-8-sig", newline="") as file:
        return [name.strip() for name in next(csv.reader(file, delimiter=DELIMITERS[path.suffix.lower()]), [])]


def read_score_columns(path: Path, names: Sequence[str]) -> tuple[list[str], ScoreArray, RowName]:
    """The labels, the scores (M, C) in the order of the other columns, and what messages call a row.

    Raises:
        DataError: for a row of another length, a cell that is no number, or no rows.
    """
    if path.suffix.lower() == PARQUET:
        return _read_parquet(path, [name for name in names if name != LABEL])
    return _read_delimited(path, names)


def _read_delimited(path: Path, names: Sequence[str]) -> tuple[list[str], ScoreArray, RowName]:
    """Read row by row: the texts of a large table would take many times the memory of its numbers."""
    place = list(names).index(LABEL)
    labels, rows, lines = [], [], []
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file, delimiter=DELIMITERS[path.suffix.lower()])
        next(reader)
        for record in filter(None, reader):
            if len(record) != len(names):
                raise DataError(f"{path}: row {reader.line_num}: expected {len(names)} cells, got {len(record)}")
            labels.append(record.pop(place))
            rows.append(_numbers(path, reader.line_num, record))
            lines.append(reader.line_num)
    if not rows:
        raise DataError(f"{path}: expected at least one row below the header, got none")
    return labels, np.stack(rows), lambda row: f"row {lines[row]}"


def _numbers(path: Path, line: int, cells: Sequence[str]) -> ScoreArray:
    try:
        return np.array([float(cell) for cell in cells])
    except ValueError as error:
        raise DataError(f"{path}: row {line}: expected a number in every class column ({error})") from error


def _read_parquet(path: Path, names: list[str]) -> tuple[list[str], ScoreArray, RowName]:
    table = read_table(path, columns=(LABEL,))
    columns = [column.to_numpy() for column in _parquet_file(path).read(columns=names).columns]
    for name, column in zip(names, columns, strict=True):
        if column.dtype.kind not in "fiu":
            raise DataError(f"{path}: column {name!r}: expected numbers in every class column, got {column.dtype}")
    return list(table.columns[LABEL]), np.column_stack(columns), table.row_name


def _parquet_file(path: Path) -> Any:
    try:
        from pyarrow import ArrowException, parquet
    except ImportError as error:
        raise DataError(f"{path}: reading Parquet needs pyarrow: pip install 'hiercos[parquet]'") from error
    try:
        return parquet.ParquetFile(path)
    except ArrowException as error:
        raise DataError(f"{path}: expected a Parquet file, but {error}") from error
