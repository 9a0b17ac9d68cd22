"""The part of a report in which the answers of one variant are explored: its sections, its data and its script."""

import html
import json
import math
from collections.abc import Iterable
from importlib.resources import files
from string import Template
from typing import Any

from hiercos.analysis import Analysis, Mistake
from hiercos.report.drawing import svg
from hiercos.report.figures import Figure, analysis_figures, tree_figure


def asset(name: str) -> str:
    """Text of a file beside this module, in the folder `assets`."""
    return (files("hiercos.report") / "assets" / name).read_text(encoding="utf-8")


def figure_html(figure: Figure, *, with_title: bool = True) -> str:
    """A figure with its title and note."""
    name = html.escape(figure.title)
    title = f"<h3>{name}</h3>" if with_title else ""
    scrolled = f'<div class="wide-figure" tabindex="0" role="group" aria-label="{name}">'  # on narrow screens
    return (
        f"{title}<figure>{scrolled}{svg(figure.drawing, in_page=True)}</div>"
        f"<figcaption>{html.escape(figure.note)}</figcaption></figure>"
    )


def figure_page(figure: Figure) -> str:
    """A page with one figure."""
    title = html.escape(figure.title)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{title}</title>\n'
        f"<style>{asset('report.css')}</style></head>\n<body><main><h1>{title}</h1>\n"
        f"{figure_html(figure, with_title=False)}</main></body></html>\n"
    )


def explorer_sections(analysis: Analysis) -> dict[str, list[str]]:
    """Sections on the answers of one variant, as HTML by title; the script fills their tables and lists."""
    figures = {name: figure_html(figure) for name, figure in analysis_figures(analysis).items() if name != "tree"}
    about = f'<p class="small">Answers of {html.escape(analysis.variant)}, {_samples(analysis)}.</p>'
    return {
        "Order of the classes": [figures[name] for name in ("distance-maps", "log-probabilities", "hops-weights")],
        "The tree": [about, _tree(analysis)],
        "Mistakes": [about, _mistakes(analysis)],
        "Confidence": [about, figures["reliability"], figures["coverage"]],
        "Classes": [about, _classes(analysis)],
    }


def _samples(analysis: Analysis) -> str:
    """The samples of the analysis in words."""
    count, run = len(analysis.answers.rows), f"the run of seed {analysis.seed}"
    if count == analysis.total:
        return f"{run} on {analysis.total} test samples"
    return f"{run}; confusion and lists of samples are of {count} of the {analysis.total} test samples, evenly spaced"


def _tree(analysis: Analysis) -> str:
    measures = {"accuracy": "accuracy", "severity": "severity of the mistakes", "support": "test samples"}
    if analysis.reference:
        measures["gain"] = f"gain over {analysis.reference}"
    options = "".join(f'<option value="{key}">{html.escape(text)}</option>' for key, text in measures.items())
    still = svg(tree_figure(analysis).drawing, in_page=True)
    return Template(asset("tree.html")).substitute(options=options, still=still)


def _mistakes(analysis: Analysis) -> str:
    hidden = "" if analysis.inputs else '<p class="small">The inputs themselves are not part of this report.</p>'
    count = len(analysis.suspected_labels)
    suspects = (
        f"{count} test sample{' is' if count == 1 else 's are'} answered far from the label with a confidence of at "
        "least 90%. Look at these labels first: they may be wrong."
        if count
        else "None: no test sample is answered far from its label with a confidence of at least 90%."
    )
    return Template(asset("mistakes.html")).substitute(
        hidden=hidden,
        suspects=suspects,
        download="" if count else " hidden",
        inputs='<th scope="col" class="wide">inputs</th>' if analysis.inputs else "",
    )


def _classes(analysis: Analysis) -> str:
    keys = {"name": "class", "support": "test samples", "accuracy": "accuracy", "severity": "severity"}
    if analysis.reference:
        keys["gain"] = f"gain over {analysis.reference}"
    keys["confused"] = "most confused with"
    heads = "".join(
        f'<th scope="col" data-key="{key}" data-title="{html.escape(text)}" '
        f'aria-sort="{"ascending" if key == "accuracy" else "none"}">'
        f'<button type="button">{html.escape(text)}</button></th>'
        for key, text in keys.items()
    )
    return Template(asset("classes.html")).substitute(heads=heads)


def explorer_script(analysis: Analysis) -> str:
    """The values of an analysis as JSON, in which no text can end the element, and the script that shows them."""
    nodes, answers = analysis.nodes, analysis.answers
    values = {
        "line": analysis.variant,
        "reference": analysis.reference,
        "names": analysis.tree.names,
        "parents": analysis.tree.parents.tolist(),
        "leaves": analysis.tree.leaves.tolist(),
        "support": nodes.support.tolist(),
        **{name: _rounded(getattr(nodes, name), 4) for name in ("accuracy", "severity", "gain")},
        "rows": answers.rows.tolist(),
        "labels": answers.labels.tolist(),
        "answers": answers.nodes.tolist(),
        "probabilities": _rounded(answers.probabilities, 3),
        "mistakes": [_mistake(each) for each in analysis.mistakes],
        "suspects": [_mistake(each) for each in analysis.suspected_labels],
        "pairs": [
            {"true": each.true, "answer": each.answer, "count": each.count, "rows": each.rows}
            for each in analysis.pairs
        ],
        "inputs": analysis.inputs,
    }
    text = json.dumps(values, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return f'<script type="application/json" id="data">{text}</script>\n<script>{asset("report.js")}</script>'


def _mistake(mistake: Mistake) -> dict[str, Any]:
    shares = {str(node): round(share, 4) for node, share in mistake.probabilities.items()}
    return {
        "row": mistake.row,
        "true": mistake.true,
        "answer": mistake.answer,
        "distance": mistake.distance,
        "probabilities": shares,
    }


def _rounded(values: Iterable[float], digits: int) -> list[float | None]:
    return [None if math.isnan(value) else round(float(value), digits) for value in values]
