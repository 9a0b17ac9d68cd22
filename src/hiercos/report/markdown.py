"""Tables in Markdown."""

from collections.abc import Sequence

from hiercos.report.document import Results
from hiercos.report.grid import Cell


def results_markdown(results: Results) -> str:
    """All tables of the results with their titles and the verdict."""
    parts = [f"## {_escaped(results.heading)}", *map(_escaped, results.verdict.splitlines())]
    for grid in results.grids():
        rows = [[name, *map(_figure, cells)] for name, cells in zip(grid.names, grid.rows, strict=True)]
        head = [grid.corner, *(spec.directed_heading for spec in grid.columns)]
        table = markdown_table(head, rows, "l" + "r" * len(grid.columns))
        parts += [f"{_escaped(grid.caption)}; in bold: {grid.mark}.", table.rstrip()]
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
    texts = [f"| {' | '.join(map(_escaped, cells))} |" for cells in (head, *rows)]
    return "\n".join([texts[0], rule, *texts[1:]]) + "\n"


def _escaped(text: str) -> str:
    return "".join({"|": "\\|", "<": "&lt;", "\n": " "}.get(sign, sign) for sign in text)


def _figure(cell: Cell) -> str:
    return f"**{cell.text}**" if abs(cell.merit) == 1 else cell.text
