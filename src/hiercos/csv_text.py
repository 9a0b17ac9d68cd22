"""Rows as CSV text. Plain Python, open to every package."""

import csv
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any


def csv_text(rows: Iterable[Iterable[Any]], delimiter: str = ",") -> str:
    r"""Rows as CSV text with \n at the end of each; a cell that holds a line end of any kind is quoted.

    Python's writer quotes only the characters of its own line end, so it writes \r\n here, which is shortened.

    Example:
        >>> csv_text([["a\rb", "c"]])
        '"a\rb",c\n'
    """
    lines: list[str] = []
    csv.writer(SimpleNamespace(write=lines.append), delimiter=delimiter, lineterminator="\r\n").writerows(rows)
    return "".join(f"{line[:-2]}\n" for line in lines)
