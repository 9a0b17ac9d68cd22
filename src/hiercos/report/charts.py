"""Charts as drawings: lines with markers, and dots with intervals."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from hiercos.report.drawing import Drawing, Point, Polygon, Shape, Stroke, Text, text_width
from hiercos.report.results import Estimate

SERIES = tuple(f"series-{number}" for number in range(1, 9))
DASHES: tuple[tuple[float, ...], ...] = ((), (7, 3), (2, 3), (9, 3, 2, 3))
WIDTH, LEFT, RIGHT, TOP, PLOT_HEIGHT = 760.0, 62.0, 16.0, 14.0, 290.0
NARROW = 380.0  # width of a drawing for a phone


@dataclass(frozen=True)
class Series:
    """A line of a chart."""

    name: str  # name in the legend
    x: Sequence[float]  # positions, ascending; those of a chart with labels count from 0
    y: Sequence[float]  # values; nan leaves a gap
    # low and high end of the interval of each value, nan for none; empty without intervals
    intervals: Sequence[tuple[float, float]] = ()
    colour: str = ""  # tone of the line; the next free one by default
    style: int = 0  # number of the dash and the marker
    has_line: bool = True  # whether the points are joined


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
        labels: labels of the positions 0, 1, …; numbers by default.
        y_range: lowest and highest value of the vertical axis; that of the values by default.
    """
    coloured = [_coloured(each, number) for number, each in enumerate(series)]
    frame = Frame(_x_range(series, labels), y_range or _y_range(series))
    shapes: list[Shape] = [*_axes(frame, _x_marks(frame, labels, series), x_title, y_title)]
    for each in coloured:
        shapes += _series_shapes(each, frame, with_markers=len(each.x) <= 30)
    below = TOP + PLOT_HEIGHT + 58
    legend, height = _legend(coloured, below) if len(series) > 1 else ([], below - 12)
    text = description or _described(series, x_title, y_title, labels)
    return Drawing(WIDTH, height, [*shapes, *legend], text)


def _described(series: Sequence[Series], x_title: str, y_title: str, labels: Sequence[str]) -> str:
    """The axes of a chart and the ends of its lines in words, for readers that cannot see it."""
    found = []
    for each in series:
        known = [(x, y) for x, y in zip(each.x, each.y, strict=True) if math.isfinite(y)]
        ends = dict([known[0], known[-1]]) if known else {}
        shown = [f"{y:.4g} at {labels[int(x)] if labels else format(x, '.3g')}" for x, y in ends.items()]
        found.append(f"{each.name}: {' to '.join(shown) or 'no values'}")
    return f"{y_title} against {x_title}. {'; '.join(found)}."


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
    """A column of a dot chart."""

    title: str  # title of the column
    estimates: Sequence[Estimate]  # mean and interval of each row
    limits: tuple[float, float] = (-math.inf, math.inf)  # smallest and largest possible value, where the bars end

    @property
    def intervals(self) -> list[tuple[float, float]]:
        """Low and high end of the bar of each row, within the limits; nan for none."""
        return [clipped(each, self.limits) for each in self.estimates]


def clipped(estimate: Estimate, limits: tuple[float, float]) -> tuple[float, float]:
    """Low and high end of an interval, cut to the range of the metric; nan for none.

    Example:
        >>> clipped(Estimate(98.0, 3.0), (0.0, 100.0))
        (95.0, 100.0)
    """
    return max(estimate.low, limits[0]), min(estimate.high, limits[1])  # nan stays nan in this order


def dot_chart(
    names: Sequence[str], panels: Sequence[DotPanel], *, chosen: str, description: str, stacked: bool = False
) -> Drawing:
    """One row for each name and a dot with its interval in every panel; the chosen row stands out.

    Args:
        chosen: name of the row to stand out; "" for none.
        stacked: whether the panels stand below each other, for narrow screens; beside each other by default.
    """
    left, gap, row = 24 + max(text_width(name, 13) for name in names) * 1.15, 26.0, 26.0
    height = 58 + row * len(names)
    beside = 1 if stacked else len(panels)
    width = max(NARROW, left + 140) if stacked else WIDTH
    wide = (width - left - RIGHT - gap * (beside - 1)) / beside
    shapes: list[Shape] = []
    for number, panel in enumerate(panels):
        down, across = divmod(number, beside)
        place = _Place(left + across * (wide + gap), down * height, wide, row)
        if not across:
            shapes += _row_names(names, chosen, place)
        shapes += _panel(panel, names, chosen, place)
    return Drawing(width, height * math.ceil(len(panels) / beside), shapes, description)


@dataclass(frozen=True)
class _Place:
    """Left and upper end of a panel, its width, and the height of a row."""

    start: float
    top: float
    wide: float
    row: float

    def y(self, number: int) -> float:
        """Middle of a row."""
        return self.top + 34 + self.row * (number + 0.5)


def _row_names(names: Sequence[str], chosen: str, place: _Place) -> list[Shape]:
    return [
        Text(
            place.start - 12,
            place.y(number) + 4,
            name,
            13,
            "end",
            "series-1" if name == chosen else "ink",
            name == chosen,
        )
        for number, name in enumerate(names)
    ]


def _panel(panel: DotPanel, names: Sequence[str], chosen: str, place: _Place) -> list[Shape]:
    means, ends = [each.mean for each in panel.estimates], panel.intervals
    low, high = _y_range([Series("", range(len(names)), means, ends)])
    bottom = place.top + 34 + place.row * len(names)

    def x(value: float) -> float:
        return place.start + (value - low) / (high - low) * place.wide

    shapes: list[Shape] = [Text(place.start + place.wide / 2, place.top + 18, panel.title, 13, "middle", is_bold=True)]
    for value in ticks(low, high, 5):
        shapes.append(Stroke([(x(value), place.top + 28), (x(value), bottom)], "rule"))
        shapes.append(Text(x(value), bottom + 15, f"{value:g}", 11, "middle", "muted"))
    for number, (name, each, (left, right)) in enumerate(zip(names, panel.estimates, ends, strict=True)):
        if math.isnan(each.mean):
            continue
        y, colour = place.y(number), "series-1" if name == chosen else "muted"
        if not math.isnan(each.half_width):
            shapes.append(Stroke([(x(left), y), (x(right), y)], colour, 2))
        shapes.append(marker((x(each.mean), y), 3 if name == chosen else 0, colour, 6 if name == chosen else 5))
    return shapes
