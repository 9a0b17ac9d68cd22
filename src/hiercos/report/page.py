"""Results as one self-contained HTML file: the verdict, tables, figures, and the answers of one variant to explore."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hiercos.evaluation import Analysis
from hiercos.metrics import legend
from hiercos.records import Record
from hiercos.report.document import Results, Section
from hiercos.report.explorer import explorer_values
from hiercos.report.figures import (
    Figure,
    analysis_figures,
    correct_order_figure,
    level_accuracy_figure,
    result_figures,
    training_figures,
    tree_figure,
    verdict_figure,
)
from hiercos.report.formats import results_text
from hiercos.report.grid import Grid
from hiercos.report.render import render
from hiercos.report.statements import Statement, mistake_summary
from hiercos.storage import write

RULES_LEGEND = (
    "+ crm: classes ranked by their expected tree distance; + hops: by the highest expected HOPS; + auto: the "
    "answer by probability or expected distance, top-5 of a list by probability, HOPS and AHD@k of the order behind it."
)
COMMITTEE = (
    "committee: several models, with and without the tree, whose scores are added with weights chosen on held-out rows."
)
FIRST = ("ship", "tree", "few-rows")  # kinds of statements before the picture


@dataclass(frozen=True)
class PageSection:
    """A section of the page."""

    title: str  # heading
    note: str = ""  # sentence below the heading; "" for none
    grids: Sequence[Grid] = ()  # tables
    legend: str = ""  # explanation of the columns, below the first table
    figures: Sequence[Figure] = ()  # figures, below the tables
    template: str = ""  # template of what the script fills, at the end; "" for none


def write_results(results: Results, folder: Path, analysis: Analysis | None = None) -> str:
    """Write results.csv, results.json and report.html to a folder; returns the sentence of `write_report`."""
    for format_name in ("csv", "json"):
        write(folder / f"results.{format_name}", results_text(results, format_name))
    return write_report(results, folder / "report.html", analysis)


def write_report(results: Results, path: Path, analysis: Analysis | None = None) -> str:
    """Write report.html.

    Args:
        results: results to show.
        path: file to write.
        analysis: analysis of the answers of one variant; None for a report without it.

    Returns:
        A sentence for the user: the path of the report.
    """
    write(path, report_html(results, analysis))
    return f"The report is {path}."


def report_figures(results: Results, analysis: Analysis | None) -> dict[str, Figure]:
    """All figures of a report by the name of their file."""
    return {**result_figures(results), **(analysis_figures(analysis) if analysis else {})}


def report_html(results: Results, analysis: Analysis | None = None) -> str:
    """The HTML of the whole page."""
    sections = _learning_curves(results) if results.points else [_section(results, each) for each in results.sections]
    sections += _explorer(analysis) if analysis else []
    if not results.points and (trained := training_figures(results.sections[0].variants)):
        sections.append(PageSection("Training", figures=[*trained.values()]))
    return render(
        "report.html",
        name=results.records[0].data["name"],
        facts=_facts(results),
        **_verdict(results, analysis),
        sections=sections,
        origin=_origin(results.records),
        analysis=analysis,
        tree=tree_figure(analysis) if analysis else None,
        data=explorer_values(analysis) if analysis else None,
    )


def _verdict(results: Results, analysis: Analysis | None) -> dict[str, Any]:
    """Statements before the picture, at most three for a comparison; its picture and command; the rest.

    The picture has two forms, for wide and for narrow screens.
    """
    verdict = results.verdict
    is_comparison = not results.points and len(results.sections) == 1 and len(results.sections[0].variants) > 1
    first = (is_comparison and verdict.of_kinds(*FIRST)[:3]) or list(verdict.statements)
    commands = [each for each in verdict.of_kinds("command") if each not in first]
    why = [Statement("note", first[0].reason, subject="Why this one")] if first[0].reason else []
    why += [mistake_summary(analysis)] if analysis else []
    has_committee = any("committee" in record.method for record in results.records)
    return {
        "head": first[0],
        "statements": first[1:],
        "pictures": [verdict_figure(results, stacked=stacked) for stacked in (False, True) if is_comparison],
        "commands": commands,
        "committee": COMMITTEE if has_committee else "",
        "more": [*why, *(each for each in verdict.statements if each not in (*first, *commands))],
    }


def _learning_curves(results: Results) -> list[PageSection]:
    """A figure for each metric over all numbers of training samples, then the tables."""
    tables = [_section(results, each, with_figures=False) for each in results.sections]
    return [PageSection("Learning curves", figures=[*result_figures(results).values()]), *tables]


def _section(results: Results, section: Section, *, with_figures: bool = True) -> PageSection:
    """Note, tables and figures of one section."""
    grids = [grid for grid in (results.figures(section), results.differences(section)) if grid is not None]
    figures = [correct_order_figure(section.variants), level_accuracy_figure(section.variants)]
    explained = _legend(results) if section is results.sections[0] else ""
    return PageSection(section.title, section.note, grids, explained, figures if with_figures else ())


def _legend(results: Results) -> str:
    """Explanation of the columns and rules of the tables."""
    has_rules = any(variant.has_rule for section in results.sections for variant in section.variants)
    return " ".join([legend(results.shown), *[RULES_LEGEND] * has_rules])


def _explorer(analysis: Analysis) -> list[PageSection]:
    """Sections on the answers of one variant."""
    figures, about = analysis_figures(analysis), f"Answers of {analysis.variant}, {_samples(analysis)}."
    orders = [figures[name] for name in ("distance-maps", "log-probabilities", "hops-weights")]
    return [
        PageSection("Order of the classes", figures=orders),
        PageSection("The tree", about, template="tree.html"),
        PageSection("Mistakes", about, template="mistakes.html"),
        PageSection("Confidence", about, figures=[figures["reliability"], figures["coverage"]]),
        PageSection("Classes", about, template="classes.html"),
    ]


def _samples(analysis: Analysis) -> str:
    """The samples of the analysis in words."""
    count, run = len(analysis.answers.rows), f"the run of seed {analysis.seed}"
    if count == analysis.total:
        return f"{run} on {analysis.total} test samples"
    return f"{run}; confusion and lists of samples are of {count} of the {analysis.total} test samples, evenly spaced"


def _facts(results: Results) -> str:
    record, seeds = results.records[-1], len(results.seeds)  # the last point of learning curves has the most samples
    data, tree, sizes = record.data, record.taxonomy, record.data["sizes"]
    return (
        f"{tree['classes']} classes, {tree['nodes']} nodes, height {tree['height']}; "
        f"{sizes['train']} training, {sizes['val']} validation and {sizes['test']} test samples; "
        f"{_feature_text(data)}; {seeds} {'draw' if results.points else 'seed'}{'s' if seeds > 1 else ''}"
    )


def _feature_text(data: Mapping[str, Any]) -> str:
    """The features in words; sparse vectors have no number of them."""
    count, backbone = data.get("features"), data.get("backbone")
    if count is not None:
        return f"{count} features"
    beside = "" if backbone is None else f" and {backbone['name']} vectors"
    return f"n-grams{beside}" if data.get("kind") == "texts" else "sparse features"


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
