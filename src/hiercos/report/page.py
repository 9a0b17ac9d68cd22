"""Results as one self-contained HTML file: the verdict, tables, figures, and the answers of one variant to explore."""

import html
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hiercos.analysis import Analysis
from hiercos.files import write_atomically
from hiercos.metric_table import legend
from hiercos.records import Record
from hiercos.report.document import Results, Section
from hiercos.report.explorer import asset, explorer_script, explorer_sections, figure_html
from hiercos.report.figures import (
    Figure,
    analysis_figures,
    correct_order_figure,
    level_accuracy_figure,
    result_figures,
    training_figures,
    verdict_figure,
)
from hiercos.report.grid import Cell, Grid
from hiercos.report.statements import Statement, mistake_summary

RULES_LEGEND = (
    "+ crm: classes ranked by their expected tree distance; + hops: by the highest expected HOPS; + default: the "
    "answer by probability or expected distance, top-5 of a list by probability, HOPS and AHD@k of the order behind it."
)
HEADLINES = ("ship", "note")  # kinds of statements that are short enough for a headline
FIRST = ("ship", "few-rows", "flat", "tree", "rule")  # kinds of statements before the picture


def write_report(results: Results, path: Path, analysis: Analysis | None = None) -> str:
    """Write report.html.

    Args:
        results: results to show.
        path: file to write.
        analysis: analysis of the answers of one variant; None for a report without it.

    Returns:
        A sentence for the user: the path of the report.
    """
    write_atomically(path, report_html(results, analysis))
    return f"The report is {path}."


def report_figures(results: Results, analysis: Analysis | None) -> dict[str, Figure]:
    """All figures of a report by the name of their file."""
    return {**result_figures(results), **(analysis_figures(analysis) if analysis else {})}


def report_html(results: Results, analysis: Analysis | None = None) -> str:
    """The HTML of the whole page."""
    name = html.escape(str(results.records[0].data["name"]))
    sections = _learning_curves(results) if results.points else _sections(results)
    sections |= explorer_sections(analysis) if analysis else {}
    if not results.points:
        trained = training_figures(results.sections[0].variants).values()
        sections |= {"Training": [figure_html(figure) for figure in trained]} if trained else {}
    links = "".join(f'<li><a href="#{_anchor(title)}">{html.escape(title)}</a></li>' for title in sections)
    body = "".join(
        f'<section aria-labelledby="{_anchor(title)}"><h2 id="{_anchor(title)}">{html.escape(title)}</h2>\n'
        f"{chr(10).join(parts)}</section>\n"
        for title, parts in sections.items()
    )
    script = explorer_script(analysis) if analysis else ""
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<link rel="icon" href="data:,">\n<title>hiercos: {name}</title>\n'
        f"<style>{asset('report.css')}</style></head>\n"
        f'<body><a class="skip" href="#content">Skip to the results</a>\n'
        f'<header><h1>{name}</h1><p class="small">{html.escape(_facts(results))}</p>\n{_verdict(results, analysis)}\n'
        f'<nav aria-label="Sections"><ul>{links}</ul></nav></header>\n<main id="content">\n{body}</main>\n'
        f"<footer><p>{html.escape(_origin(results.records))}</p></footer>\n{script}\n</body></html>\n"
    )


def _anchor(title: str) -> str:
    """Id of the section with a title."""
    return "section-" + "-".join("".join(sign if sign.isalnum() else " " for sign in title.lower()).split())


def _verdict(results: Results, analysis: Analysis | None) -> str:
    """The verdict, the recommendation first; a picture of it; the rest of the verdict."""
    said = results.verdict
    is_comparison = not results.points and len(results.sections) == 1 and len(results.sections[0].variants) > 1
    first = (is_comparison and said.of_kinds(*FIRST)) or list(said.statements)
    head, others = first[0], first[1:]
    errs = [mistake_summary(analysis)] if analysis else []
    if head.kind in HEADLINES:
        body = [f'<p class="first">{html.escape(str(replace(head, reason="")))}</p>']
        body += [f"<p>{html.escape(head.reason)}</p>"] if head.reason else []
    else:
        body = [f"<p>{_sentence(head)}</p>"]
    body += [f"<p>{_sentence(statement)}</p>" for statement in (*errs, *others)]
    more = [f"<p>{_sentence(statement)}</p>" for statement in said.statements if statement not in first]
    picture = _verdict_picture(results) if is_comparison else ""
    return f'<div class="verdict">{"".join(body)}</div>\n{picture}<div class="more">{"".join(more)}</div>'


