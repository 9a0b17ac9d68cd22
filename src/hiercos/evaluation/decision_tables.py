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
AT_LEAST_0 = "a number of at least 0"
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
        row, weight = (number(where, table.columns[name][index], AT_LEAST_0, 0) for name in (ROW, WEIGHT))
        weights.setdefault(int(row), np.zeros(taxonomy.num_classes))[label] = weight
    ones = np.ones(taxonomy.num_classes)
    places = {row: place for place, row in enumerate(weights)}
    return RowWeights(np.stack([*weights.values(), ones]), places, str(path))


def number(where: str, cell: str, expected: str, least: float = -math.inf) -> float:
    """The finite number in a cell, at least so large; a `DataError` with what was expected for another text."""
    try:
        value = float(cell)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value >= least):
        raise DataError(f"{where}: expected {expected}, got {cell!r}")
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
        [number(f"{path}: {table.row_name(row)}", table.columns[name][row], "a number as cost") for name in names]
        for row in range(len(answers))
    ]
    return LeastCost(tuple(answers.tolist()), tuple(map(tuple, costs)))


def _class_columns(taxonomy: Taxonomy) -> list[str]:
    """Names of the class columns: the class names, or paths where two classes share a name."""
    if len(set(taxonomy.class_names)) == taxonomy.num_classes:
        return list(taxonomy.class_names)
    return [taxonomy.path_text(int(leaf)) for leaf in taxonomy.leaves]
