"""Where a search may look for the value of a setting."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np


class Space(Protocol):
    """The values that a search may give one setting."""

    def draw(self, generator: np.random.Generator) -> Any:
        """One value, as JSON has it."""

    def __contains__(self, value: object) -> bool: ...


@dataclass(frozen=True)
class Between:
    """Numbers between two ends, evenly spread, or evenly by order of magnitude where `log` is set.

    Values have three significant digits, so that a record can be read and repeated.

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
        """One number of the range."""
        if self.log:
            return _rounded(float(np.exp(generator.uniform(np.log(self.low), np.log(self.high)))))
        return _rounded(float(generator.uniform(self.low, self.high)))

    def __contains__(self, value: object) -> bool:
        return isinstance(value, int | float) and self.low <= value <= self.high

    def __str__(self) -> str:
        return f"{self.low:g} to {self.high:g}{' (log)' if self.log else ''}"


@dataclass(frozen=True)
class OneOf:
    """A few values, each as likely as the others.

    Example:
        >>> OneOf("leaf", "root").draw(np.random.default_rng(0))
        'root'
    """

    values: tuple[Any, ...]

    def __init__(self, *values: Any) -> None:
        object.__setattr__(self, "values", values)

    def draw(self, generator: np.random.Generator) -> Any:
        """One of the values."""
        return self.values[int(generator.integers(len(self.values)))]

    def __contains__(self, value: object) -> bool:
        return value in self.values

    def __str__(self) -> str:
        return ", ".join(map(str, self.values))


def _rounded(value: float) -> float:
    return float(f"{value:.3g}")
