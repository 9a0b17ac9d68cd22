"""Scores of all classes with true labels, whatever file they come from."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hiercos.taxonomy import IntArray

ScoreArray = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class ScoreSet:
    """Scores of some samples with their true classes.

    Attributes:
        scores: higher is better, shape (M, C), in the taxonomy's class order.
        labels: true classes, shape (M,).
        depth: how many classes of each sample are ranked, or of all samples alike: C for scores, K for K names; the
            other classes share the lowest score.
        notes: sentences about what was left out, for the user to see.
    """

    scores: ScoreArray
    labels: IntArray
    depth: int | IntArray
    notes: tuple[str, ...] = ()
