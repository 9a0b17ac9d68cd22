"""Operating curves as a figure: precision among the answered against coverage, one line for each rule."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hiercos.files import write_atomically
from hiercos.report.charts import Series, line_chart
from hiercos.report.explorer import figure_page
from hiercos.report.figures import Figure

Row = Mapping[str, Any]


def write_curve_figure(rows: Sequence[Row], path: Path) -> str:
    """Write the figure of `curve_rows` as one HTML file.

    Args:
        rows: operating points with `rule`, `coverage`, `precision`, `precision_low` and `precision_high`.
        path: file to write.

    Returns:
        A sentence for the user: the path of the figure.
    """
    names = list(dict.fromkeys(str(row["rule"]) for row in rows))
    drawing = line_chart(
        [_series(name, [row for row in rows if row["rule"] == name], style) for style, name in enumerate(names)],
        x_title="coverage: 1 for a class, 0 for 'cannot say'",
        y_title="precision among the answered",
    )
    figure = Figure("Precision against coverage", "Each point is an operating point with its 95% interval.", drawing)
    write_atomically(path, figure_page(figure))
    return f"The figure is {path}."


def _series(name: str, rows: Sequence[Row], style: int) -> Series:
    points = sorted(rows, key=lambda row: float(row["coverage"]))
    return Series(
        name,
        [float(row["coverage"]) for row in points],
        [float(row["precision"]) for row in points],
        [(float(row["precision_low"]), float(row["precision_high"])) for row in points],
        style=style,
    )
