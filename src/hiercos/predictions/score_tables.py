"""Class scores with labels (`ScoreSet`), and tables of them: one column of numbers per class."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hiercos.data import PARQUET, delimited_file, length_fault, parquet_file, read_table
from hiercos.decisions import Posterior
from hiercos.errors import DataError, RowName
from hiercos.taxonomy import IntArray, Taxonomy

ScoreArray = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class ScoreSet:
    """Class scores of M samples with their labels.

    Attributes:
        scores: class scores in the taxonomy's class order, higher is better, shape (M, C).
        labels: label of each sample, a class index or C + node, shape (M,).
        depth: number of ranked classes, one for all samples or shape (M,): C for scores, K for K names; the other
            classes share the lowest score.
        notes: sentences for the user about predictions and images that were left out.
    """

    scores: ScoreArray
    labels: IntArray
    depth: int | IntArray
    notes: tuple[str, ...] = ()

    def posterior(self, taxonomy: Taxonomy, source: str) -> Posterior:
        """The scores as probabilities, brought to a sum of 1.

        Args:
            taxonomy: taxonomy of the classes.
            source: name of the file in messages.

        Raises:
            DataError: for ranked names, and for the first sample whose scores are not probabilities.
        """
        if np.min(self.depth) < taxonomy.num_classes:
            raise DataError(f"{source}: expected a probability for every class, got a ranking of some classes")
        sums = self.scores.sum(axis=1)
        faults = (self.scores < 0).any(axis=1) | ~(np.abs(sums - 1) <= ROUNDING)
        for row in np.flatnonzero(faults)[:1]:
            raise DataError(
                f"{source}: sample {row + 1}: expected probabilities, at least 0 and with a sum of 1, got scores from "
                f"{self.scores[row].min():g} to {self.scores[row].max():g} with a sum of {sums[row]:g}"
            )
        return Posterior(self.scores / sums[:, None], taxonomy)


LABEL = "label"
ROUNDING = 0.01  # by which the sum of rounded probabilities may differ from 1


def read_score_columns(path: Path, names: Sequence[str]) -> tuple[list[str], ScoreArray, RowName]:
    """Labels, scores (M, C) in the order of the other columns, and a function that names a row in messages.

    Raises:
        DataError: for a row of another length, a cell that is not a number, or no rows.
    """
    if path.suffix.lower() == PARQUET:
        return _read_parquet(path, [name for name in names if name != LABEL])
    return _read_delimited(path)


def _read_delimited(path: Path) -> tuple[list[str], ScoreArray, RowName]:
    """Read row by row, because the texts of a large table take many times the memory of its numbers."""
    labels, rows, lines = [], [], []
    with delimited_file(path) as (names, records):
        place = names.index(LABEL)
        for line, cells in records:
            if fault := length_fault(path, (line, cells), len(names)):
                raise DataError(fault)
            labels.append(cells.pop(place))
            rows.append(_numbers(path, line, cells))
            lines.append(line)
    if not rows:
        raise DataError(f"{path}: expected at least one row below the header, got none")
    return labels, np.stack(rows), lambda row: f"row {lines[row]}"


def _numbers(path: Path, line: int, cells: Sequence[str]) -> ScoreArray:
    try:
        return np.array([float(cell) for cell in cells])
    except ValueError as error:
        raise DataError(f"{path}: row {line}: expected a number in every class column ({error})") from error


def _read_parquet(path: Path, names: list[str]) -> tuple[list[str], ScoreArray, RowName]:
    table = read_table(path, columns=(LABEL,))
    with parquet_file(path) as file:
        columns = [column.to_numpy() for column in file.read(columns=names).columns]
    for name, column in zip(names, columns, strict=True):
        if column.dtype.kind not in "fiu":
            raise DataError(f"{path}: column {name!r}: expected numbers in every class column, got {column.dtype}")
    return list(table.columns[LABEL]), np.column_stack(columns), table.row_name
