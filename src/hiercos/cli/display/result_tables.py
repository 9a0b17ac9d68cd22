"""Results as tables on the terminal."""

import math
from collections.abc import Sequence

from rich.console import Console

from hiercos.cli.display.output import emit
from hiercos.cli.display.text_tables import (
    TextTable,
    column_widths,
    fitting_columns,
    left_out_note,
    terminal_width,
)
from hiercos.metrics import MAIN
from hiercos.records import Record
from hiercos.report import Cell, Grid, Results, comparison_results, result_row

FIRST = ("top1", "top5", "hops", "ahd_at_1", *MAIN)  # metrics for which there is room first, by name


def print_records(records: Sequence[Record], format: str) -> None:
    """Print results to stdout: as rows of results.csv, or as a table with mean and 95% interval over seeds."""
    if format != "table":
        emit([result_row(record) for record in records], format, None)
        return
    print_results(comparison_results(records), "--format csv")


def print_results(results: Results, full: str) -> None:
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


def _print_epochs_note(results: Results, console: Console) -> None:
    """Say what a missing number of epochs means, if some variants have one and others do not."""
    variants = [variant for section in results.sections for variant in section.variants]
    missing = [math.isnan(variant.estimate("epochs").mean) for variant in variants]
    if any(missing) and not all(missing):
        console.print("epochs –: a solver finds the weights, without epochs", markup=False, soft_wrap=True)


def _text_table(grid: Grid) -> TextTable:
    rows = [[grid.corner, *(column.heading for column in grid.columns)]]
    rows += [[name, *map(_text, cells)] for name, cells in zip(grid.names, grid.rows, strict=True)]
    styles = [[""] * len(rows[0])] + [["", *map(_style, cells)] for cells in grid.rows]
    return TextTable(rows, [False] + [True] * len(grid.columns), styles)


def _fitting(grid: Grid, tables: Sequence[TextTable], width: int) -> list[int]:
    """Columns for which every table has room, the names and then the metrics in the order of `FIRST`."""
    widths = [max(each) for each in zip(*(column_widths(table.rows) for table in tables), strict=True)]
    names = [spec.name for spec in grid.columns]
    ordered = dict.fromkeys([*(name for name in FIRST if name in names), *names])
    return fitting_columns(widths, [0, *(1 + names.index(name) for name in ordered)], width)


def _text(cell: Cell) -> str:
    return cell.text + (" *" if abs(cell.merit) == 1 else "")


def _style(cell: Cell) -> str:
    return "bold green" if cell.merit == 1 else "red" if cell.merit == -1 else ""
