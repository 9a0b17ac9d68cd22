"""Charts as drawings: lines with markers, and dots with intervals."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from hiercos.report.drawing import Drawing, Point, Polygon, Shape, Stroke, Text, text_width
from hiercos.report.results import Estimate

SERIES = tuple(f"series-{number}" for number in range(1, 9))
DASHES: tuple[tuple[float, ...], ...] = ((), (7, 3), (2, 3), (9, 3, 2, 3))
WIDTH, LEFT, RIGHT, TOP, PLOT_HEIGHT = 760.0, 62.0, 16.0, 14.0, 290.0


@dataclass(frozen=True)
class Series:
    """A line of a chart.

    Attributes:
        name: name in the legend.
        x: positions, ascending; those of a chart with labels count from 0.
        y: values; nan leaves a gap.
        intervals: low and high end of the interval of each value, nan for none; empty without intervals.
        colour: tone of the line; the next free one by default.
        style: number of the dash and the marker.
        has_line: whether the points are joined.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]
    intervals: Sequence[tuple[float, float]] = ()
    colour: str = ""
    style: int = 0
    has_line: bool = True


@dataclass(frozen=True)
class Frame:
    """Positions of a plot: from values to units of the drawing."""

    x_range: tuple[float, float]
    y_range: tuple[float, float]
    width: float = WIDTH
    height: float = PLOT_HEIGHT

    def x(self, value: float) -> float:
        """Horizontal position of a value."""
        low, high = self.x_range
        return LEFT + (value - low) / (high - low) * (self.width - LEFT - RIGHT)

    def y(self, value: float) -> float:
        """Vertical position of a value."""
        low, high = self.y_range
        return TOP + (high - value) / (high - low) * self.height

    def in_x(self, share: float) -> float:
        """Position at a share of the width of the plot."""
        return LEFT + share * (self.width - LEFT - RIGHT)


def line_chart(
    series: Sequence[Series],
    *,
    x_title: str,
    y_title: str,
    labels: Sequence[str] = (),
    y_range: tuple[float, float] | None = None,
    description: str = "",
) -> Drawing:
    """Lines with markers over a common axis, with a legend below.

    Args:
        series: lines; those without a colour get the next free one.
        x_title: title of the horizontal axis.
        y_title: title of the vertical axis.
        labels: labels of the positions 0, 1, …; numbers by default.
        y_range: lowest and highest value of the vertical axis; that of the values by default.
        description: sentence that says what the chart shows.
    """
    coloured = [_coloured(each, number) for number, each in enumerate(series)]
    frame = Frame(_x_range(series, labels), y_range or _y_range(series))
    shapes: list[Shape] = [*_axes(frame, _x_marks(frame, labels, series), x_title, y_title)]
    for each in coloured:
        shapes += _series_shapes(each, frame, with_markers=len(each.x) <= 30)
    legend, height = _legend(coloured, TOP + PLOT_HEIGHT + 58)
    return Drawing(WIDTH, height, [*shapes, *legend], description or f"{y_title} against {x_title}")


def _coloured(series: Series, number: int) -> Series:
    colour = series.colour or SERIES[number % len(SERIES)]
    return replace(series, colour=colour)


def _x_range(series: Sequence[Series], labels: Sequence[str]) -> tuple[float, float]:
    if labels:
        return -0.4, len(labels) - 0.6
    values = [value for each in series for value in each.x]
    low, high = min(values, default=0.0), max(values, default=1.0)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _y_range(series: Sequence[Series]) -> tuple[float, float]:
    values = [value for each in series for value in (*each.y, *(end for ends in each.intervals for end in ends))]
    finite = [value for value in values if math.isfinite(value)]
    low, high = min(finite, default=0.0), max(finite, default=1.0)
    margin = 0.06 * (high - low) or 0.1 * abs(high) or 0.5
    return low - margin, high + margin


