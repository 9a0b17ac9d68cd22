"""The tables of the Hier-COS paper, read from one JSON file each with the figures as printed."""

import functools
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from hiercos.errors import FaultsError, suggestion
from hiercos.metrics import metric_spec
from hiercos.report import Estimate

__all__ = [
    "Note",
    "PublishedError",
    "PublishedRow",
    "PublishedTable",
    "published",
    "published_table",
    "published_tables",
]


class PublishedError(FaultsError):
    """A table, data set or row that is not in the paper."""


@dataclass(frozen=True)
class Note:
    """A remark about a row: a sentence, and the columns that a correct implementation cannot match."""

    text: str
    unmatchable: tuple[str, ...] = ()


@dataclass(frozen=True)
class PublishedRow:
    """One row of a table."""

    dataset: str  # name of the data set
    name: str  # name used by recipes and commands
    label: str  # name printed in the paper; an asterisk marks figures copied from another paper
    # figures by column in the units of results.csv (accuracies are fractions), None for a blank cell. Half-widths
    # follow the published convention: Student's t over five seeds, population deviation; nan where none is printed.
    figures: Mapping[str, Estimate | None]
    notes: tuple[Note, ...]  # remarks about the row

    @property
    def unmatchable(self) -> frozenset[str]:
        """The columns that cannot be matched because the published code has a defect in them."""
        return frozenset(column for note in self.notes for column in note.unmatchable)


@dataclass(frozen=True)
class PublishedTable:
    """One table."""

    name: str  # name used by commands
    number: int | None  # number in the paper, continued through the supplementary; None for figures outside of tables
    title: str  # one-line title
    source: str  # place in the paper where it is printed
    columns: tuple[str, ...]  # keys of results.csv, or of a record's metrics
    rows: tuple[PublishedRow, ...]  # rows in the paper's order, grouped by data set

    @property
    def datasets(self) -> tuple[str, ...]:
        """The data sets of its rows."""
        return tuple(dict.fromkeys(row.dataset for row in self.rows))

    def row(self, dataset: str, name: str) -> PublishedRow:
        """The row of a data set by its name."""
        if dataset not in self.datasets:
            raise PublishedError(f"table {self.name!r} has no data set {dataset!r}{suggestion(dataset, self.datasets)}")
        rows = {row.name: row for row in self.rows if row.dataset == dataset}
        if name not in rows:
            raise PublishedError(f"table {self.name!r} has no row {name!r} of {dataset}{suggestion(name, rows)}")
        return rows[name]


@functools.cache
def published_tables() -> Mapping[str, PublishedTable]:
    """Every table of results in the paper by its name, in the paper's order; unnumbered ones come last."""
    folder = files("hiercos.paper.published")
    read = [_table(json.loads(file.read_text("utf-8"))) for file in folder.iterdir() if file.name.endswith(".json")]
    ordered = sorted(read, key=lambda table: (table.number or math.inf, table.name))
    return {table.name: table for table in ordered}


def published_table(key: str | int) -> PublishedTable:
    """A table by its name or its number in the paper.

    Example:
        >>> published_table("cifar100") is published_table(2)
        True
    """
    tables = published_tables()
    by_number = {str(table.number): table for table in tables.values() if table.number is not None}
    found = tables.get(str(key)) or by_number.get(str(key))
    if found is None:
        raise PublishedError(f"the paper has no table {str(key)!r}{suggestion(str(key), tables)}")
    return found


def published(table: str | int, dataset: str, method: str) -> PublishedRow:
    """One row of the paper.

    Args:
        table: name or number of the table.
        dataset: "fgvc-aircraft", "cifar100", "inaturalist19" or "tiered-imagenet-h".
        method: name of the row: the method, with its setting if it has several rows ("soft-labels-4").

    Example:
        >>> published("cifar100", "cifar100", "hier-cos").figures["hops"]
        Estimate(mean=0.93, half_width=0.001)
    """
    return published_table(table).row(dataset, method)


def _table(values: Mapping[str, Any]) -> PublishedTable:
    return PublishedTable(
        **{**values, "columns": tuple(values["columns"]), "rows": tuple(_row(row) for row in values["rows"])}
    )


def _row(values: Mapping[str, Any]) -> PublishedRow:
    return PublishedRow(
        dataset=values["dataset"],
        name=values["row"],
        label=values["label"],
        figures={column: _figure(column, printed) for column, printed in values["figures"].items()},
        notes=tuple(Note(note["text"], tuple(note["unmatchable"])) for note in values["notes"]),
    )


def _figure(column: str, printed: list[float | None] | None) -> Estimate | None:
    """A cell [mean, half-width] as printed, in the units of results.csv."""
    if printed is None:
        return None
    scale = metric_spec(column).scale
    mean, half_width = (math.nan if value is None else value / scale for value in printed)
    return Estimate(mean, half_width)
