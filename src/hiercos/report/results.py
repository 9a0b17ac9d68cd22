"""Records as the rows of results.csv, and their summary: one line per method with mean and interval over seeds."""

import csv
import io
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from hiercos.records import Record
from hiercos.report.intervals import Estimate, t_interval


@dataclass(frozen=True)
class Column:
    """A column of figures: its key in results.csv, its heading, how it is shown, and which way is better."""

    key: str
    heading: str
    higher_is_better: bool
    scale: float = 1.0
    digits: int = 3


COLUMNS = (
    Column("top1", "top-1 %", True, scale=100, digits=2),
    Column("mistake_severity", "MS", False, digits=2),
    Column("ahd_at_1", "AHD@1", False),
    Column("ahd_at_5", "AHD@5", False),
    Column("ahd_at_20", "AHD@20", False),
    Column("hops", "HOPS", True),
    Column("hops_at_5", "HOPS@5", True),
    Column("hops_at_20", "HOPS@20", True),
    Column("fpa", "FPA %", True, scale=100, digits=2),
    Column("train_seconds", "train s", False, digits=1),
)


def result_row(record: Record) -> dict[str, Any]:
    """One row of results.csv."""
    figures = {**record.metrics, "train_seconds": record.train_seconds}
    return {
        "method": record.method,
        "rule": record.rule,
        "seed": record.seed,
        **{column.key: figures[column.key] for column in COLUMNS},
    }


def results_csv(records: Iterable[Record]) -> str:
    """The text of results.csv: one row per method, rule and seed."""
    stream = io.StringIO()
    header = ["method", "rule", "seed", *(column.key for column in COLUMNS)]
    writer = csv.DictWriter(stream, header, lineterminator="\n")
    writer.writeheader()
    writer.writerows(result_row(record) for record in records)
    return stream.getvalue()


@dataclass(frozen=True)
class Line:
    """A method's figures over its seeds.

    Attributes:
        name: method and rule as a table calls them.
        uses_tree: whether the method learns from the taxonomy.
        has_rule: whether a decision rule ranks the classes.
        values: per column key, one value per seed.
    """

    name: str
    uses_tree: bool
    has_rule: bool
    values: dict[str, list[float]]

    def estimate(self, key: str) -> Estimate:
        """Mean and 95% interval of one column over the seeds."""
        return t_interval(self.values[key])


def summarize(records: Iterable[Record]) -> list[Line]:
    """One line per method and rule, in order of appearance, values in order of the seeds."""
    groups: dict[str, list[Record]] = {}
    for record in records:
        groups.setdefault(record.name, []).append(record)
    return [_line(sorted(group, key=lambda record: record.seed)) for group in groups.values()]


def _line(records: Sequence[Record]) -> Line:
    rows = [result_row(record) for record in records]
    values = {column.key: [row[column.key] for row in rows] for column in COLUMNS}
    return Line(records[0].name, records[0].uses_tree, records[0].rule != "none", values)


def best_lines(lines: Sequence[Line]) -> dict[str, set[int]]:
    """For each column, the indices of the lines with the best mean.

    None is best where all are equal, or where one is undefined (no mistakes have no severity, and are better than any).
    """
    best = {}
    for column in COLUMNS:
        means = [line.estimate(column.key).mean for line in lines]
        target = max(means) if column.higher_is_better else min(means)
        found = {index for index, mean in enumerate(means) if mean == target}
        undecided = any(math.isnan(mean) for mean in means) or len(found) == len(means)
        best[column.key] = set() if undecided else found
    return best


def cell(estimate: Estimate, column: Column) -> str:
    """A figure as a table shows it: mean, and ± half-width where there is one; a dash where it is undefined."""
    if math.isnan(estimate.mean):
        return "–"
    mean = f"{estimate.mean * column.scale:.{column.digits}f}"
    if math.isnan(estimate.half_width):
        return mean
    return f"{mean} ±{estimate.half_width * column.scale:.{column.digits}f}"
