"""Solvers: methods that find the weights of their head from all features and labels at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hiercos.methods.layers import SparseMatrix
from hiercos.taxonomy import AnyArray, Floats, IntArray, Taxonomy, nodes_of_labels


@dataclass(frozen=True, eq=False)
class LabelledFeatures:
    """Features of M samples with their classes."""

    features: Floats | SparseMatrix  # shape (M, F), float32: an array, or a SciPy CSR matrix
    labels: IntArray  # class of each sample, shape (M,)
    weights: Floats | None = None  # weight of each sample, shape (M,), above 0; None for equal weights
    sets: IntArray | None = None  # nodes of several labels, shape (M, K), -1 for none; None if each sample has one
    groups: AnyArray | None = None  # group of each sample, shape (M,), which no fold divides; None without groups

    def __len__(self) -> int:
        return len(self.labels)

    def rows(self, chosen: NDArray[np.bool_]) -> LabelledFeatures:
        """The samples of a mask of shape (M,)."""
        parts: Any = (None if each is None else each[chosen] for each in (self.weights, self.sets, self.groups))
        return LabelledFeatures(self.features[chosen], self.labels[chosen], *parts)

    def known(self, taxonomy: Taxonomy) -> LabelledFeatures | None:
        """The samples of a class, or with any labels where some have several; None if there are none."""
        known = np.asarray(self.labels < taxonomy.num_classes if self.sets is None else (self.sets >= 0).any(axis=1))
        return self.rows(known) if known.any() else None

    def label_nodes(self, taxonomy: Taxonomy) -> IntArray:
        """Nodes of the labels of each sample, shape (M, K), -1 for none."""
        return nodes_of_labels(self.labels, taxonomy)[:, None] if self.sets is None else self.sets

    def with_usual_weights(self) -> LabelledFeatures:
        """The samples with weights of mean 1, whatever their unit."""
        return self if self.weights is None else replace(self, weights=self.weights / self.weights.mean())


@dataclass(frozen=True)
class Solved:
    """Result of a solver apart from the weights."""

    choice: str = ""  # what was chosen and why, as a sentence; "" if there was nothing to choose
    # options of the method that describe the choice, with which the head is built again when it is loaded
    options: dict[str, Any] = field(default_factory=dict)


class Solver(ABC):
    """Finds the weights of a head."""

    chosen: ClassVar[tuple[str, ...]] = ()  # names of the attributes that the first call chooses, and later ones keep

    @abstractmethod
    def __call__(self, train: LabelledFeatures, val: LabelledFeatures | None, *, seed: int) -> Solved:
        """Set the weights of the head.

        Args:
            train: training samples.
            val: validation samples for choices between settings; None if there are none.
            seed: seed of everything random.
        """

    def again(self, train: LabelledFeatures, earlier: Solver, *, seed: int) -> None:
        """Set the weights with what another solver of the same method has chosen, on samples that may be others."""
        for name in self.chosen:
            setattr(self, name, getattr(earlier, name))
        self(train, None, seed=seed)


def folds(labels: IntArray, count: int, seed: int, groups: AnyArray | None = None) -> list[NDArray[np.bool_]]:
    """Masks of the held-out samples of each fold; every class is spread over the folds evenly.

    Args:
        labels: class of each sample, shape (M,).
        count: number of folds.
        seed: seed of the assignment.
        groups: group of each sample, shape (M,), spread by the label of its first sample; None without groups.
    """
    if groups is not None:
        _, first, members = np.unique(groups, return_index=True, return_inverse=True)
        return [mask[members] for mask in folds(labels[first], count, seed)]
    order = np.lexsort((np.random.default_rng(seed).random(len(labels)), labels))  # by class, shuffled within each
    fold = np.empty(len(labels), dtype=np.int64)
    fold[order] = np.arange(len(labels)) % count
    return [fold == index for index in range(count)]