def _verdict_picture(results: Results) -> str:
    """The picture of a comparison, in one form for wide and one for narrow screens."""
    wide, narrow = (
        figure_html(verdict_figure(results, stacked=stacked), with_title=False) for stacked in (False, True)
    )
    return f'<div class="on-wide">{wide}</div><div class="on-narrow">{narrow}</div>'


def _sentence(statement: Statement) -> str:
    """A statement of the verdict, its subject in bold and a command as code."""
    subject = f"<strong>{html.escape(statement.subject)}: </strong>" if statement.subject else ""
    if statement.kind == "command":
        return f"{subject}<code>{html.escape(statement.text)}</code>"
    return subject + html.escape(str(replace(statement, subject="")))


def _learning_curves(results: Results) -> dict[str, list[str]]:
    """A figure for each metric over all numbers of training samples, then the tables."""
    figures = [figure_html(figure) for figure in result_figures(results).values()]
    return {"Learning curves": figures, **{each.title: _tables(results, each) for each in results.sections}}


def _sections(results: Results) -> dict[str, list[str]]:
    """Tables and figures of all sections."""
    return {
        section.title: [
            *_tables(results, section),
            figure_html(correct_order_figure(section.variants)),
            figure_html(level_accuracy_figure(section.variants)),
        ]
        for section in results.sections
    }


def _tables(results: Results, section: Section) -> list[str]:
    """Note and tables of one section."""
    note = f'<p class="small">{html.escape(section.note)}</p>' if section.note else ""
    explained = _legend(results) if section is results.sections[0] else ""
    parts = [note, *_table(results.figures(section), explained)]
    if differences := results.differences(section):
        parts += _table(differences, "")
    return parts


def _legend(results: Results) -> str:
    """Explanation of the columns and rules of the tables."""
    has_rules = any(variant.has_rule for section in results.sections for variant in section.variants)
    return " ".join([html.escape(legend(results.shown)), *[RULES_LEGEND] * has_rules])


def _table(grid: Grid, explained: str) -> list[str]:
    headings = [spec.directed_heading for spec in grid.columns]
    head = "".join(f'<th scope="col">{html.escape(heading)}</th>' for heading in (grid.corner, *headings))
    rows = [
        f'<tr><th scope="row" class="name">{html.escape(name)}</th>{"".join(map(_cell, cells))}</tr>'
        for name, cells in zip(grid.names, grid.rows, strict=True)
    ]
    return [
        f"<h3>{html.escape(grid.title[:1].upper() + grid.title[1:])}</h3>",
        f'<div class="scroll" tabindex="0" role="group" aria-label="Table"><table class="figures">'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>",
        f'<p class="small">{grid.shading}. {explained}</p>',
    ]


def _cell(cell: Cell) -> str:
    names = [*["best"] * (cell.merit == 1), *["loss"] * (cell.merit < 0)]
    mark = f' class="{" ".join(names)}"' if names else ""
    colour = f' style="--merit:{100 * abs(cell.merit):.0f}%"' if cell.merit else ""
    interval = f" <small>±{cell.half_width}</small>" if cell.half_width else ""
    return f"<td{mark}{colour}>{cell.mean or '–'}{interval}</td>"


def _facts(results: Results) -> str:
    record, seeds = results.records[-1], len(results.seeds)  # the last point of learning curves has the most samples
    data, tree, sizes = record.data, record.taxonomy, record.data["sizes"]
    return (
        f"{tree['classes']} classes, {tree['nodes']} nodes, height {tree['height']}; "
        f"{sizes['train']} training, {sizes['val']} validation and {sizes['test']} test samples; "
        f"{_feature_text(data)}; {seeds} {'draw' if results.points else 'seed'}{'s' if seeds > 1 else ''}"
    )


def _feature_text(data: Mapping[str, Any]) -> str:
    """The features in words; of texts, methods on sparse inputs read the n-grams and others the dense features."""
    count, backbone = data["features"], data.get("backbone")
    if data.get("kind") != "texts" or (backbone is not None and "beside" not in backbone):
        return f"{count} features"
    beside = "" if backbone is None else f" and {backbone['name']} vectors"
    return f"n-grams{beside}, {count} dense features of them"


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
