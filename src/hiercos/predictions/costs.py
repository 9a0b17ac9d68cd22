"""Tables of costs for the rule `costs`."""

import math
from pathlib import Path

import numpy as np

from hiercos.data import read_table
from hiercos.decisions import LeastCost
from hiercos.errors import DataError
from hiercos.taxonomy import LabelReader, Taxonomy

ANSWER = "answer"


def read_costs(path: Path, taxonomy: Taxonomy) -> LeastCost:
    """Read a table of costs: a row for each answer, a column for each class.

    The column `answer` has the class or inner node that the row is about, by name, id or path; an empty cell is the
    root, "cannot say". The other columns are named like the classes, and their cells are the costs of this answer if
    the class is the true one.

    Args:
        path: table, such as costs.csv.
        taxonomy: taxonomy of the classes.

    Raises:
        DataError: for a missing or unknown column, an unknown answer, or a cell that is not a number.
    """
    names = _class_columns(taxonomy)
    table = read_table(path, columns=(ANSWER, *names))
    cells = table.columns[ANSWER]
    named = [row for row, cell in enumerate(cells) if cell.strip()]
    answers = np.full(len(cells), -1)
    answers[named] = LabelReader(taxonomy).read(
        [cells[row] for row in named], source=str(path), row_name=lambda index: table.row_name(named[index]), inner=True
    )
    costs = [
        [_number(path, table.row_name(row), table.columns[name][row]) for name in names] for row in range(len(answers))
    ]
    return LeastCost(tuple(answers.tolist()), tuple(map(tuple, costs)))


def _class_columns(taxonomy: Taxonomy) -> list[str]:
    """Names of the class columns: the class names, or paths where two classes share a name."""
    if len(set(taxonomy.class_names)) == taxonomy.num_classes:
        return list(taxonomy.class_names)
    return [taxonomy.path_text(int(leaf)) for leaf in taxonomy.leaves]


def _number(path: Path, row: str, cell: str) -> float:
    try:
        value = float(cell)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise DataError(f"{path}: {row}: expected a number as cost, got {cell!r}")
    return value
