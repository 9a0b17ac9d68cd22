"""Tables for the terminal: the main columns of results; of other rows the columns that fit."""

import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from hiercos.cli.display.output import emit

if TYPE_CHECKING:
    from hiercos.records import Record
    from hiercos.report import Cell, Grid, Results

GAP = 2  # blanks between two columns
NARROWEST = 16  # width to which a column of texts may be wrapped
FIRST = ("top1", "ahd_at_1", "hops")  # metrics of printed tables, by name


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
    """Print the main columns of all tables of the results to stdout; the best figures are marked.

    Args:
        results: the results.
        full: place of the tables with all columns.
    """
    console = Console(width=terminal_width(), highlight=False)
    console.print(results.heading, style="bold", markup=False, soft_wrap=True)
    names = [spec.name for spec in results.shown]
    kept = [0, *(1 + names.index(name) for name in FIRST if name in names)] if {*FIRST} & {*names} else [0, 1, 2, 3]
    for grid in results.grids():
        console.print(f"\n{grid.caption}", markup=False, soft_wrap=True)
        _text_table(grid).columns(kept).print(console)
        if any(abs(cells[column - 1].merit) == 1 for cells in grid.rows for column in kept[1:]):
            console.print(f"* {grid.mark}", markup=False, soft_wrap=True)
    console.print(f"\nAll columns: {full}.\n", markup=False, soft_wrap=True)


def _text_table(grid: "Grid") -> TextTable:
    rows = [[grid.corner, *(column.heading for column in grid.columns)]]
    rows += [[name, *map(_text, cells)] for name, cells in zip(grid.names, grid.rows, strict=True)]
    styles = [[""] * len(rows[0])] + [["", *map(_style, cells)] for cells in grid.rows]
    return TextTable(rows, [False] + [True] * len(grid.columns), styles)


def _text(cell: "Cell") -> str:
    return cell.text + (" *" if abs(cell.merit) == 1 else "")


def _style(cell: "Cell") -> str:
    return "bold green" if cell.merit == 1 else "red" if cell.merit == -1 else ""
