"""Rows as CSV, JSON, Parquet, LaTeX, Markdown or a table, at once or batch by batch, to stdout or to a file."""

import importlib.util
import json
import os
import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer

from hiercos import storage
from hiercos.cli.options.groups import OptionError, check_option
from hiercos.csv_text import csv_text
from hiercos.errors import visible

if TYPE_CHECKING:
    from hiercos.model import AnswerColumns

Row = Mapping[str, Any]
TableFormat = Annotated[str, typer.Option("--format", help="table, csv or json.")]
FORMATS = ("csv", "json", "parquet", "table", "latex", "markdown")
FILE_FORMATS = ("csv", "json", "parquet")  # formats whose names are file extensions
ENDINGS = {"tex": "latex", "md": "markdown"}


def chosen_format(format: str | None, output: Path | None, default: str) -> str:
    """The given format, else that of the output file's extension, else the default.

    Raises:
        OptionError: an unknown extension, if no format is given.
    """
    if format is not None or output is None:
        return format or default
    suffix = output.suffix.lower().removeprefix(".")
    found = ENDINGS.get(suffix, suffix)
    if found and found not in FORMATS:
        endings = ", ".join(f".{ending}" for ending in (*FILE_FORMATS, *ENDINGS))
        raise OptionError(f"--output {output}: expected a name that ends in one of {endings}, or --format with it")
    return found or default


def check_format(format: str, output: Path | None, formats: Sequence[str] = FORMATS) -> None:
    """Raise an `OptionError` for a format that is unknown or cannot be written, before any work is done."""
    check_option("--format", format, formats)
    if format == "parquet" and output is None:
        raise OptionError("--format parquet: expected --output FILE, Parquet cannot be printed")
    if format == "parquet" and importlib.util.find_spec("pyarrow") is None:
        raise OptionError("--format parquet needs pyarrow (pip install 'hiercos[parquet]')")


def emit(rows: Sequence[Row], format: str, output: Path | None, *, csv_safe: bool = False) -> None:
    """Write rows with the same keys; a file is written completely or not at all.

    Args:
        rows: rows to write.
        format: one of `FORMATS`.
        output: file; None for standard output.
        csv_safe: whether CSV cells that a spreadsheet would run as formulas are protected; see `safe_cell`.
    """
    writers: dict[str, Callable[[Sequence[Row]], str | bytes]] = {
        "csv": partial(_csv, safe=csv_safe),
        "json": _json,
        "parquet": _parquet,
        "table": partial(_table, fitted=output is None),
        "latex": _latex,
        "markdown": _markdown,
    }
    deliver(writers[format](rows), output)


def deliver(content: str | bytes, output: Path | None) -> None:
    """Write text to standard output, or text or bytes to a file, completely or not at all."""
    if output is not None:
        storage.write(output, content)
    else:
        sys.stdout.write(str(content))


FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet runs a cell that begins with one of them


def safe_cell(value: Any) -> Any:
    """A text that begins like a formula with an apostrophe before it; any other value unchanged.

    Example:
        >>> safe_cell("=1+1"), safe_cell("cat"), safe_cell(-1.5)
        ("'=1+1", 'cat', -1.5)
    """
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA_SIGNS) else value


def _csv(rows: Sequence[Row], *, safe: bool = False) -> str:
    return csv_text(map(safe_cell, row) if safe else row for row in _cells(rows))


def _json(rows: Sequence[Row]) -> str:
    return json.dumps(list(rows), indent=2, ensure_ascii=False) + "\n"


def _parquet(rows: Sequence[Row]) -> bytes:
    import pyarrow
    import pyarrow.parquet

    sink = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist([dict(row) for row in rows]), sink)
    return bytes(sink.getvalue())


def _table(rows: Sequence[Row], *, fitted: bool) -> str:
    """A table as text; it fits the terminal if `fitted`, else it has all columns."""
    from hiercos.cli.display.text_tables import TextTable, fitted_text, terminal_width

    texts = [[visible(str(value)) for value in values] for values in _cells(rows)]
    table = TextTable(texts, [sign == "r" for sign in _alignment(rows)])
    return fitted_text(table, terminal_width() if fitted else table.width, "--format csv")


