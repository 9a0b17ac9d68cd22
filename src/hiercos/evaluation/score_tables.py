"""Class scores with labels (`ScoreSet`), and tables of them: one column of numbers per class."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hiercos.data import PARQUET, delimited_file, length_fault, parquet_file, read_table
from hiercos.decisions import Posterior
from hiercos.errors import DataError, RowName, row_name
from hiercos.taxonomy import IntArray, Taxonomy

ScoreArray = NDArray[np.floating[Any]]

LABEL = "label"
ROUNDING = 0.01  # by which the sum of rounded probabilities may differ from 1


@dataclass(frozen=True)
class ScoreSet:
    """Class scores of M samples with their labels."""

    scores: ScoreArray  # class scores in the taxonomy's class order, higher is better, shape (M, C)
    labels: IntArray  # label of each sample, a class index or C + node, shape (M,)
    # number of ranked classes, one for all samples or shape (M,): C for scores, K for K names; the other classes share
    # the lowest score
    depth: int | IntArray
    notes: tuple[str, ...] = ()  # sentences for the user about predictions and images that were left out
    is_ranking: bool = False  # whether the scores only tell an order, because class names were ranked
    row_name: RowName = row_name  # name of a sample in messages

    def posterior(self, taxonomy: Taxonomy, source: str) -> Posterior:
        """The scores as probabilities, normalised to a sum of 1; classes without scores have probability 0."""
        if self.is_ranking:
            raise DataError(f"{source}: expected probabilities of the classes, got a ranking of them")
        scores = np.where(np.isneginf(self.scores), 0, self.scores).astype(np.float64)
        sums = scores.sum(axis=1)
        faults = (scores < 0).any(axis=1) | ~(np.abs(sums - 1) <= ROUNDING)
        if faults.any():
            row = int(faults.argmax())
            raise DataError(
                f"{source}: {self.row_name(row)}: expected probabilities, at least 0 and with a sum of 1, got scores "
                f"from {scores[row].min():g} to {scores[row].max():g} with a sum of {sums[row]:g}"
            )
        return Posterior(scores / sums[:, None], taxonomy)


def read_score_columns(path: Path, names: Sequence[str]) -> tuple[list[str], ScoreArray, RowName]:
    """Labels, scores (M, C) in the order of the other columns, and a function that names a row in messages."""
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
