"""Results as tables on the terminal."""

import sys
from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from hiercos.cli.output import emit
from hiercos.records import Record
from hiercos.report import COLUMNS, best_lines, cell, result_row, summarize


def print_records(records: Sequence[Record], format: str) -> None:
    """Print results to stdout: as rows of results.csv, or as a table with mean and 95% interval over seeds.

    The best of each figure is marked. Methods are rows where the terminal is wide enough, and columns elsewhere.
    """
    if format != "table":
        emit([result_row(record) for record in records], format, None)
        return
    lines = summarize(records)
    best = best_lines(lines)
    head = ["method", *(column.heading for column in COLUMNS)]
    grid = [
        [line.name]
        + [cell(line.estimate(column.key), column) + (" *" if index in best[column.key] else "") for column in COLUMNS]
        for index, line in enumerate(lines)
    ]
    rows = [head, *grid]
    width = Console().width if sys.stdout.isatty() else 1000
    if _width(rows) > width:
        rows = [list(row) for row in zip(*rows, strict=True)]
    Console(width=max(width, _width(rows))).print(_table(rows, _title(records)))


def _table(rows: Sequence[Sequence[str]], title: str) -> Table:
    table = Table(title=escape(title), title_justify="left")
    for index, heading in enumerate(rows[0]):
        table.add_column(heading, justify="right" if index else "left", no_wrap=True)
    for name, *cells in rows[1:]:
        table.add_row(name, *(f"[bold green]{text}[/]" if text.endswith("*") else text for text in cells))
    return table


def _width(rows: Sequence[Sequence[str]]) -> int:
    """Characters a table of these rows takes, borders included."""
    return 1 + sum(3 + max(map(len, column)) for column in zip(*rows, strict=True))


def _title(records: Sequence[Record]) -> str:
    data, tree = records[0].data, records[0].taxonomy
    seeds = len({record.seed for record in records})
    return (
        f"{data['name']}: {tree['classes']} classes, {tree['nodes']} nodes, height {tree['height']}; "
        f"{data['sizes']['test']} test samples; {seeds} seed{'s' if seeds > 1 else ''}"
    )
