"""Contributions of the entries of a feature vector to how far one class scores above another."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple, Protocol, TypeAlias

from torch import Tensor


class Linear(Protocol):
    """A linear layer."""

    @property
    def weight(self) -> Tensor:
        """Weights, shape (C, F)."""


class Comparison(NamedTuple):
    """E entries of one feature vector, and P pairs of a class and a rival."""

    columns: Tensor  # (E,)
    values: Tensor  # (E,)
    classes: Tensor  # (P,)
    rivals: Tensor  # (P,)


# Shape (P, E): what each entry adds to the class's score less the rival's; None where scores are no sums over entries.
Contributions: TypeAlias = Callable[[Comparison], Tensor | None]


def linear_contributions(layer: Linear) -> Contributions:
    """Contributions to the outputs of a linear layer."""
    return partial(_contributions, layer)


def _contributions(layer: Linear, given: Comparison) -> Tensor:
    own, others = (layer.weight[rows[:, None], given.columns] for rows in (given.classes, given.rivals))
    return (own - others) * given.values
