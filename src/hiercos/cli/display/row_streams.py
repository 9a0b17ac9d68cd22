"""Tables streamed batch by batch, to standard output or to a file that is written completely or not at all."""

import json
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from hiercos.cli.display.output import FIFTYONE, deliver, emit, fiftyone_text, safe_cell
from hiercos.files import csv_text, written_atomically

if TYPE_CHECKING:
    from hiercos.predictions import AnswerColumns


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
        header = () if self.batches else (columns,)
        rows: Iterable[Iterable[Any]] = chain(header, zip(*columns.values(), strict=True))
        self.stream.write(csv_text((map(safe_cell, row) for row in rows) if self.safe else rows).encode("utf-8"))


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
            self._writer = pyarrow.parquet.ParquetWriter(self.stream, table.schema)
        self._writer.write_table(table.cast(self._writer.schema))

    def close(self) -> None:
        """Write the footer."""
        if self._writer is not None:
            self._writer.close()


WRITERS: dict[str, type[ColumnWriter]] = {"csv": CsvWriter, "json": JsonWriter, "parquet": ParquetWriter}


@contextmanager
def streamed(
    format: str, output: Path | None, *, csv_safe: bool = False
) -> Iterator[Callable[["AnswerColumns"], None]]:
    """A function that writes a batch of columns; csv, json and parquet keep no batches in memory.

    Args:
        format: output format, one of `FORMATS` or "fiftyone".
        output: file, which appears only if the block ends without an error; None for standard output.
        csv_safe: whether CSV cells that a spreadsheet would run as formulas are protected.
    """
    if format not in WRITERS:
        kept: list[dict[str, Any]] = []
        yield lambda columns: kept.extend(rows_of(columns))
        deliver(fiftyone_text(kept), output) if format == FIFTYONE else emit(kept, format, output)
        return
    with ExitStack() as stack:
        stream = sys.stdout.buffer if output is None else stack.enter_context(written_atomically(output))
        writer = (SafeCsvWriter if csv_safe and format == "csv" else WRITERS[format])(stream)
        yield writer.write
        writer.close()
        stream.flush()


def rows_of(columns: "AnswerColumns") -> list[dict[str, Any]]:
    """The rows of a table as dicts."""
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
