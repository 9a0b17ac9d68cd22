"""Tables that fit the terminal, of results or of texts: columns without room are left out and named below."""

import io
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from hiercos.cli.display.output import emit
from hiercos.metrics import MAIN

if TYPE_CHECKING:
    from hiercos.records import Record
    from hiercos.report import Cell, Grid, Results

GAP = 2  # blanks between two columns
NARROWEST = 16  # width to which a column of texts may be wrapped
FIRST = ("top1", "top5", "hops", "ahd_at_1", *MAIN)  # metrics for which there is room first, by name


def terminal_width() -> int:
    """Width of the terminal in characters: the variable COLUMNS, else the terminal's own; 80 without a terminal."""
    return Console().width


def fitting_columns(widths: Sequence[int], priority: Iterable[int], width: int) -> list[int]:
    """Columns that fit next to each other, in ascending order: as many as possible in the order of `priority`.

    Args:
        widths: width of each column in characters.
        priority: columns from the most to the least important; the first is always kept.
        width: available width.

    Example:
        >>> fitting_columns([10, 6, 6, 6], [0, 3, 1, 2], 26)
        [0, 1, 3]
    """
    kept: list[int] = []
    for column in priority:
        if kept and sum(widths[other] + GAP for other in kept) + widths[column] > width:
            break
        kept.append(column)
    return sorted(kept)


def column_widths(rows: Sequence[Sequence[str]]) -> list[int]:
    """Width of each column of a table in characters, shape (columns,)."""
    return [max(map(cell_len, column)) for column in zip(*rows, strict=True)]


def left_out_note(headings: Sequence[str], width: int, full: str) -> str:
    """The sentence below a table about the columns that had no room.

    Args:
        headings: headings of the columns that were left out.
        width: width of the terminal.
        full: place of the full table, such as "--format csv".
    """
    return f"Left out for a width of {width}: {', '.join(headings)}. All columns: {full}."


@dataclass(frozen=True)
class TextTable:
    """Rows of texts under a heading."""

    rows: Sequence[Sequence[str]]  # the headings, then the rows
    right: Sequence[bool]  # whether each column is aligned to the right, as numbers are
    styles: Sequence[Sequence[str]] = ()  # style of each cell, as rich names them; none by default

    @property
    def width(self) -> int:
        """Width in characters without wrapping."""
        widths = column_widths(self.rows)
        return sum(widths) + GAP * (len(widths) - 1)

    def columns(self, chosen: Sequence[int]) -> "TextTable":
        """The table of some columns."""
        rows, styles = ([[row[column] for column in chosen] for row in part] for part in (self.rows, self.styles))
        return TextTable(rows, [self.right[column] for column in chosen], styles)

    def turned(self) -> "TextTable":
        """The table with rows as columns; all but the first are aligned to the right."""
        rows, styles = (list(zip(*part, strict=True)) for part in (self.rows, self.styles))
        return TextTable(rows, [False] + [True] * (len(self.rows) - 1), styles)

    def print(self, console: Console) -> None:
        """Print the table; texts are wrapped if there is no room, numbers never."""
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
        for heading, right in zip(self.rows[0], self.right, strict=True):
            table.add_column(escape(heading), justify="right" if right else "left", no_wrap=right, overflow="fold")
        for number, row in enumerate(self.rows[1:], 1):
            cells = [escape(text) for text in row]
            styles = self.styles[number] if self.styles else [""] * len(cells)
            styled = zip(cells, styles, strict=True)
            table.add_row(*(f"[{style}]{text}[/]" if style else text for text, style in styled))
        console.print(table)


