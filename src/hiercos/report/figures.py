"""Figures of a comparison, with plotly (the extra `report`)."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from hiercos.report.results import Line

ORDER = "correct_order_at_"
PALETTE = (
    *("#4c6ef5", "#e8590c", "#2b8a3e", "#ae3ec9", "#0c8599", "#e03131", "#5f3dc4", "#f08c00"),
    *("#1c7ed6", "#c2255c", "#66a80f", "#868e96", "#15aabf", "#a0522d", "#212529", "#d6a2e8"),
)


def correct_order_figure(lines: Sequence[Line]) -> Any:
    """Share of samples whose first k predictions are in the tree's order, against k [sani2026, Fig. 1]."""
    record = lines[0].records[0]
    known = [key.removeprefix(ORDER) for key in record.metrics if key.startswith(ORDER)]
    keys = [key for key in known if int(key) < int(record.taxonomy["classes"])] + ["all"]
    series = {line.name: [_percent(line, _order_key(key)) for key in keys] for line in lines}
    return _lines(keys, series, x_title="first k predictions", y_title="samples in the right order, %", from_zero=True)


def level_accuracy_figure(lines: Sequence[Line]) -> Any:
    """Accuracy of each method's own answer at every level, the coarsest first."""
    levels = [str(level) for level in range(1, int(lines[0].records[0].taxonomy["height"]) + 1)]
    series = {line.name: [_percent(line, f"accuracy_level_{level}") for level in levels] for line in lines}
    return _lines(levels, series, x_title="level (1 is the coarsest)", y_title="accuracy, %")


def _percent(line: Line, key: str) -> float:
    return 100 * line.estimate(key).mean


def _order_key(key: str) -> str:
    return "correct_order_all" if key == "all" else ORDER + key


def _lines(
    labels: Sequence[str],
    series: Mapping[str, Sequence[float]],
    *,
    x_title: str,
    y_title: str,
    from_zero: bool = False,
) -> Any:
    """A line per method over the same labels."""
    from plotly import graph_objects

    figure = graph_objects.Figure()
    colours: dict[str, str] = {}  # a method keeps its colour under a rule, where its line is dashed
    for name, values in series.items():
        method, rule = name.partition(" + ")[::2]
        colour = colours.setdefault(method, PALETTE[len(colours) % len(PALETTE)])
        line = {"color": colour, "width": 3, "dash": {"": "solid", "crm": "dash"}.get(rule, "dot")}
        figure.add_scatter(x=list(labels), y=list(values), name=name, mode="lines+markers", line=line)
    figure.update_layout(
        template="plotly_white",
        height=400 + 20 * math.ceil(len(series) / 6),  # the legend takes a line for about six
        margin={"l": 60, "r": 20, "t": 20, "b": 50},
        legend={"orientation": "h", "y": -0.2},
        xaxis={"title": x_title, "type": "category"},
        yaxis={"title": y_title, "rangemode": "tozero" if from_zero else "normal"},
    )
    return figure
