"""Old labels as new ones: the likeliest of the nodes that a crosswalk allows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hiercos.decisions import classes_at_or_below
from hiercos.errors import DataError, suggestion
from hiercos.evaluation.crosswalk_tables import CrosswalkTable, label_key
from hiercos.taxonomy import Floats, Taxonomy

EQUAL = 1e-12  # means of probabilities that differ by less are equal


class Recoded(NamedTuple):
    """New label of a row."""

    node: int  # likeliest candidate
    probability: float  # its probability among all candidates
    others: tuple[int, ...]  # the other candidates, the likeliest first


@dataclass(frozen=True, eq=False)
class Recoder:
    """Finds the new label of rows with an old one.

    The probability of a candidate is that of the classes at or below it, among all candidates of the row; where the
    model gives none of them any, the weights of the crosswalk decide. Ties go to the candidate that stands first.
    """

    table: CrosswalkTable
    taxonomy: Taxonomy  # the new taxonomy, that of the model

    @cached_property
    def _candidates(self) -> Mapping[str, dict[int, float]]:
        return self.table.candidates(self.taxonomy)

    def candidates(self, label: str, where: str) -> dict[int, float]:
        """New nodes that an old label may be, with their weights; none for a label that is gone.

        Raises:
            DataError: for a label that the crosswalk does not have.
        """
        if (found := self._candidates.get(label_key(label))) is None:
            near = suggestion(label, self._candidates)
            raise DataError(f"{where}: expected an old label of {self.table.source}, got {label!r}{near}")
        return found

    def recoded(self, probabilities: Floats, candidates: Mapping[int, float]) -> Recoded:
        """The new label of a row with one of these candidates, or with any class if there are none.

        Args:
            probabilities: probabilities of the classes, shape (C,).
            candidates: new nodes with their weights.
        """
        if not candidates:
            label = int(probabilities.argmax())
            return Recoded(int(self.taxonomy.leaves[label]), float(probabilities[label]), ())
        nodes = [*candidates]
        values = np.array([probabilities[self._is_below(node)].sum() for node in nodes])
        values = values if values.sum() > 0 else np.array([*candidates.values()])
        order = np.argsort(-values, kind="stable")
        best, *others = (nodes[place] for place in order)
        return Recoded(best, float(values[order[0]] / values.sum()), tuple(others))

    @cached_property
    def _is_below(self) -> Callable[[int], NDArray[np.bool_]]:
        """A function from a node to the mask of the classes at or below it."""
        return cache(lambda node: classes_at_or_below([node], self.taxonomy))


def sure_rows(probabilities: ArrayLike, target: float) -> NDArray[np.bool_]:
    """Mask of the surest rows whose mean probability, the precision to expect of them, is at least the target.

    Example:
        >>> sure_rows([0.5, 1.0, 0.9], 0.95).tolist()
        [False, True, True]
    """
    values = np.asarray(probabilities, dtype=float)
    order = np.argsort(-values, kind="stable")
    means = np.cumsum(values[order]) / np.arange(1, len(order) + 1)  # they never rise
    mask = np.zeros(len(order), dtype=bool)
    mask[order[: int((means >= target - EQUAL).sum())]] = True
    return mask