def _latex(rows: Sequence[Row]) -> str:
    from hiercos.report import latex_text, tabular

    head, *texts = [[latex_text(str(value)) for value in values] for values in _cells(rows)]
    return tabular(head, texts, _alignment(rows))


def _markdown(rows: Sequence[Row]) -> str:
    from hiercos.report import markdown_table

    head, *texts = [[str(value) for value in values] for values in _cells(rows)]
    return markdown_table(head, texts, _alignment(rows))


def _cells(rows: Sequence[Row]) -> list[list[Any]]:
    return [list(rows[0]), *(list(row.values()) for row in rows)]


def _alignment(rows: Sequence[Row]) -> str:
    """r for a column of numbers (or dashes), l for one of texts."""
    columns = [[row[key] for row in rows] for key in rows[0]]
    return "".join("r" if all(map(_is_number, column)) else "l" for column in columns)


def _is_number(value: object) -> bool:
    try:
        float(str(value))
    except ValueError:
        return value == "–"
    return True


FIFTYONE = "fiftyone"


def fiftyone_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Labels of images for FiftyOne: a JSON object with a label for each absolute path.

    Args:
        rows: rows with `image`, `class` and `confidence`; the levels and the id become attributes of the label.
    """
    from hiercos.model import is_level_column

    labels = {
        os.path.abspath(row["image"]): {
            "label": row["class"],
            "confidence": row["confidence"],
            "attributes": {key: value for key, value in row.items() if value and (key == "id" or is_level_column(key))},
        }
        for row in rows
    }
    return json.dumps({"labels": labels}, indent=2, ensure_ascii=False) + "\n"


class ColumnWriter(ABC):
    """Base class of writers of a table in batches of columns with the same names."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream, self.batches = stream, 0

    def write(self, columns: "AnswerColumns") -> None:
        """Write a batch."""
        self.write_batch(columns)
        self.batches += 1

    @abstractmethod
    def write_batch(self, columns: "AnswerColumns") -> None:
        """Write a batch; `batches` counts those before it."""

    def close(self) -> None:  # noqa: B027  # most formats end with their last batch
        """Write the end of the file, after the last batch."""


class CsvWriter(ColumnWriter):
    """Comma-separated values with a header; with `safe`, cells like formulas are protected, see `safe_cell`."""

    safe = False

    def write_batch(self, columns: "AnswerColumns") -> None:
        """Write rows, after the header in the first batch."""
        cells: list[list[Any]] = list(columns.values())
        if self.safe:
            cells = [[*map(safe_cell, column)] for column in cells]
        header = "" if self.batches else csv_text([map(safe_cell, columns) if self.safe else columns])
        self.stream.write((header + csv_columns_text(cells)).encode("utf-8"))


QUOTED = re.compile(r'[,"\r\n]')  # characters of a cell that is quoted


def csv_columns_text(columns: Sequence[Sequence[Any]]) -> str:
    r"""Columns of equal length as CSV text, the same as `csv_text(zip(*columns))`; each is converted as a whole.

    Example:
        >>> csv_columns_text([[1, 2], ["cat", "cat, big"], [0.5, None]])
        '1,cat,0.5\n2,"cat, big",\n'
    """
    cells = [_column_cells(column) for column in columns]
    if len(columns) < 2 or any(column is None for column in cells):
        return csv_text(zip(*columns, strict=True))
    rows = zip(*(column for column in cells if column is not None), strict=True)
    return "\n".join([*map(",".join, rows), ""])


def _column_cells(column: Sequence[Any]) -> Sequence[str] | None:
    """Cells of a column of texts, integers, floats or None as CSV texts; None for a column of other values."""
    kinds = {*map(type, column)}
    if kinds == {str}:
        quoted = {text: f'"{text.replace(chr(34), 2 * chr(34))}"' for text in {*column} if QUOTED.search(text)}
        return [quoted.get(text, text) for text in column] if quoted else column
    if kinds <= {int} or kinds <= {float}:
        return [*map(repr, column)]
    if kinds <= {int, float, NoneType}:
        return ["" if value is None else repr(value) for value in column]
    return None


