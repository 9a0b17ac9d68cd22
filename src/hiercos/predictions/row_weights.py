"""Weights of the classes for each row of a table: the nodes it is within, or a prior."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hiercos.data import read_table
from hiercos.decisions import Posterior, named_classes
from hiercos.errors import DataError
from hiercos.taxonomy import Floats, LabelReader, Taxonomy, node_classes

SEPARATOR = ";"  # between the nodes of a cell
ROW, LABEL, WEIGHT = "row", "label", "weight"


@dataclass(frozen=True)
class RowWeights:
    """Weights of the classes by row number; a row without weights keeps its probabilities.

    Attributes:
        table: distinct weights of the classes, shape (K, C), the last ones all 1; bool for allowed classes.
        places: place of a row's weights in the table, by row number.
        source: name of the file in messages.
    """

    table: Floats | NDArray[np.bool_]
    places: Mapping[int, int]
    source: str

    def applied(self, posterior: Posterior, numbers: Sequence[int]) -> Posterior:
        """The posterior of a batch, re-weighted.

        Args:
            posterior: probabilities of B inputs.
            numbers: row number of each input.

        Raises:
            PosteriorError: naming the first row in which no class is left.
        """
        given = self.table[[self.places.get(number, -1) for number in numbers]]  # (B, C)
        return posterior.reweighted(given, row_name=lambda row: f"{self.source}: row {numbers[row]}")


def read_row_nodes(path: Path, column: str, taxonomy: Taxonomy) -> RowWeights:
    """Read a column of the input table with the nodes that each row is within, by name, id or path.

    Several nodes in a cell are separated by a semicolon; an empty cell allows every class.

    Raises:
        DataError: for a missing column, or a name that is not in the taxonomy or not unique.
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

    Raises:
        DataError: for a missing column, an unknown class, or a number that is not one.
    """
    table = read_table(path, columns=(ROW, LABEL, WEIGHT))
    nodes = LabelReader(taxonomy).read(table.columns[LABEL], source=str(path), row_name=table.row_name)
    weights: dict[int, Floats] = {}
    for index, label in enumerate(node_classes(nodes, taxonomy).tolist()):
        where = f"{path}: {table.row_name(index)}"
        number = int(_number(where, table.columns[ROW][index]))
        own = weights.setdefault(number, np.zeros(taxonomy.num_classes))
        own[label] = _number(where, table.columns[WEIGHT][index])
    ones = np.ones(taxonomy.num_classes)
    places = {number: place for place, number in enumerate(weights)}
    return RowWeights(np.stack([*weights.values(), ones]), places, str(path))


def _number(where: str, cell: str) -> float:
    try:
        value = float(cell)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value >= 0):
        raise DataError(f"{where}: expected a number of at least 0, got {cell!r}")
    return value
