"""Means over seeds with their uncertainty."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from scipy import stats

Interval = Literal["sample", "published"]
INTERVALS: dict[Interval, str] = {
    "sample": "Student's t, sample deviation",
    "published": "Student's t, population deviation as in the published tables",
}


@dataclass(frozen=True)
class Estimate:
    """A mean with the half-width of its 95% interval; the half-width is nan for a single value."""

    mean: float
    half_width: float

    @property
    def low(self) -> float:
        """Lower end of the interval."""
        return self.mean - self.half_width

    @property
    def high(self) -> float:
        """Upper end of the interval."""
        return self.mean + self.half_width


def t_interval(values: Sequence[float], *, interval: Interval = "sample", confidence: float = 0.95) -> Estimate:
    """Mean and Student's t interval over independent values.

    Note:
        The published tables take the population deviation (ddof 0), for five seeds ±1.2417 of it; with the
        sample deviation (ddof 1), the default, the interval is wider by sqrt(n / (n - 1)).

    Args:
        values: at least one; nan makes the mean nan.
        interval: "sample" or "published".
        confidence: of the interval.

    Returns:
        The estimate.
    """
    count = len(values)
    mean = sum(values) / count
    if count == 1:
        return Estimate(mean, math.nan)
    squares = sum((value - mean) ** 2 for value in values)
    variance = squares / (count - 1 if interval == "sample" else count)
    quantile = float(stats.t.ppf(0.5 + confidence / 2, count - 1))
    return Estimate(mean, quantile * math.sqrt(variance / count))


def paired_difference(ours: Sequence[float], reference: Sequence[float], *, interval: Interval = "sample") -> Estimate:
    """Mean of the differences seed by seed, ours minus the reference, with its interval."""
    return t_interval([a - b for a, b in zip(ours, reference, strict=True)], interval=interval)
