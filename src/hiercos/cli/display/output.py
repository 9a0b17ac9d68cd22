"""Rows as CSV, JSON, Parquet, LaTeX, Markdown or a table, at once or batch by batch, to stdout or to a file."""

import importlib.util
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer

from hiercos import storage
from hiercos.cli.options.groups import OptionError, check_option
from hiercos.errors import visible
from hiercos.storage import csv_text

if TYPE_CHECKING:
    from hiercos.model import AnswerColumns

Row = Mapping[str, Any]
Writer = Callable[["AnswerColumns"], None]
TableFormat = Annotated[str, typer.Option("--format", help="table, csv or json.")]
FILE_FORMATS = ("csv", "json", "parquet")  # formats whose names are file extensions
FORMATS = (*FILE_FORMATS, "table", "latex", "markdown")
FIFTYONE = "fiftyone"
ENDINGS = {"tex": "latex", "md": "markdown"}
FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet runs a cell that begins with one of them


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


def file_format(option: str, path: Path) -> str:
    """Format of the file that an option names, by its extension; csv without one."""
    found = path.suffix.lower().removeprefix(".") or "csv"
    if found not in FILE_FORMATS:
        endings = ", ".join(f".{ending}" for ending in FILE_FORMATS)
        raise OptionError(f"{option} {path}: expected a name that ends in one of {endings}")
    check_format(found, path)
    return found


def emit(
    rows: Sequence[Row], format: str, output: Path | None, *, csv_safe: bool = False, columns: Sequence[str] = ()
) -> None:
    """Write rows with the same keys at once; see `streamed`. Without rows, `columns` are the header."""
    keys = list(rows[0]) if rows else columns
    with streamed(format, output, csv_safe=csv_safe) as write:
        if rows or (keys and format != "json"):
            write({key: [row[key] for row in rows] for key in keys})


@contextmanager
def streamed(format: str, output: Path | None, *, csv_safe: bool = False, in_blocks: bool = False) -> Iterator[Writer]:
    """A function that writes a batch of columns; csv, json and parquet keep no batches in memory.

    Args:
        format: output format, one of `FORMATS` or "fiftyone".
        output: file, which appears only if the block ends without an error; None for standard output.
        csv_safe: whether CSV cells that a spreadsheet would run as formulas are protected; see `safe_cell`.
        in_blocks: whether a table has a block of lines for each row, so that all columns are shown.
    """
    if format not in WRITERS:
        rows: list[Row] = []
        yield lambda columns: rows.extend(rows_of(columns))
        text = _block_text(rows) if in_blocks and format == "table" else _text(rows, format, fitted=output is None)
        if output is None:
            sys.stdout.write(text)
        else:
            storage.write(output, text)
        return
    sys.stdout.flush()  # what was printed before
    with nullcontext(sys.stdout.buffer) if output is None else storage.writing(output) as stream:
        with _csv_writer(stream, is_safe=True) if csv_safe and format == "csv" else WRITERS[format](stream) as write:
            yield write
        stream.flush()


def rows_of(columns: "AnswerColumns") -> list[dict[str, Any]]:
    """The rows of a table as dicts."""
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def safe_cell(value: Any) -> Any:
    """A text that begins like a formula with an apostrophe before it; any other value unchanged.

    Example:
        >>> safe_cell("=1+1"), safe_cell("cat"), safe_cell(-1.5)
        ("'=1+1", 'cat', -1.5)
    """
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA_SIGNS) else value


@contextmanager
def _csv_writer(stream: BinaryIO, *, is_safe: bool = False) -> Iterator[Writer]:
    """Rows after a header; if they are to be safe, each cell is a `safe_cell`."""
    header = True

    def write(columns: "AnswerColumns") -> None:
        nonlocal header
        rows: Iterable[Iterable[Any]] = zip(*columns.values(), strict=True)
        rows, header = [*[columns] * header, *rows], False
        stream.write(csv_text([map(safe_cell, row) for row in rows] if is_safe else rows).encode("utf-8"))

    yield write


@contextmanager
def _json_writer(stream: BinaryIO) -> Iterator[Writer]:
    """A list of objects, formatted as by `json.dumps` with an indentation of 2."""
    start = "["

    def write(columns: "AnswerColumns") -> None:
        nonlocal start
        lines = json.dumps(rows_of(columns), indent=2, ensure_ascii=False)
        stream.write((start + lines[1:-2]).encode("utf-8"))
        start = ","

    yield write
    stream.write(b"[]\n" if start == "[" else b"\n]\n")


@contextmanager
def _parquet_writer(stream: BinaryIO) -> Iterator[Writer]:
    """A row group for each batch; a column that is empty in the first one holds numbers, as optional columns do."""
    import pyarrow
    from pyarrow.parquet import ParquetWriter

    with ExitStack() as stack:
        writers: list[Any] = []

        def write(columns: "AnswerColumns") -> None:
            table = pyarrow.table(columns)
            if not writers:
                kinds = [pyarrow.float64() if pyarrow.types.is_null(kind) else kind for kind in table.schema.types]
                schema = pyarrow.schema(list(zip(table.schema.names, kinds, strict=True)))
                writers.append(stack.enter_context(ParquetWriter(stream, schema)))
            writers[0].write_table(table.cast(writers[0].schema))

        yield write


WRITERS: dict[str, Callable[[BinaryIO], AbstractContextManager[Writer]]] = {
    "csv": _csv_writer,
    "json": _json_writer,
    "parquet": _parquet_writer,
}


def _text(rows: Sequence[Row], format: str, *, fitted: bool) -> str:
    """Rows as a text; a table fits the terminal if `fitted`, else it has all columns."""
    if format == FIFTYONE:
        return fiftyone_text(rows)
    if not rows:
        return ""
    cells = [
        ["–" if value is None else str(value) for value in values]
        for values in (rows[0], *(row.values() for row in rows))
    ]
    if format == "table":
        from hiercos.cli.display.tables import TextTable, fitted_text, terminal_width

        table = TextTable([[*map(visible, texts)] for texts in cells], [sign == "r" for sign in _alignment(rows)])
        return fitted_text(table, terminal_width() if fitted else table.width, "--format csv")
    from hiercos.report import latex_text, markdown_table, tabular

    if format == "markdown":
        return markdown_table(cells[0], cells[1:], _alignment(rows))
    head, *texts = [[*map(latex_text, texts)] for texts in cells]
    return tabular(head, texts, _alignment(rows))


def _alignment(rows: Sequence[Row]) -> str:
    """r for a column of numbers (or dashes), l for one of texts."""
    return "".join("r" if all(_is_number(row[key]) for row in rows) else "l" for key in rows[0])


def _is_number(value: object) -> bool:
    try:
        float(str(value))
    except ValueError:
        return value in (None, "–")
    return True


def _block_text(rows: Sequence[Row]) -> str:
    """Rows as blocks with a line for each value that is not empty, and a blank line between them.

    Example:
        >>> print(_block_text([{"row": 1, "class": "cat"}, {"row": 2, "class": None}]), end="")
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


def fiftyone_text(rows: Sequence[Row]) -> str:
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
