"""Tables of figures independent of the output format: the text and the merit of each cell."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from hiercos.metrics import MetricSpec
from hiercos.report.results import Estimate, Variant

BEST, LOSS = (0xB6, 0xD7, 0xA8), (0xF4, 0xCC, 0xCC)  # the paper's green; an equally pale red
FIGURES = ("the best of its column", "The better half of a column is shaded, the best of it darkest")
DIFFERENCES = ("the 95% interval excludes 0", "Green is a gain and red a loss whose 95% interval excludes 0")


@dataclass(frozen=True)
class Cell:
    """One figure."""

    mean: str  # formatted mean; empty if it is undefined
    half_width: str = ""  # formatted half-width of the 95% interval; empty if there is none
    # 1 for the best of a column (or a significant gain), -1 for a significant loss, between 0 and 1 for values above
    # the median of their column, else 0
    merit: float = 0.0

    @property
    def text(self) -> str:
        """Mean, and ± half-width if there is one; a dash if the figure is undefined."""
        return (self.mean or "–") + (f" ±{self.half_width}" if self.half_width else "")

    @property
    def colour(self) -> str | None:
        """Background colour as six hexadecimal digits: green by merit, red for a loss, None for merit 0."""
        full, share = (BEST, self.merit) if self.merit > 0 else (LOSS, -self.merit)
        mixed = [round(255 + share * (tone - 255)) for tone in full]
        return "".join(f"{tone:02X}" for tone in mixed) if share else None


@dataclass(frozen=True)
class Grid:
    """Rows of cells with their titles, headings and names."""

    subject: str  # title of the section
    title: str  # description of the figures
    mark: str  # meaning of a cell of merit 1 or -1
    shading: str  # meaning of the colours
    corner: str  # heading of the column of names
    columns: tuple[MetricSpec, ...]  # metrics of the columns
    names: tuple[str, ...]  # names of the rows
    rows: tuple[tuple[Cell, ...], ...]  # cells of each row

    @property
    def caption(self) -> str:
        """Subject and title."""
        return f"{self.subject}: {self.title}"


def figure_grid(
    variants: Sequence[Variant], columns: Sequence[MetricSpec], *, subject: str, title: str, corner: str
) -> Grid:
    """Means and intervals, shaded as in the paper: from white at the median of a column to green at its best."""
    by_column = []
    for column in columns:
        estimates = [variant.estimate(column.name) for variant in variants]
        merits = column_merits([estimate.mean for estimate in estimates], higher_is_better=column.higher_is_better)
        by_column.append([_cell(*pair, column) for pair in zip(estimates, merits, strict=True)])
    names = tuple(variant.name for variant in variants)
    return Grid(subject, title, *FIGURES, corner, tuple(columns), names, tuple(zip(*by_column, strict=True)))


def difference_grid(
    variants: Sequence[Variant],
    reference: Variant,
    columns: Sequence[MetricSpec],
    *,
    subject: str,
    title: str,
    corner: str,
) -> Grid:
    """Paired differences of variants from a reference; those whose interval excludes 0 are coloured."""
    by_column = []
    for column in columns:
        differences = [variant.difference(reference, column.name) for variant in variants]
        merits = [_certainty(difference) * (1 if column.higher_is_better else -1) for difference in differences]
        by_column.append([_cell(*pair, column, sign="+") for pair in zip(differences, merits, strict=True)])
    names = tuple(variant.name for variant in variants)
    return Grid(subject, title, *DIFFERENCES, corner, tuple(columns), names, tuple(zip(*by_column, strict=True)))


def column_merits(means: Sequence[float], *, higher_is_better: bool) -> list[float]:
    """Merit of each mean of a column: 1 for the best, 0 for the median and below, linear in between.

    All are 0 if all means are equal or one is undefined (a method without mistakes has no severity, yet is the best).

    Example:
        >>> column_merits([0.9, 0.8, 0.5, 0.1, 0.2], higher_is_better=True)
        [1.0, 0.75, 0.0, 0.0, 0.0]
    """
    if any(math.isnan(mean) for mean in means) or len(set(means)) == 1:
        return [0.0] * len(means)
    best = max(means) if higher_is_better else min(means)
    span = best - statistics.median(means)
    if span == 0:  # at least half of the means are the best
        return [float(mean == best) for mean in means]
    return [max(0.0, round(1 - (best - mean) / span, 9)) for mean in means]


def _certainty(difference: Estimate) -> int:
    """1 if the interval lies above 0, -1 if it lies below; 0 if it contains 0 or there is none."""
    return (difference.low > 0) - (difference.high < 0)


def _cell(estimate: Estimate, merit: float, column: MetricSpec, *, sign: str = "") -> Cell:
    if math.isnan(estimate.mean):
        return Cell("")
    mean = column.text(estimate.mean, sign=sign)
    if math.isnan(estimate.half_width):
        return Cell(mean, merit=merit)
    return Cell(mean, column.text(estimate.half_width), merit)
