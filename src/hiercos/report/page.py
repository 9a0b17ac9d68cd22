"""Results as one self-contained HTML file: the tables, the figures and the settings of the runs."""

import html
import importlib.util
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hiercos.files import write_atomically
from hiercos.metric_table import MetricSpec, legend
from hiercos.records import Record
from hiercos.report.document import Results, Section
from hiercos.report.grid import Cell, Grid
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
    """Accuracy of each method's own prediction at every level, the coarsest first."""
    levels = [str(level) for level in range(1, int(lines[0].records[0].taxonomy["height"]) + 1)]
    series = {line.name: [_percent(line, f"accuracy_level_{level}") for level in levels] for line in lines}
    return _lines(levels, series, x_title="level (1 is the coarsest)", y_title="accuracy, %")


CURVES = ("top1", "macro_accuracy", "log_loss", "hops")  # figures of learning curves


def learning_curve_figure(results: Results, column: MetricSpec) -> Any:
    """Mean of a metric against the number of training samples of a class, with its interval over the draws."""
    scale = column.scale
    estimates = {
        line.name: [
            next(each for each in section.lines if each.name == line.name).estimate(column.name)
            for section in results.sections
        ]
        for line in results.sections[0].lines
    }
    series = {name: [scale * each.mean for each in values] for name, values in estimates.items()}
    spread = {name: [scale * each.half_width for each in values] for name, values in estimates.items()}
    return _lines(results.points, series, spread, x_title="training samples of a class", y_title=column.heading)


def _percent(line: Line, key: str) -> float:
    return 100 * line.estimate(key).mean


def _order_key(key: str) -> str:
    return "correct_order_all" if key == "all" else ORDER + key


def _lines(
    labels: Sequence[str],
    series: Mapping[str, Sequence[float]],
    spread: Mapping[str, Sequence[float]] | None = None,
    *,
    x_title: str,
    y_title: str,
    from_zero: bool = False,
) -> Any:
    """Line chart with one line per method, and error bars of half the spread's width if it is given."""
    from plotly import graph_objects

    figure = graph_objects.Figure()
    colours: dict[str, str] = {}  # a method has the same colour with a rule, but a dashed line
    for name, values in series.items():
        method, rule = name.partition(" + ")[::2]
        colour = colours.setdefault(method, PALETTE[len(colours) % len(PALETTE)])
        line = {"color": colour, "width": 3, "dash": {"": "solid", "crm": "dash"}.get(rule, "dot")}
        figure.add_scatter(x=list(labels), y=list(values), name=name, mode="lines+markers", line=line)
        if spread is not None:
            figure.data[-1].error_y = {"array": [0 if math.isnan(half) else half for half in spread[name]], "width": 3}
    figure.update_layout(
        template="plotly_white",
        height=400 + 20 * math.ceil(len(series) / 6),  # a line of the legend holds about six names
        margin={"l": 60, "r": 20, "t": 20, "b": 50},
        legend={"orientation": "h", "y": -0.2},
        xaxis={"title": x_title, "type": "category"},
        yaxis={"title": y_title, "rangemode": "tozero" if from_zero else "normal"},
    )
    return figure


STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #212529; max-width: 1500px; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; margin-bottom: .2rem; } h2 { font-size: 1.25rem; margin-top: 2.5rem; }
h3 { font-size: 1.02rem; margin: 1.8rem 0 .4rem; }
.lead { font-size: 1.1rem; border-left: 4px solid #4c6ef5; padding: .4rem 1rem; background: #f1f3ff;
  white-space: pre-line; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .4rem; font-size: .88rem; text-align: right; white-space: nowrap; }
