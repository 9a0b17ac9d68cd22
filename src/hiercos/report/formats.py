"""Results in every output format: CSV, Markdown, LaTeX and JSON."""

import json
import math
from collections.abc import Sequence
from typing import Any

from hiercos.metrics import MetricSpec
from hiercos.report.document import Results, Section
from hiercos.report.grid import Cell, Grid
from hiercos.report.results import Estimate
from hiercos.storage import csv_text


def results_text(results: Results, format_name: str) -> str:
    """The results as "csv", "json", "markdown" or "latex"."""
    if format_name == "csv":
        return csv_text([list(results.rows[0]), *(row.values() for row in results.rows)])
    return {"markdown": results_markdown, "latex": results_latex, "json": results_json}[format_name](results)


def results_json(results: Results) -> str:
    """The results as one JSON object: data, rows, means and differences with their intervals; nan becomes null."""
    record = results.records[0]
    values = {
        "data": dict(record.data),
        "taxonomy": dict(record.taxonomy),
        "seeds": results.seeds,
        "verdict": str(results.verdict),
        "statements": [statement.to_dict() for statement in results.verdict.statements],
        "recommended": results.recommended,
        "recommended_seed": results.recommended_seed,
        "row_spread": {variant: dict(values) for variant, values in results.row_spread.items()},
        "rows": [{name: _null_for_nan(value) for name, value in row.items()} for row in results.rows],
        "tables": [_table(results, section) for section in results.sections],
    }
    return json.dumps(values, indent=2, ensure_ascii=False) + "\n"


def _table(results: Results, section: Section) -> dict[str, Any]:
    keys, reference = [column.name for column in results.columns], section.reference
    variants = [
        {"name": variant.name, **{key: _estimate(variant.estimate(key)) for key in keys}}
        for variant in section.variants
    ]
    differences = [
        {"name": variant.name, **{key: _estimate(variant.difference(reference, key)) for key in keys}}
        for variant in section.others
        if reference is not None
    ]
    return {
        "title": section.title,
        "variants": variants,
        "reference": reference.name if reference else None,
        "differences": differences,
    }


def _estimate(estimate: Estimate) -> dict[str, float | None]:
    return {"mean": _null_for_nan(estimate.mean), "half_width": _null_for_nan(estimate.half_width)}


def _null_for_nan(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value


def results_markdown(results: Results) -> str:
    """All tables of the results with their titles and the verdict."""
    parts = [f"## {_markdown_text(results.heading)}", *map(_markdown_text, str(results.verdict).splitlines())]
    for grid in results.grids():
        rows = [[name, *map(_markdown_figure, cells)] for name, cells in zip(grid.names, grid.rows, strict=True)]
        head = [grid.corner, *(spec.directed_heading for spec in grid.columns)]
        table = markdown_table(head, rows, "l" + "r" * len(grid.columns))
        parts += [f"{_markdown_text(grid.caption)}; in bold: {grid.mark}.", table.rstrip()]
    return "\n\n".join(parts) + "\n"


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]], columns: str) -> str:
    r"""A Markdown table.

    Args:
        head: headings of the columns.
        rows: cells of each row.
        columns: alignment of each column, such as "lr".

    Example:
        >>> print(markdown_table(["metric", "value"], [["a|b", "0.5"]], "lr"), end="")
        | metric | value |
        |---|---:|
        | a\|b | 0.5 |
    """
    rule = "|" + "|".join({"l": "---", "r": "---:"}[side] for side in columns) + "|"
    texts = [f"| {' | '.join(map(_markdown_text, cells))} |" for cells in (head, *rows)]
    return "\n".join([texts[0], rule, *texts[1:]]) + "\n"


def _markdown_text(text: str) -> str:
    return "".join({"|": "\\|", "<": "&lt;", "\n": " "}.get(sign, sign) for sign in text)


def _markdown_figure(cell: Cell) -> str:
    return f"**{cell.text}**" if abs(cell.merit) == 1 else cell.text


PACKAGES = r"% needs \usepackage{booktabs,graphicx} and \usepackage[table]{xcolor}"
SIGNS = {
    **{sign: "\\" + sign for sign in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    ">": "$>$",
    "<": "$<$",
    "±": r"$\pm$",
    "–": "--",
}


def results_latex(results: Results) -> str:
    """All tables of the results, each in a full-width float."""
    return "\n".join([PACKAGES, *(_float(grid, results.heading) for grid in results.grids())])


def tabular(head: Sequence[str], rows: Sequence[Sequence[str]], columns: str) -> str:
    r"""A tabular environment with the rules of the booktabs package.

    Args:
        head: headings of the columns, in LaTeX.
        rows: cells of each row, in LaTeX.
        columns: alignment of each column, such as "lr".

    Example:
        >>> print(tabular(["metric", "value"], [[latex_text("ahd_at_1"), "0.5000"]], "lr"), end="")
        \begin{tabular}{lr}
        \toprule
        metric & value \\
        \midrule
        ahd\_at\_1 & 0.5000 \\
        \bottomrule
        \end{tabular}
    """
    first, *rest = [" & ".join(cells) + r" \\" for cells in (head, *rows)]
    begin = rf"\begin{{tabular}}{{{columns}}}"
    return "\n".join([begin, r"\toprule", first, r"\midrule", *rest, r"\bottomrule", r"\end{tabular}"]) + "\n"


def latex_text(text: str) -> str:
    """The text with LaTeX's special characters escaped."""
    return "".join(SIGNS.get(sign, sign) for sign in text)


def _float(grid: Grid, heading: str) -> str:
    head = [rf"\textbf{{{latex_text(grid.corner)}}}", *map(_heading, grid.columns)]
    rows = [[latex_text(name), *map(_latex_figure, cells)] for name, cells in zip(grid.names, grid.rows, strict=True)]
    table = tabular(head, rows, "l" + "c" * len(grid.columns))
    caption = latex_text(f"{heading}. {grid.caption}. {grid.shading}.")
    return (
        "\\begin{table*}[!htp]\n\\centering\n\\resizebox{\\textwidth}{!}{%\n"
        f"{table}}}\n\\caption{{{caption}}}\n\\end{{table*}}\n"
    )


def _heading(column: MetricSpec) -> str:
    arrow = "up" if column.higher_is_better else "down"
    return rf"\textbf{{{latex_text(column.heading)}}} $\{arrow}arrow$"


def _latex_figure(cell: Cell) -> str:
    colour = rf"\cellcolor[HTML]{{{cell.colour}}}" if cell.colour else ""
    interval = rf"_{{\pm {cell.half_width}}}" if cell.half_width else ""
    return f"{colour}${cell.mean}{interval}$" if cell.mean else "--"
