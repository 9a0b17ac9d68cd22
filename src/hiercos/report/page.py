"""A comparison as one HTML file that needs nothing else: the table, the figures, and how it was made."""

import html
import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hiercos.files import write_atomically
from hiercos.records import Record
from hiercos.report.figures import correct_order_figure, level_accuracy_figure
from hiercos.report.results import COLUMNS, Line, best_lines, cell, summarize

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #212529; max-width: 1500px; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; margin-bottom: .2rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
.lead { font-size: 1.1rem; border-left: 4px solid #4c6ef5; padding: .4rem 1rem; background: #f1f3ff; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .35rem .5rem; font-size: .92rem; text-align: right; white-space: nowrap; }
tr { border-bottom: 1px solid #dee2e6; }
th:first-child, td:first-child { text-align: left; }
td.best { background: #d3f9d8; font-weight: 600; }
.small, footer { color: #5c636a; font-size: .9rem; }
"""
LEGEND = (
    "Mean over seeds and half the 95% interval (Student's t). HOPS: 1 is the order of the tree, 0 is its reverse. "
    "MS (mistake severity): mean tree distance of the mistakes. AHD@k: mean tree distance of the first k predictions. "
    "FPA (full-path accuracy): right at every level, each level chosen by itself. "
    "+ crm: classes ranked by their expected tree distance; + hops: by the highest expected HOPS."
)


def write_report(records: Sequence[Record], verdict: str, path: Path) -> str:
    """Write report.html, or nothing where plotly is not installed.

    Args:
        records: the runs of one comparison.
        verdict: what they say in plain words.
        path: the file to write.

    Returns:
        A sentence for the user: where the report is, or why there is none.
    """
    if importlib.util.find_spec("plotly") is None:
        return "report.html was left out: its figures need plotly (pip install 'hiercos[report]')."
    write_atomically(path, report_html(records, verdict))
    return f"The report is {path}."


def report_html(records: Sequence[Record], verdict: str) -> str:
    """The whole page as text."""
    data = records[0].data
    sections = [
        f"<h1>{html.escape(str(data['name']))}</h1>",
        f'<p class="small">{html.escape(_facts(records))}</p>',
        f'<p class="lead">{html.escape(verdict)}</p>',
        "<h2>Results on the test split</h2>",
        _table(summarize(records)),
        f'<p class="small">{LEGEND}</p>',
        "<h2>Predictions in the order of the tree</h2>",
        '<p class="small">Share of samples whose first k predictions come in the order the tree prefers.</p>',
        _figure_html(correct_order_figure(records), with_library=True),
        "<h2>Accuracy at every level</h2>",
        _figure_html(level_accuracy_figure(records), with_library=False),
        f"<footer><p>{html.escape(_origin(records))}</p></footer>",
    ]
    body = "\n".join(sections)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>hiercos: {html.escape(str(data['name']))}</title>\n<style>{STYLE}</style></head>\n"
        f"<body>\n{body}\n</body></html>\n"
    )


def _facts(records: Sequence[Record]) -> str:
    data, tree = records[0].data, records[0].taxonomy
    sizes = data["sizes"]
    seeds = len({record.seed for record in records})
    return (
        f"{tree['classes']} classes, {tree['nodes']} nodes, height {tree['height']}; "
        f"{sizes['train']} training, {sizes['val']} validation and {sizes['test']} test samples; "
        f"{data['features']} features; {seeds} seed{'s' if seeds > 1 else ''}"
    )


def _origin(records: Sequence[Record]) -> str:
    config, versions = records[0].config, records[0].versions
    shared = [name for name in config if name not in ("method", "options", "seed")]
    settings = ", ".join(f"{name.replace('_', ' ')} {config[name]}" for name in shared)
    methods = "; ".join(f"{method}: {texts}" for method, texts in _options(records).items())
    software = ", ".join(f"{name} {number}" for name, number in versions.items())
    data = records[0].data
    return (
        f"Data: {data['source']} ({data['fingerprint'][:12]}). Settings: {settings}. Methods: {methods}. "
        f"Software: {software}."
    )


def _options(records: Sequence[Record]) -> dict[str, str]:
    """The options of each method as text."""
    return {
        record.method: ", ".join(f"{name} {value}" for name, value in record.config["options"].items()) or "no options"
        for record in records
    }


def _table(lines: Sequence[Line]) -> str:
    best = best_lines(lines)
    head = "".join(f"<th>{html.escape(column.heading)}</th>" for column in COLUMNS)
    rows = []
    for index, line in enumerate(lines):
        marks = [" class=best" if index in best[column.key] else "" for column in COLUMNS]
        figures = [cell(line.estimate(column.key), column) for column in COLUMNS]
        cells = "".join(f"<td{mark}>{figure}</td>" for mark, figure in zip(marks, figures, strict=True))
        rows.append(f"<tr><td>{html.escape(line.name)}</td>{cells}</tr>")
    return f'<div class="scroll"><table><tr><th>method</th>{head}</tr>{"".join(rows)}</table></div>'


def _figure_html(figure: Any, *, with_library: bool) -> str:
    """A figure as a div; the first one of a page brings plotly's library, so the file works offline."""
    text: str = figure.to_html(full_html=False, include_plotlyjs=with_library, config={"displayModeBar": False})
    return text
