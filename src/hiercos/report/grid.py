"""A table of figures before it is drawn: what stands in each cell, and how good it is."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from hiercos.metric_table import MetricSpec
from hiercos.report.results import Estimate, Line

BEST, LOSS = (0xB6, 0xD7, 0xA8), (0xF4, 0xCC, 0xCC)  # the paper's green; a red as pale
FIGURES = ("the best of its column", "The better half of a column is shaded, the best of it darkest")
DIFFERENCES = ("the 95% interval does not hold 0", "Green is a gain and red a loss whose 95% interval does not hold 0")


@dataclass(frozen=True)
class Cell:
    """One figure.

    Attributes:
        mean: as shown; empty where it is undefined.
        half_width: of the 95% interval, as shown; empty where there is none.
        merit: 1 for the best of a column (or a certain gain), 0 for the plain ones, -1 for a certain loss, and
            between 0 and 1 for those better than the middle of their column.
    """

    mean: str
    half_width: str = ""
    merit: float = 0.0

    @property
    def text(self) -> str:
        """Mean, and ± half-width where there is one; a dash where the figure is undefined."""
        return (self.mean or "–") + (f" ±{self.half_width}" if self.half_width else "")

    @property
    def colour(self) -> str | None:
        """Six hexadecimal digits of the background: the better the greener, red for a loss; none for a plain cell."""
        full, share = (BEST, self.merit) if self.merit > 0 else (LOSS, -self.merit)
        mixed = [round(255 + share * (tone - 255)) for tone in full]
        return "".join(f"{tone:02X}" for tone in mixed) if share else None


@dataclass(frozen=True)
class Grid:
    """Cells in rows, with what stands above and beside them.

    Attributes:
        subject: what was compared.
        title: what the figures are.
        mark: what a cell of merit 1 or -1 is.
        shading: what the colours mean.
        corner: heading of the names.
        columns: of the figures.
        names: of the rows.
        rows: the cells.
    """

    subject: str
    title: str
    mark: str
    shading: str
    corner: str
    columns: tuple[MetricSpec, ...]
    names: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    @property
    def caption(self) -> str:
        """Subject and title."""
        return f"{self.subject}: {self.title}"


def figure_grid(lines: Sequence[Line], columns: Sequence[MetricSpec], *, subject: str, title: str, corner: str) -> Grid:
    """Means and intervals, shaded as in the paper: from white at the middle of a column to green at its best."""
    by_column = []
    for column in columns:
        estimates = [line.estimate(column.name) for line in lines]
        merits = column_merits([estimate.mean for estimate in estimates], higher_is_better=column.higher_is_better)
        by_column.append([_cell(*pair, column) for pair in zip(estimates, merits, strict=True)])
    names = tuple(line.name for line in lines)
    return Grid(subject, title, *FIGURES, corner, tuple(columns), names, tuple(zip(*by_column, strict=True)))


def difference_grid(
    lines: Sequence[Line], reference: Line, columns: Sequence[MetricSpec], *, subject: str, title: str, corner: str
) -> Grid:
    """Differences of lines to a reference, seed by seed; what the interval tells from 0 is coloured."""
    by_column = []
    for column in columns:
        differences = [line.difference(reference, column.name) for line in lines]
        merits = [_certainty(difference) * (1 if column.higher_is_better else -1) for difference in differences]
        by_column.append([_cell(*pair, column, sign="+") for pair in zip(differences, merits, strict=True)])
    names = tuple(line.name for line in lines)
    return Grid(subject, title, *DIFFERENCES, corner, tuple(columns), names, tuple(zip(*by_column, strict=True)))


def column_merits(means: Sequence[float], *, higher_is_better: bool) -> list[float]:
    """How good each mean of a column is: 1 for the best, 0 from the median down, evenly between.

    All are 0 where all are equal, or where one is undefined (no mistakes have no severity, and are better than any).

    Example:
        >>> column_merits([0.9, 0.8, 0.5, 0.1, 0.2], higher_is_better=True)
        [1.0, 0.75, 0.0, 0.0, 0.0]
    """
    if any(math.isnan(mean) for mean in means) or len(set(means)) == 1:
        return [0.0] * len(means)
    best = max(means) if higher_is_better else min(means)
    span = best - statistics.median(means)
    if span == 0:  # most are the best
        return [float(mean == best) for mean in means]
    return [max(0.0, round(1 - (best - mean) / span, 9)) for mean in means]


def _certainty(difference: Estimate) -> int:
    """1 above 0 and -1 below it, as far as the interval reaches; 0 where it holds 0 or there is none."""
    return (difference.low > 0) - (difference.high < 0)


def _cell(estimate: Estimate, merit: float, column: MetricSpec, *, sign: str = "") -> Cell:
    if math.isnan(estimate.mean):
        return Cell("")
    mean = column.text(estimate.mean, sign=sign)
    if math.isnan(estimate.half_width):
        return Cell(mean, merit=merit)
    return Cell(mean, column.text(estimate.half_width), merit)