def fitted_text(table: TextTable, width: int, full: str) -> str:
    """A table as text of at most `width` characters in a line: texts are wrapped, then the last columns left out.

    Args:
        table: the table.
        width: available width.
        full: place of the full table, for the note about columns that were left out.
    """
    needed = [
        wide if right else min(wide, NARROWEST)
        for wide, right in zip(column_widths(table.rows), table.right, strict=True)
    ]
    kept = fitting_columns(needed, range(len(needed)), width)
    stream = io.StringIO()
    table.columns(kept).print(Console(file=stream, width=width))
    lines = [line.rstrip() for line in stream.getvalue().splitlines()]
    if left := [heading for column, heading in enumerate(table.rows[0]) if column not in kept]:
        lines.append(left_out_note(left, width, full))
    return "\n".join(lines) + "\n"


def print_records(records: Sequence["Record"], format: str) -> None:
    """Print results to stdout: as rows of results.csv, or as a table with mean and 95% interval over seeds."""
    from hiercos.report import comparison_results, result_row

    if format != "table":
        emit([result_row(record) for record in records], format, None)
        return
    print_results(comparison_results(records), "--format csv")


def print_results(results: "Results", full: str) -> None:
    """Print all tables of the results to stdout; the best figures are marked.

    Methods are rows if all figures fit the terminal, else columns if these fit, else rows with the main figures.

    Args:
        results: the results.
        full: place of the tables with all columns, for the note about those that were left out.
    """
    console, width, grids = Console(width=terminal_width(), highlight=False), terminal_width(), results.grids()
    console.print(results.heading, style="bold", markup=False, soft_wrap=True)
    tables = [_text_table(grid) for grid in grids]
    left: list[str] = []
    is_turned = False
    if any(table.width > width for table in tables):
        turned = [table.turned() for table in tables]
        is_turned = all(table.width <= width for table in turned)
        if is_turned:
            tables = turned
        else:
            kept = _fitting(grids[0], tables, width)
            tables = [table.columns(kept) for table in tables]
            left = [spec.heading for column, spec in enumerate(results.shown, 1) if column not in kept]
    for grid, table in zip(grids, tables, strict=True):
        console.print(f"\n{grid.caption}", markup=False, soft_wrap=True)
        table.print(console)
        if any(abs(cell.merit) == 1 for cells in grid.rows for cell in cells):
            mark = grid.mark.replace("column", "row") if is_turned else grid.mark
            console.print(f"* {mark}", markup=False, soft_wrap=True)
    if is_turned or "epochs" not in left:
        _print_epochs_note(results, console)
    if left:
        console.print(left_out_note(left, width, full), markup=False, soft_wrap=True)
    console.print()


def _print_epochs_note(results: "Results", console: Console) -> None:
    """Say what a missing number of epochs means, if some variants have one and others do not."""
    variants = [variant for section in results.sections for variant in section.variants]
    missing = [math.isnan(variant.estimate("epochs").mean) for variant in variants]
    if any(missing) and not all(missing):
        console.print("epochs –: a solver finds the weights, without epochs", markup=False, soft_wrap=True)


def _text_table(grid: "Grid") -> TextTable:
    rows = [[grid.corner, *(column.heading for column in grid.columns)]]
    rows += [[name, *map(_text, cells)] for name, cells in zip(grid.names, grid.rows, strict=True)]
    styles = [[""] * len(rows[0])] + [["", *map(_style, cells)] for cells in grid.rows]
    return TextTable(rows, [False] + [True] * len(grid.columns), styles)


def _fitting(grid: "Grid", tables: Sequence[TextTable], width: int) -> list[int]:
    """Columns for which every table has room, the names and then the metrics in the order of `FIRST`."""
    widths = [max(each) for each in zip(*(column_widths(table.rows) for table in tables), strict=True)]
    names = [spec.name for spec in grid.columns]
    ordered = dict.fromkeys([*(name for name in FIRST if name in names), *names])
    return fitting_columns(widths, [0, *(1 + names.index(name) for name in ordered)], width)


def _text(cell: "Cell") -> str:
    return cell.text + (" *" if abs(cell.merit) == 1 else "")


def _style(cell: "Cell") -> str:
    return "bold green" if cell.merit == 1 else "red" if cell.merit == -1 else ""