class SafeCsvWriter(CsvWriter):
    """Comma-separated values that no spreadsheet runs as formulas."""

    safe = True


class JsonWriter(ColumnWriter):
    """A JSON list of objects, formatted as by `json.dumps` with an indentation of 2."""

    def write_batch(self, columns: "AnswerColumns") -> None:
        """Write objects, after a bracket in the first batch and a comma in the others."""
        lines = json.dumps(rows_of(columns), indent=2, ensure_ascii=False)
        self.stream.write(("," if self.batches else "[").encode() + lines[1:-2].encode("utf-8"))

    def close(self) -> None:
        """Write the closing bracket."""
        self.stream.write(b"\n]\n" if self.batches else b"[]\n")


class ParquetWriter(ColumnWriter):
    """A Parquet file with a row group for each batch."""

    def __init__(self, stream: BinaryIO) -> None:
        super().__init__(stream)
        self._writer: Any = None

    def write_batch(self, columns: "AnswerColumns") -> None:
        """Write a row group."""
        import pyarrow
        import pyarrow.parquet

        table = pyarrow.table(columns)
        if self._writer is None:
            table = table.cast(_known_types(table.schema))
            self._writer = pyarrow.parquet.ParquetWriter(self.stream, table.schema)
        self._writer.write_table(table.cast(self._writer.schema))

    def close(self) -> None:
        """Write the footer."""
        if self._writer is not None:
            self._writer.close()


def _known_types(schema: Any) -> Any:
    """The schema with numbers for columns that are empty in the first batch: the optional columns are numbers."""
    import pyarrow

    fields = (field.with_type(pyarrow.float64()) if pyarrow.types.is_null(field.type) else field for field in schema)
    return pyarrow.schema(list(fields))


WRITERS: dict[str, type[ColumnWriter]] = {"csv": CsvWriter, "json": JsonWriter, "parquet": ParquetWriter}


@contextmanager
def streamed(
    format: str, output: Path | None, *, csv_safe: bool = False, in_blocks: bool = False
) -> Iterator[Callable[["AnswerColumns"], None]]:
    """A function that writes a batch of columns; csv, json and parquet keep no batches in memory.

    Args:
        format: output format, one of `FORMATS` or "fiftyone".
        output: file, which appears only if the block ends without an error; None for standard output.
        csv_safe: whether CSV cells that a spreadsheet would run as formulas are protected.
        in_blocks: whether a table has a block of lines for each row, so that all columns are shown.
    """
    if format not in WRITERS:
        kept: list[dict[str, Any]] = []
        yield lambda columns: kept.extend(rows_of(columns))
        if format == "table" and in_blocks:
            deliver(blocks_text(kept), output)
            return
        deliver(fiftyone_text(kept), output) if format == FIFTYONE else emit(kept, format, output)
        return
    with ExitStack() as stack:
        stream = sys.stdout.buffer if output is None else stack.enter_context(storage.writing(output))
        writer = (SafeCsvWriter if csv_safe and format == "csv" else WRITERS[format])(stream)
        yield writer.write
        writer.close()
        stream.flush()


def blocks_text(rows: Sequence[Row]) -> str:
    """Rows as blocks with a line for each value that is not empty, and a blank line between them.

    Example:
        >>> print(blocks_text([{"row": 1, "class": "cat"}, {"row": 2, "class": None}]), end="")
        row    1
        class  cat
        <BLANKLINE>
        row  2
    """
    blocks = []
    for row in rows:
        shown = {name: visible(str(value)) for name, value in row.items() if value not in (None, "")}
        width = max(map(len, shown), default=0)
        blocks.append("".join(f"{name:<{width}}  {value}\n" for name, value in shown.items()))
    return "\n".join(blocks)


def rows_of(columns: "AnswerColumns") -> list[dict[str, Any]]:
    """The rows of a table as dicts."""
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
