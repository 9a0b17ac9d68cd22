"""Tables that steer decisions: class weights or allowed nodes for each row, and costs of answers."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hiercos.data import read_table
from hiercos.decisions import LeastCost, Posterior, named_classes
from hiercos.errors import DataError
from hiercos.taxonomy import Floats, LabelReader, Taxonomy, node_classes

SEPARATOR = ";"  # between the nodes of a cell
ROW, LABEL, WEIGHT = "row", "label", "weight"
ANSWER = "answer"


@dataclass(frozen=True)
class RowWeights:
    """Weights of the classes by row number; a row without weights keeps its probabilities."""

    # distinct weights of the classes, shape (K, C), bool for allowed classes; the last row, all 1, is that of inputs
    # without weights
    table: Floats | NDArray[np.bool_]
    places: Mapping[int, int]  # row of the table with an input's weights, by the input's row number
    source: str  # name of the file in messages

    def applied(self, posterior: Posterior, numbers: Sequence[int]) -> Posterior:
        """The posterior of a batch, re-weighted."""
        given = self.table[[self.places.get(number, -1) for number in numbers]]  # (B, C)
        return posterior.reweighted(given, row_name=lambda row: f"{self.source}: row {numbers[row]}")


def read_row_nodes(path: Path, column: str, taxonomy: Taxonomy) -> RowWeights:
    """Read a column of the input table with the nodes that each row is within, by name, id or path.

    Several nodes in a cell are separated by a semicolon; an empty cell allows every class.
    """
    table = read_table(path, columns=(column,))
    masks: list[NDArray[np.bool_]] = []
    known: dict[str, int] = {}
    places: dict[int, int] = {}
    for row, cell in enumerate(table.columns[column]):
        if names := [part.strip() for part in cell.split(SEPARATOR) if part.strip()]:
            if cell not in known:
                known[cell] = len(masks)
                masks.append(named_classes(names, taxonomy, source=f"{path}: {table.row_name(row)}"))
            places[table.numbers[row]] = known[cell]
    every = np.ones(taxonomy.num_classes, dtype=bool)
    return RowWeights(np.stack([*masks, every]), places, str(path))


def read_row_priors(path: Path, taxonomy: Taxonomy) -> RowWeights:
    """Read prior weights: a table with the columns `row`, `label` and `weight`, one line for each row and class.

    A class without a line has weight 0 in a row that has lines, and a row without lines keeps its probabilities.
    """
    table = read_table(path, columns=(ROW, LABEL, WEIGHT))
    nodes = LabelReader(taxonomy).read(table.columns[LABEL], source=str(path), row_name=table.row_name)
    weights: dict[int, Floats] = {}
    for index, label in enumerate(node_classes(nodes, taxonomy).tolist()):
        where = f"{path}: {table.row_name(index)}"
        number = int(_weight(where, table.columns[ROW][index]))
        own = weights.setdefault(number, np.zeros(taxonomy.num_classes))
        own[label] = _weight(where, table.columns[WEIGHT][index])
    ones = np.ones(taxonomy.num_classes)
    places = {number: place for place, number in enumerate(weights)}
    return RowWeights(np.stack([*weights.values(), ones]), places, str(path))


def _number(cell: str) -> float:
    """The number in a cell; nan for another text."""
    try:
        return float(cell)
    except ValueError:
        return math.nan


def _weight(where: str, cell: str) -> float:
    value = _number(cell)
    if not (math.isfinite(value) and value >= 0):
        raise DataError(f"{where}: expected a number of at least 0, got {cell!r}")
    return value


def read_costs(path: Path, taxonomy: Taxonomy) -> LeastCost:
    """Read a table of costs: a row for each answer, a column for each class.

    The column `answer` has the class or inner node that the row is about, by name, id or path; an empty cell is the
    root, "cannot say". The other columns are named like the classes, and their cells are the costs of this answer if
    the class is the true one.
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
        [_cost(f"{path}: {table.row_name(row)}", table.columns[name][row]) for name in names]
        for row in range(len(answers))
    ]
    return LeastCost(tuple(answers.tolist()), tuple(map(tuple, costs)))


def _class_columns(taxonomy: Taxonomy) -> list[str]:
    """Names of the class columns: the class names, or paths where two classes share a name."""
    if len(set(taxonomy.class_names)) == taxonomy.num_classes:
        return list(taxonomy.class_names)
    return [taxonomy.path_text(int(leaf)) for leaf in taxonomy.leaves]


def _cost(where: str, cell: str) -> float:
    value = _number(cell)
    if not math.isfinite(value):
        raise DataError(f"{where}: expected a number as cost, got {cell!r}")
    return value
