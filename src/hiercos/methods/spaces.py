"""Search spaces of hyperparameters."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np


class Space(Protocol):
    """The search space of one hyperparameter."""

    def draw(self, generator: np.random.Generator) -> Any:
        """Draw one value, of a type that JSON can hold."""

    def __contains__(self, value: object) -> bool: ...


@dataclass(frozen=True)
class Between:
    """Numbers of a range, uniform, or log-uniform if `log` is set.

    Values are rounded to three significant digits, so that a record is readable and reproducible.

    Example:
        >>> Between(0.001, 0.5, log=True).draw(np.random.default_rng(0))
        0.0524
        >>> 0.05 in Between(0.001, 0.5, log=True), 0.6 in Between(0.001, 0.5, log=True)
        (True, False)
    """

    low: float
    high: float
    log: bool = False

    def draw(self, generator: np.random.Generator) -> float:
        """Draw a number of the range."""
        if self.log:
            return _rounded(float(np.exp(generator.uniform(np.log(self.low), np.log(self.high)))))
        return _rounded(float(generator.uniform(self.low, self.high)))

    def __contains__(self, value: object) -> bool:
        return isinstance(value, int | float) and self.low <= value <= self.high

    def __str__(self) -> str:
        return f"{self.low:g} to {self.high:g}{' (log)' if self.log else ''}"


@dataclass(frozen=True)
class OneOf:
    """A few equally likely values.

    Example:
        >>> OneOf("leaf", "root").draw(np.random.default_rng(0))
        'root'
    """

    values: tuple[Any, ...]

    def __init__(self, *values: Any) -> None:
        object.__setattr__(self, "values", values)

    def draw(self, generator: np.random.Generator) -> Any:
        """Draw one of the values."""
        return self.values[int(generator.integers(len(self.values)))]

    def __contains__(self, value: object) -> bool:
        return value in self.values

    def __str__(self) -> str:
        return ", ".join(map(str, self.values))


def _rounded(value: float) -> float:
    return float(f"{value:.3g}")
