"""Class priors from a CSV or TSV file with the columns `class` and `prior`."""

import math
from collections.abc import Iterator
from pathlib import Path

from hiercos.data.readers.table_files import DELIMITERS, NumberedRow, delimited_file, length_fault
from hiercos.errors import DataError
from hiercos.taxonomy import LabelReader, Taxonomy

COLUMNS = ("class", "prior")


def read_class_prior(path: Path, taxonomy: Taxonomy) -> tuple[float, ...]:
    """Prior of every class, in class order, scaled to a sum of 1.

    Args:
        path: table with one row for each class: its name, id or path, and a number above 0.
        taxonomy: taxonomy of the classes.

    Raises:
        DataError: for a missing file or column, an unknown class, a class that is missing or given twice, and a prior
            that is not a number above 0.
    """
    if path.suffix.lower() not in DELIMITERS or not path.is_file():
        raise DataError(f"{path}: expected a CSV or TSV file with the columns class and prior")
    with delimited_file(path) as (header, records):
        if missing := [name for name in COLUMNS if name not in header]:
            raise DataError(f"{path}: expected a column {missing[0]!r}, got {', '.join(header)}")
        rows = [*_rows(path, header, records)]
    reader = LabelReader(taxonomy)
    lines = [line for line, _, _ in rows]
    nodes = reader.read([name for _, name, _ in rows], source=str(path), row_name=lambda row: f"row {lines[row]}")
    priors: dict[int, float] = {}
    for (line, name, value), label in zip(rows, reader.classes(nodes).tolist(), strict=True):
        if label in priors:
            raise DataError(f"{path}: row {line}: a second prior of the class {name!r}")
        priors[label] = value
    for label, name in enumerate(taxonomy.class_names):
        if label not in priors:
            raise DataError(f"{path}: expected a prior of every class, got none of {name!r}")
    return tuple(priors[label] / sum(priors.values()) for label in range(taxonomy.num_classes))


def _rows(path: Path, header: list[str], records: Iterator[NumberedRow]) -> Iterator[tuple[int, str, float]]:
    """Line, class and prior of each row."""
    for line, cells in records:
        if fault := length_fault(path, (line, cells), len(header)):
            raise DataError(fault)
        name, text = (cells[header.index(column)].strip() for column in COLUMNS)
        yield line, name, _positive(text, f"{path}: row {line}")


def _positive(text: str, where: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (value > 0 and math.isfinite(value)):
        raise DataError(f"{where}: expected a prior above 0, got {text!r}")
    return value
