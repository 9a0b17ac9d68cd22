"""Results as tables on the terminal: our own, and ours beside published ones, with notes."""

import json
import math
from collections.abc import Iterator, Sequence
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from hiercos.benchmark import COMMON_DIFFERENCES, Attempt
from hiercos.benchmark.published import PublishedRow, PublishedTable
from hiercos.cli.display.output import emit
from hiercos.cli.display.text_tables import (
    TextTable,
    column_widths,
    fitting_columns,
    left_out_note,
    terminal_width,
)
from hiercos.metric_table import MAIN, metric_spec
from hiercos.records import Record
from hiercos.report import MARK, Cell, Estimate, Grid, Pair, Results, comparison_results, pairs, result_row

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


def attempted_rows(table: PublishedTable, attempts: Sequence[Attempt]) -> Iterator[tuple[Attempt, str, PublishedRow]]:
    """Every published row that an attempt should reproduce, with its rule."""
    for attempt in attempts:
        for rule, row in attempt.recipe.rows(table):
            yield attempt, rule, row


def row_pairs(attempt: Attempt, rule: str, row: PublishedRow) -> list[Pair]:
    """The figures of a published row paired with ours."""
    published = {
        metric: None if figure is None else Estimate(figure.mean, figure.half_width)
        for metric, figure in row.figures.items()
    }
    return pairs(attempt.records.get(rule, []), published, row.unmatchable)


def long_rows(table: PublishedTable, attempts: Sequence[Attempt]) -> list[dict[str, Any]]:
    """One row per figure, in the units of results.csv."""
    return [
        {
            "table": table.name,
            "dataset": row.dataset,
            "row": row.label,
            "recipe": attempt.recipe.name,
            "rule": rule,
            "metric": pair.column.name,
            "ours": _number(pair.ours, "mean"),
            "ours_half_width": _number(pair.ours, "half_width"),
            "published": _number(pair.published, "mean"),
            "published_half_width": _number(pair.published, "half_width"),
            "difference": pair.difference,
            "matchable": pair.matchable,
            "seeds": len(attempt.records.get(rule, [])),
            "changes": "; ".join(attempt.recipe.changes),
            "obstacle": attempt.obstacle,
        }
        for attempt, rule, row in attempted_rows(table, attempts)
        for pair in row_pairs(attempt, rule, row)
    ]


def published_json(table: PublishedTable, attempts: Sequence[Attempt]) -> str:
    """The figures and notes of a table as JSON."""
    values = {
        "table": table.name,
        "source": table.source,
        "figures": long_rows(table, attempts),
        "notes": notes(table, attempts),
    }
    return json.dumps(values, indent=2, ensure_ascii=False) + "\n"


def print_table(table: PublishedTable, attempts: Sequence[Attempt]) -> None:
    """Print a table with published figures, ours and their differences, and the notes below it.

    Metrics are columns if the terminal is wide enough, else lines.
    """
    width = terminal_width()
    wide = wide_table(table, attempts)
    grid = wide if Console(width=1000).measure(wide).maximum <= width else narrow_table(table, attempts)
    Console(width=width).print(grid)
    for note in notes(table, attempts):
        typer.echo(note)


def wide_table(table: PublishedTable, attempts: Sequence[Attempt]) -> Table:
    """Table with up to three lines per row (published, ours, difference) and a column for each metric."""
    grid = Table(title=escape(f"{table.title} ({table.source})"), title_justify="left")
    grid.add_column("row", no_wrap=True)
    grid.add_column("", no_wrap=True)
    for metric in table.columns:
        grid.add_column(metric_spec(metric).heading, justify="right", no_wrap=True)
    for attempt, rule, row in attempted_rows(table, attempts):
        cells = [pair.cells() for pair in row_pairs(attempt, rule, row)]
        ours, published, difference = zip(*cells, strict=True)
        grid.add_section()
        grid.add_row(escape(_name(table, attempt, rule, row)), "published", *published)
        if attempt.records:
            grid.add_row("", _seeds(attempt, rule), *ours)
            grid.add_row("", "difference", *difference)
    return grid


def narrow_table(table: PublishedTable, attempts: Sequence[Attempt]) -> Table:
    """Table with a line for each metric of a row; our figures have columns if there are any."""
    grid = Table(title=escape(f"{table.title} ({table.source})"), title_justify="left")
    own = ("ours", "difference") if any(attempt.records for attempt in attempts) else ()
    for heading in ("row", "metric", "published", *own):
        grid.add_column(heading, justify="left" if heading in ("row", "metric") else "right")
    for attempt, rule, row in attempted_rows(table, attempts):
        grid.add_section()
        name = escape(_name(table, attempt, rule, row))
        name = f"{name}, {_seeds(attempt, rule)}" if attempt.records else name
        for place, pair in enumerate(row_pairs(attempt, rule, row)):
            ours, published, difference = pair.cells()
            figures = (published, ours, difference) if own else (published,)
            grid.add_row("" if place else name, pair.column.heading, *figures)
    return grid


def notes(table: PublishedTable, attempts: Sequence[Attempt]) -> list[str]:
    """The notes of a table, each sentence once with the names of its rows.

    They cover figures that cannot be matched, differences of the recipes, the user's changes, and recipes not run.
    """
    named: dict[str, list[str]] = {}
    for attempt, rule, row in attempted_rows(table, attempts):
        sentences = [note.text for note in row.notes] + list(attempt.recipe.differs)
        sentences += [f"not the published recipe: {change}" for change in attempt.recipe.changes]
        sentences += [f"not run: {attempt.obstacle}"] if attempt.obstacle else []
        for sentence in sentences:
            named.setdefault(sentence, []).append(_name(table, attempt, rule, row))
    lines = [f"{', '.join(dict.fromkeys(names))}: {sentence}" for sentence, names in named.items()]
    if any(row.unmatchable for _, _, row in attempted_rows(table, attempts)):
        lines.insert(0, f"{MARK} A correct implementation cannot match this figure; the notes say why.")
    if any(attempt.records for attempt in attempts):
        lines += [f"All rows: {sentence}" for sentence in COMMON_DIFFERENCES]
    return [*lines, *dict.fromkeys(remark for attempt in attempts for remark in attempt.remarks)]


def _seeds(attempt: Attempt, rule: str) -> str:
    count = len(attempt.records[rule])
    return f"ours, {count} seed{'s' if count > 1 else ''}"


def _name(table: PublishedTable, attempt: Attempt, rule: str, row: PublishedRow) -> str:
    """The paper's name of a row, with its data set if the table has several and its recipe if named differently."""
    recipe = attempt.recipe.name if rule == "none" else f"{attempt.recipe.name} + {rule}"
    label = row.label if len(table.datasets) == 1 else f"{row.label} on {row.dataset}"
    return label if recipe == row.name else f"{label} by {recipe}"


def _number(estimate: Estimate | None, name: str) -> float | None:
    value = math.nan if estimate is None else float(getattr(estimate, name))
    return None if math.isnan(value) else value
