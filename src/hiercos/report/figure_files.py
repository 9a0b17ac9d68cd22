"""Figures as files: SVG, or the page of the operating curve of `hiercos evaluate`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hiercos.report.charts import Series, line_chart
from hiercos.report.drawing import Drawing, svg
from hiercos.report.figures import Figure
from hiercos.report.render import render
from hiercos.storage import write

Row = Mapping[str, Any]


def write_figures(drawings: Mapping[str, Drawing], folder: Path) -> list[Path]:
    """Write every drawing as an SVG file to a folder, which is created if missing.

    Args:
        drawings: drawings by the name of their file, without its ending.
        folder: folder to write to.

    Returns:
        The written files.
    """
    contents = {folder / f"{name}.svg": svg(drawing, in_page=False) for name, drawing in drawings.items()}
    folder.mkdir(parents=True, exist_ok=True)
    for path, content in contents.items():
        write(path, content)
    return list(contents)


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
    write(path, render("figure.html", shown=figure))
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
