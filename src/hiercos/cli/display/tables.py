"""Results as tables on the terminal."""

import sys
from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from hiercos.cli.display.output import emit
from hiercos.records import Record
from hiercos.report import Cell, Grid, Results, comparison_results, result_row


def print_records(records: Sequence[Record], format: str) -> None:
    """Print results to stdout: as rows of results.csv, or as a table with mean and 95% interval over seeds."""
    if format != "table":
        emit([result_row(record) for record in records], format, None)
        return
    print_results(comparison_results(records))


def print_results(results: Results) -> None:
    """Print all tables of the results to stdout.

    The best figures are marked. Methods are rows if the terminal is wide enough, else columns.
    """
    width = Console().width if sys.stdout.isatty() else 1000
    Console(width=max(width, len(results.heading))).print(escape(results.heading), style="bold")
    for grid in results.grids():
        rows = [[grid.corner, *(column.heading for column in grid.columns)]]
        rows += [[name, *map(_text, cells)] for name, cells in zip(grid.names, grid.rows, strict=True)]
        styles = [[""] * len(rows[0])] + [["", *map(_style, cells)] for cells in grid.rows]
        if _width(rows) > width:
            rows, styles = _turned(rows), _turned(styles)
        Console(width=max(width, _width(rows))).print(_table(grid, rows, styles))


def _text(cell: Cell) -> str:
    return cell.text + (" *" if abs(cell.merit) == 1 else "")


def _style(cell: Cell) -> str:
    return "bold green" if cell.merit == 1 else "red" if cell.merit == -1 else ""


def _table(grid: Grid, rows: Sequence[Sequence[str]], styles: Sequence[Sequence[str]]) -> Table:
    marked = any(abs(cell.merit) == 1 for cells in grid.rows for cell in cells)
    caption = f"* {grid.mark}" if marked else None
    table = Table(title=escape(grid.caption), title_justify="left", caption=caption, caption_justify="left")
    for index, heading in enumerate(rows[0]):
        table.add_column(escape(heading), justify="right" if index else "left", no_wrap=True)
    for cells, looks in zip(rows[1:], styles[1:], strict=True):
        texts = [escape(text) for text in cells]
        table.add_row(*(f"[{look}]{text}[/]" if look else text for text, look in zip(texts, looks, strict=True)))
    return table


def _turned(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    return [list(column) for column in zip(*rows, strict=True)]


def _width(rows: Sequence[Sequence[str]]) -> int:
    """Width in characters of a table with these rows, including borders."""
    return 1 + sum(3 + max(map(len, column)) for column in zip(*rows, strict=True))
