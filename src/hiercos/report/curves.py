"""Operating curves as a figure: precision among the answered against coverage, one line for each rule."""

import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hiercos.files import write_atomically

CurveRow = Mapping[str, Any]


def write_curve_figure(rows: Sequence[CurveRow], path: Path) -> str:
    """Write the figure of `curve_rows` as one HTML file; writes nothing if plotly is not installed.

    Args:
        rows: operating points with `rule`, `coverage`, `precision`, `precision_low` and `precision_high`.
        path: file to write.

    Returns:
        A sentence for the user: the path of the figure, or the reason why there is none.
    """
    if importlib.util.find_spec("plotly") is None:
        return f"{path} was not written: figures need plotly (pip install 'hiercos[report]')."
    from plotly import graph_objects

    figure = graph_objects.Figure()
    for name in dict.fromkeys(str(row["rule"]) for row in rows):
        points = sorted((row for row in rows if row["rule"] == name), key=lambda row: float(row["coverage"]))
        band = {
            "type": "data",
            "symmetric": False,
            "array": [row["precision_high"] - row["precision"] for row in points],
            "arrayminus": [row["precision"] - row["precision_low"] for row in points],
            "thickness": 1,
        }
        figure.add_scatter(
            x=[row["coverage"] for row in points],
            y=[row["precision"] for row in points],
            name=name,
            mode="lines+markers" if len(points) > 1 else "markers",
            error_y=band,
        )
    figure.update_layout(
        template="plotly_white",
        xaxis={"title": "coverage: 1 for a class, 0 for 'cannot say'"},
        yaxis={"title": "precision among the answered"},
    )
    write_atomically(path, str(figure.to_html(include_plotlyjs=True)))
    return f"The figure is {path}."
