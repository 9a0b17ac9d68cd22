r"""Tables in LaTeX: booktabs, intervals as subscripts, the best values of each column shaded as in the paper."""

from collections.abc import Sequence

from hiercos.metric_table import MetricSpec
from hiercos.report.document import Results
from hiercos.report.grid import Cell, Grid

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
    rows = [[latex_text(name), *map(_figure, cells)] for name, cells in zip(grid.names, grid.rows, strict=True)]
    table = tabular(head, rows, "l" + "c" * len(grid.columns))
    caption = latex_text(f"{heading}. {grid.caption}. {grid.shading}.")
    return (
        "\\begin{table*}[!htp]\n\\centering\n\\resizebox{\\textwidth}{!}{%\n"
        f"{table}}}\n\\caption{{{caption}}}\n\\end{{table*}}\n"
    )


def _heading(column: MetricSpec) -> str:
    arrow = "up" if column.higher_is_better else "down"
    return rf"\textbf{{{latex_text(column.heading)}}} $\{arrow}arrow$"


def _figure(cell: Cell) -> str:
    colour = rf"\cellcolor[HTML]{{{cell.colour}}}" if cell.colour else ""
    interval = rf"_{{\pm {cell.half_width}}}" if cell.half_width else ""
    return f"{colour}${cell.mean}{interval}$" if cell.mean else "--"
