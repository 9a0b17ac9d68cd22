"""Means over seeds with their uncertainty."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from scipy import stats


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


def t_interval(values: Sequence[float], *, confidence: float = 0.95) -> Estimate:
    """Mean and Student's t interval over independent values, with the sample deviation (ddof 1).

    Note:
        The published tables use the population deviation (ddof 0), which is narrower by sqrt((n - 1) / n).

    Args:
        values: at least one; nan makes the mean nan.
        confidence: of the interval.

    Returns:
        The estimate.
    """
    count = len(values)
    mean = sum(values) / count
    if count == 1:
        return Estimate(mean, math.nan)
    variance = sum((value - mean) ** 2 for value in values) / (count - 1)
    quantile = float(stats.t.ppf(0.5 + confidence / 2, count - 1))
    return Estimate(mean, quantile * math.sqrt(variance / count))


def paired_difference(ours: Sequence[float], reference: Sequence[float]) -> Estimate:
    """Mean of the differences seed by seed, ours minus the reference, with its interval."""
    return t_interval([a - b for a, b in zip(ours, reference, strict=True)])
