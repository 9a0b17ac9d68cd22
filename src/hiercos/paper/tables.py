"""Our figures beside published ones: tables on the terminal, rows and JSON, with notes."""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from hiercos.cli.display.tables import terminal_width
from hiercos.metrics import MetricSpec, metric_spec
from hiercos.paper.published import PublishedRow, PublishedTable
from hiercos.paper.reproduction import COMMON_DIFFERENCES, Attempt
from hiercos.records import Record
from hiercos.report import Estimate, t_interval

MARK = "†"  # marks a published figure that a correct implementation cannot match
PRINTED = 2  # number of decimals of a mean in the paper


@dataclass(frozen=True)
class Pair:
    """One figure, ours and published."""

    column: MetricSpec  # metric and its display format
    ours: Estimate | None  # our figure, with the published convention of intervals; None if it was not measured
    published: Estimate | None  # published figure; None if the paper leaves the cell blank
    matchable: bool = True  # False if a defect of the published code affects this figure

    @property
    def difference(self) -> float | None:
        """Our figure minus the published one; None if either is missing."""
        if self.ours is None or self.published is None:
            return None
        return self.ours.mean - self.published.mean

    def cells(self) -> tuple[str, str, str]:
        """Our figure, the published one and the difference as table cells."""
        mark = "" if self.matchable or self.published is None else f" {MARK}"
        difference = "" if self.difference is None else self.column.text(self.difference, sign="+")
        printed = replace(self.column, digits=PRINTED)
        return _figure_text(self.ours, self.column), _figure_text(self.published, printed) + mark, difference


def pairs(records: Sequence[Record], row: PublishedRow) -> list[Pair]:
    """Every figure of a published row beside ours, from the records of our runs, one per seed; none if none was run."""
    return [
        Pair(metric_spec(metric), _ours(records, metric), figure, metric not in row.unmatchable)
        for metric, figure in row.figures.items()
    ]


def _ours(records: Sequence[Record], metric: str) -> Estimate | None:
    values = [record.metrics[metric] for record in records if metric in record.metrics]
    return t_interval(values, ddof=0) if values else None


def _figure_text(estimate: Estimate | None, column: MetricSpec) -> str:
    if estimate is None:
        return "–"
    half_width = "" if math.isnan(estimate.half_width) else f" ±{estimate.half_width * column.scale:.3f}"
    return column.text(estimate.mean) + half_width


def attempted_rows(table: PublishedTable, attempts: Sequence[Attempt]) -> Iterator[tuple[Attempt, str, PublishedRow]]:
    """Every published row that an attempt should reproduce, with its rule."""
    for attempt in attempts:
        for rule, row in attempt.recipe.rows(table):
            yield attempt, rule, row


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
        for pair in pairs(attempt.records.get(rule, []), row)
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
        cells = [pair.cells() for pair in pairs(attempt.records.get(rule, []), row)]
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
        for place, pair in enumerate(pairs(attempt.records.get(rule, []), row)):
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
