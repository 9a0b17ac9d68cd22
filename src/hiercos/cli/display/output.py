"""Rows as CSV, JSON, Parquet, LaTeX, Markdown or a table, to standard output or to a file."""

import importlib.util
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from hiercos.cli.options.groups import OptionError, check_option
from hiercos.errors import visible
from hiercos.files import csv_text, write_atomically

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


def check_format(format: str, output: Path | None) -> None:
    """Raise an `OptionError` for a format that is unknown or cannot be written, before any work is done."""
    check_option("--format", format, FORMATS)
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
        write_atomically(output, content)
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
    from hiercos.predictions import is_level_column

    labels = {
        os.path.abspath(row["image"]): {
            "label": row["class"],
            "confidence": row["confidence"],
            "attributes": {key: value for key, value in row.items() if value and (key == "id" or is_level_column(key))},
        }
        for row in rows
    }
    return json.dumps({"labels": labels}, indent=2, ensure_ascii=False) + "\n"