tr { border-bottom: 1px solid #dee2e6; }
th:first-child, td:first-child { text-align: left; }
td.best { font-weight: 600; } td small { color: #495057; font-weight: 400; }
.small, footer { color: #5c636a; font-size: .9rem; }
"""
RULES_LEGEND = (
    "+ crm: classes ranked by their expected tree distance; + hops: by the highest expected HOPS; + default: the "
    "answer by probability or expected distance, top-5 of a list by probability, HOPS and AHD@k of the order behind it."
)


def write_report(results: Results, path: Path) -> str:
    """Write report.html; writes nothing if plotly is not installed.

    Args:
        results: results to show.
        path: file to write.

    Returns:
        A sentence for the user: the path of the report, or the reason why there is none.
    """
    if importlib.util.find_spec("plotly") is None:
        return "report.html was not written: its figures need plotly (pip install 'hiercos[report]')."
    write_atomically(path, report_html(results))
    return f"The report is {path}."


def report_html(results: Results) -> str:
    """The HTML of the whole page."""
    name = html.escape(str(results.records[0].data["name"]))
    parts = [
        f"<h1>{name}</h1>",
        f'<p class="small">{html.escape(_facts(results))}</p>',
        f'<p class="lead">{html.escape(results.verdict)}</p>',
        *(_learning_curves(results) if results.points else _sections(results)),
        f"<footer><p>{html.escape(_origin(results.records))}</p></footer>",
    ]
    body = "\n".join(parts)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>hiercos: {name}</title>\n<style>{STYLE}</style></head>\n"
        f"<body>\n{body}\n</body></html>\n"
    )


def _learning_curves(results: Results) -> list[str]:
    """A figure for each metric over all numbers of training samples, then the tables."""
    shown = [column for column in results.shown if column.name in CURVES]
    figures = [
        f"<h3>{html.escape(column.directed_heading)}</h3>\n"
        + _figure_html(learning_curve_figure(results, column), with_library=column is shown[0])
        for column in shown
    ]
    return [
        "<h2>Learning curves</h2>",
        *figures,
        *(part for each in results.sections for part in _tables(results, each)),
    ]


def _sections(results: Results) -> list[str]:
    """Tables and figures of all sections; the first embeds plotly's library, so the file works offline."""
    return [
        part
        for section in results.sections
        for part in _section(results, section, with_library=section is results.sections[0])
    ]


def _tables(results: Results, section: Section) -> list[str]:
    """Heading, note and tables of one section."""
    note = f'<p class="small">{html.escape(section.note)}</p>' if section.note else ""
    explained = _legend(results) if section is results.sections[0] else ""
    parts = [f"<h2>{html.escape(section.title)}</h2>", note, *_table(results.figures(section), explained)]
    if differences := results.differences(section):
        parts += _table(differences, "")
    return parts


def _section(results: Results, section: Section, *, with_library: bool) -> list[str]:
    """Tables and figures of one section."""
    return [
        *_tables(results, section),
        "<h3>Predictions in the order of the tree</h3>",
        '<p class="small">Share of samples whose first k predictions come in the order the tree prefers.</p>',
        _figure_html(correct_order_figure(section.lines), with_library=with_library),
        "<h3>Accuracy at every level</h3>",
        _figure_html(level_accuracy_figure(section.lines), with_library=False),
    ]


def _legend(results: Results) -> str:
    """Explanation of the columns and rules of the tables."""
    has_rules = any(line.has_rule for section in results.sections for line in section.lines)
    return " ".join([html.escape(legend(results.shown)), *[RULES_LEGEND] * has_rules])


def _table(grid: Grid, explained: str) -> list[str]:
    headings = [spec.directed_heading for spec in grid.columns]
    head = "".join(f"<th>{html.escape(heading)}</th>" for heading in (grid.corner, *headings))
    rows = [
        f"<tr><td>{html.escape(name)}</td>{''.join(map(_cell, cells))}</tr>"
        for name, cells in zip(grid.names, grid.rows, strict=True)
    ]
    return [
        f"<h3>{html.escape(grid.title[:1].upper() + grid.title[1:])}</h3>",
        f'<div class="scroll"><table><tr>{head}</tr>{"".join(rows)}</table></div>',
        f'<p class="small">{grid.shading}. {explained}</p>',
    ]


def _cell(cell: Cell) -> str:
    mark = ' class="best"' if cell.merit == 1 else ""
    colour = f' style="background:#{cell.colour}"' if cell.colour else ""
    interval = f" <small>±{cell.half_width}</small>" if cell.half_width else ""
    return f"<td{mark}{colour}>{cell.mean or '–'}{interval}</td>"


def _facts(results: Results) -> str:
    record, seeds = results.records[0], len(results.seeds)
    data, tree, sizes = record.data, record.taxonomy, record.data["sizes"]
    return (
        f"{tree['classes']} classes, {tree['nodes']} nodes, height {tree['height']}; "
        f"{sizes['train']} training, {sizes['val']} validation and {sizes['test']} test samples; "
        f"{data['features']} features; {seeds} seed{'s' if seeds > 1 else ''}"
    )


def _origin(records: Sequence[Record]) -> str:
    settings = _texts(_shared([_settings(record) for record in records]))
    methods = "; ".join(f"{method}: {texts}" for method, texts in _methods(records).items())
    software = ", ".join(f"{name} {number}" for name, number in records[0].versions.items())
    data = records[0].data
    return (
        f"Data: {data['source']} ({data['fingerprint'][:12]}). Settings: {settings}. Methods: {methods}. "
        f"Software: {software}."
    )


def _settings(record: Record) -> dict[str, Any]:
    """The training settings of a run, without its method, options and seed."""
    settings = {name: value for name, value in record.config.items() if name not in ("method", "options", "seed")}
    if isinstance(settings.get("class_prior"), list | tuple):
        settings["class_prior"] = "as given"  # one number for each class would fill the page
    return settings


def _methods(records: Sequence[Record]) -> dict[str, str]:
    """For each method, the settings that all its runs share, as text: its options, and those that methods differ in."""
    common = _shared([_settings(record) for record in records])
    by_method: dict[str, list[dict[str, Any]]] = {}
    for record in records:
        own = {name: value for name, value in _settings(record).items() if name not in common}
        by_method.setdefault(record.method, []).append({**own, **record.config["options"]})
    return {method: _texts(_shared(values)) or "no options" for method, values in by_method.items()}


def _shared(values: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The entries that are equal in all mappings."""
    first, *others = values
    return {
        name: value for name, value in first.items() if all(name in other and other[name] == value for other in others)
    }


def _texts(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in values.items())


def _figure_html(figure: Any, *, with_library: bool) -> str:
    text: str = figure.to_html(full_html=False, include_plotlyjs=with_library, config={"displayModeBar": False})
    return text
