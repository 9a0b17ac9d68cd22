"""Solvers: methods that find the weights of their head from all features and labels at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hiercos.methods.layers import SparseMatrix
from hiercos.taxonomy import Floats, IntArray

if TYPE_CHECKING:
    from hiercos.methods.model import Model


@dataclass(frozen=True, eq=False)
class LabelledFeatures:
    """Features of M samples with their classes.

    Attributes:
        features: shape (M, F), float32: an array, or a SciPy CSR matrix.
        labels: class of each sample, shape (M,).
        weights: weight of each sample, shape (M,), above 0; None for equal weights.
    """

    features: Floats | SparseMatrix
    labels: IntArray
    weights: Floats | None = None

    def __len__(self) -> int:
        return len(self.labels)

    def rows(self, chosen: NDArray[np.bool_]) -> LabelledFeatures:
        """The samples of a mask of shape (M,)."""
        return LabelledFeatures(
            self.features[chosen], self.labels[chosen], None if self.weights is None else self.weights[chosen]
        )


class MemberTraining(Protocol):
    """Training of a model inside a solver, by the gradient steps that the user asked for."""

    def __call__(
        self,
        member: Model,
        train: LabelledFeatures,
        val: LabelledFeatures | None,
        *,
        name: str,
        epochs: int | None = None,
        course: int | None = None,
    ) -> None:
        """Train a model in place; its `course` is set.

        Args:
            member: model with its initial weights.
            train: samples to learn from.
            val: samples to stop by; None to train for a fixed number of epochs and keep the weights of the last one.
            name: name of the model in the progress of the training, such as "member 2 of 6 (hier-cos), model 1 of 3".
            epochs: number of epochs without `val` in a run with patience, whose rate is then cosine; more on few
                samples, but at most the maximum of the run. A run with a given number of epochs ignores it.
            course: number of epochs at the constant rate of an earlier training with patience, to follow without `val`.
        """


@dataclass(frozen=True)
class Solved:
    """Result of a solver apart from the weights.

    Attributes:
        choice: what was chosen and why, as a sentence; "" if there was nothing to choose.
        options: options of the method that describe the choice, with which the head is built again when it is loaded.
    """

    choice: str = ""
    options: dict[str, Any] = field(default_factory=dict)


class Solver(Protocol):
    """Finds the weights of a head."""

    def __call__(
        self, train: LabelledFeatures, val: LabelledFeatures | None, *, seed: int, train_member: MemberTraining
    ) -> Solved:
        """Set the weights of the head.

        Args:
            train: training samples.
            val: validation samples for choices between settings; None if there are none.
            seed: seed of everything random.
            train_member: training of an inner model by gradient steps.
        """

    def again(self, train: LabelledFeatures, chosen: Any, *, seed: int, train_member: MemberTraining) -> None:
        """Set the weights of the head with the settings that another solver of the same method has chosen.

        Args:
            train: samples to learn from, which may be more than those of the choice, and have other features.
            chosen: the other solver.
            seed: seed of everything random.
            train_member: training of an inner model by gradient steps.
        """


def folds(labels: IntArray, count: int, seed: int) -> list[NDArray[np.bool_]]:
    """Masks of the held-out samples of each fold; every class is spread over the folds evenly.

    Args:
        labels: class of each sample, shape (M,).
        count: number of folds.
        seed: seed of the assignment.
    """
    order = np.lexsort((np.random.default_rng(seed).random(len(labels)), labels))  # by class, shuffled within each
    fold = np.empty(len(labels), dtype=np.int64)
    fold[order] = np.arange(len(labels)) % count
    return [fold == index for index in range(count)]