def ticks(low: float, high: float, count: int = 6) -> list[float]:
    """About `count` round numbers between two values.

    Example:
        >>> ticks(0, 100), ticks(0.91, 0.93, 3)
        ([0.0, 20.0, 40.0, 60.0, 80.0, 100.0], [0.91, 0.92, 0.93])
    """
    rough = (high - low) / max(count - 1, 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = power * next(factor for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(number * step, 12) for number in range(first, last + 1)]


def _x_marks(frame: Frame, labels: Sequence[str], series: Sequence[Series]) -> list[tuple[float, str]]:
    """Marks of the horizontal axis: the labels, or round numbers, whole ones if all positions are whole."""
    if labels:
        return [*enumerate(labels)]
    is_whole = all(float(x).is_integer() for each in series for x in each.x)
    found = ticks(*frame.x_range, 9)
    return [(value, f"{value:g}") for value in found if value.is_integer() or not is_whole]


def _axes(frame: Frame, marks: Sequence[tuple[float, str]], x_title: str, y_title: str) -> list[Shape]:
    bottom, right = TOP + frame.height, frame.width - RIGHT
    shapes: list[Shape] = []
    for value in ticks(*frame.y_range):
        y = frame.y(value)
        shapes.append(Stroke([(LEFT, y), (right, y)], "rule"))
        shapes.append(Text(LEFT - 6, y + 4, f"{value:g}", 11, "end", "muted"))
    for value, label in marks:
        shapes.append(Text(frame.x(value), bottom + 16, label, 11, "middle", "muted"))
    shapes += [
        Stroke([(LEFT, bottom), (right, bottom)], "muted"),
        Text(frame.in_x(0.5), bottom + 36, x_title, 12, "middle"),
        Text(14, TOP + frame.height / 2, y_title, 12, "middle", turned=True),
    ]
    return shapes


def _series_shapes(series: Series, frame: Frame, *, with_markers: bool) -> list[Shape]:
    points = [(frame.x(x), frame.y(y)) if math.isfinite(y) else None for x, y in zip(series.x, series.y, strict=True)]
    shapes: list[Shape] = []
    for x, (low, high) in zip(series.x, series.intervals, strict=False):
        if low < high:
            shapes.append(Stroke([(frame.x(x), frame.y(low)), (frame.x(x), frame.y(high))], series.colour, 1.2))
    if series.has_line:
        dash = DASHES[series.style % len(DASHES)]
        shapes += [Stroke(run, series.colour, 2.2, dash) for run in _runs(points) if len(run) > 1]
    if with_markers:
        shapes += [marker(point, series.style, series.colour) for point in points if point is not None]
    return shapes


def _runs(points: Sequence[Point | None]) -> list[list[Point]]:
    """Consecutive points without gaps."""
    runs: list[list[Point]] = [[]]
    for point in points:
        if point is None:
            runs.append([])
        else:
            runs[-1].append(point)
    return runs


def marker(centre: Point, style: int, colour: str, size: float = 4.5) -> Polygon:
    """A circle, square, triangle or diamond around a point, by the number of the style."""
    corners, turn = ((16, 0.0), (4, math.pi / 4), (3, -math.pi / 2), (4, 0.0))[style % 4]
    radius = size * (1.25 if corners == 3 else 1.0)
    angles = [turn + 2 * math.pi * corner / corners for corner in range(corners)]
    return Polygon([(centre[0] + radius * math.cos(a), centre[1] + radius * math.sin(a)) for a in angles], colour)


def _legend(series: Sequence[Series], top: float) -> tuple[list[Shape], float]:
    """Names with a piece of their lines, in as many rows as they need; and the height of the drawing."""
    shapes: list[Shape] = []
    x, y = LEFT, top
    for each in series:
        width = 40 + text_width(each.name, 12) * 1.15
        if x > LEFT and x + width > WIDTH - RIGHT:
            x, y = LEFT, y + 19
        if each.has_line:
            shapes.append(Stroke([(x, y - 4), (x + 26, y - 4)], each.colour, 2.2, DASHES[each.style % len(DASHES)]))
        shapes += [marker((x + 13, y - 4), each.style, each.colour), Text(x + 32, y, each.name, 12)]
        x += width + 8
    return shapes, y + 10


@dataclass(frozen=True)
class DotPanel:
    """A column of a dot chart: its title, and the mean and interval of each row."""

    title: str
    estimates: Sequence[Estimate]


def dot_chart(names: Sequence[str], panels: Sequence[DotPanel], *, chosen: str, description: str) -> Drawing:
    """One row for each name and a dot with its interval in every panel; the chosen row stands out.

    Args:
        names: names of the rows.
        panels: columns, each with as many estimates as names.
        chosen: name of the row to stand out; "" for none.
        description: sentence that says what the chart shows.
    """
    left = 24 + max(text_width(name, 13) for name in names) * 1.15
    gap, row = 26.0, 26.0
    wide = (WIDTH - left - RIGHT - gap * (len(panels) - 1)) / len(panels)
    bottom = 34 + row * len(names)
    shapes: list[Shape] = []
    for number, name in enumerate(names):
        is_chosen = name == chosen
        colour = "series-1" if is_chosen else "ink"
        shapes.append(Text(left - 12, 34 + row * (number + 0.5) + 4, name, 13, "end", colour, is_chosen))
    for number, panel in enumerate(panels):
        start = left + number * (wide + gap)
        shapes += _panel(panel, names, chosen, (start, wide, row))
    return Drawing(WIDTH, bottom + 24, shapes, description)


def _panel(panel: DotPanel, names: Sequence[str], chosen: str, place: tuple[float, float, float]) -> list[Shape]:
    start, wide, row = place
    means, ends = [each.mean for each in panel.estimates], [(each.low, each.high) for each in panel.estimates]
    low, high = _y_range([Series("", range(len(names)), means, ends)])
    bottom = 34 + row * len(names)

    def x(value: float) -> float:
        return start + (value - low) / (high - low) * wide

    shapes: list[Shape] = [Text(start + wide / 2, 18, panel.title, 13, "middle", is_bold=True)]
    for value in ticks(low, high, 5):
        shapes.append(Stroke([(x(value), 28), (x(value), bottom)], "rule"))
        shapes.append(Text(x(value), bottom + 15, f"{value:g}", 11, "middle", "muted"))
    for number, (name, each) in enumerate(zip(names, panel.estimates, strict=True)):
        if math.isnan(each.mean):
            continue
        y, colour = 34 + row * (number + 0.5), "series-1" if name == chosen else "muted"
        if not math.isnan(each.half_width):
            shapes.append(Stroke([(x(each.low), y), (x(each.high), y)], colour, 2))
        shapes.append(marker((x(each.mean), y), 3 if name == chosen else 0, colour, 6 if name == chosen else 5))
    return shapes
