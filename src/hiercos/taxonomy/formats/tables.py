"""CSV and TSV as rows of stripped text: a header, and every row with its line. Codes stay as they are written."""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from reprlib import repr as shortened

from hiercos.taxonomy.checks import repeated
from hiercos.taxonomy.errors import TaxonomyError

Row = tuple[str, dict[str, str]]  # where the row stands, and its field under each column


def read_table(text: str, delimiter: str, faults: list[str]) -> tuple[list[str], Iterator[Row]]:
    """The columns of a table and its rows.

    Args:
        text: the whole file.
        delimiter: what stands between two fields.
        faults: rows that do not fit the header are appended here, while the rows are read.

    Raises:
        TaxonomyError: if there is no usable header, or no row under it.
    """
    lines = _lines(text, delimiter, faults)
    header, first = next(lines, (1, [])), next(lines, None)
    columns = [field.strip().casefold() for field in header[1]]
    header_faults = [f"row 1: column {place} has no name" for place, name in enumerate(columns, 1) if not name]
    header_faults += [f"row 1: column {name!r} stands {count} times" for name, count in repeated(columns) if name]
    if fault := separator_fault(columns, delimiter):
        header_faults.append(f"row 1: {fault}")
    if first is None and not faults:
        header_faults.append("the file has no rows: expected a header and one row under it for each class")
    if header_faults or first is None:
        raise TaxonomyError(faults + header_faults)
    return columns, _fitting_rows(columns, chain([first], lines), faults)


def separator_fault(columns: Sequence[str], delimiter: str) -> str | None:
    """A sentence about a header that is a single column because another sign stands between its names.

    Example:
        >>> separator_fault(["text;label"], ",")
        "expected ',' between columns, it seems to be ';'"
    """
    signs = [sign for sign in ";\t,|" if sign != delimiter and len(columns) == 1 and sign in columns[0]]
    return f"expected {delimiter!r} between columns, it seems to be {signs[0]!r}" if signs else None


def _lines(text: str, delimiter: str, faults: list[str]) -> Iterator[tuple[int, list[str]]]:
    """Each row that is not blank, with the line it begins on."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    number = 1
    try:
        for fields in reader:
            if fields:
                yield number, fields
            number = reader.line_num + 1
    except csv.Error as error:
        faults.append(f"row {number}: {error}")


def _fitting_rows(columns: list[str], lines: Iterable[tuple[int, list[str]]], faults: list[str]) -> Iterator[Row]:
    for number, fields in lines:
        if len(fields) == len(columns):
            yield f"row {number}", dict(zip(columns, map(str.strip, fields), strict=True))
        else:
            faults.append(
                f"row {number}: expected {len(columns)} fields as in the header, got {len(fields)}: {shortened(fields)}"
            )


def table_text(rows: Iterable[Sequence[str]], delimiter: str) -> str:
    """The rows as a table that reads back the same.

    Raises:
        TaxonomyError: naming every field with white space around it, which reading strips.
    """
    table = list(rows)
    fields = [field for row in table for field in row]
    if padded := {field: None for field in fields if field != field.strip()}:
        raise TaxonomyError(f"{field!r}: a table cannot hold white space around a name; json can" for field in padded)
    stream = io.StringIO(newline="")
    if any("\r" in field for field in fields):  # the writer quotes only the line ends that it writes itself
        writer = csv.writer(stream, delimiter=delimiter, quoting=csv.QUOTE_ALL, lineterminator="\n")
    else:
        writer = csv.writer(stream, delimiter=delimiter, lineterminator="\n")
    writer.writerows(table)
    return stream.getvalue()
