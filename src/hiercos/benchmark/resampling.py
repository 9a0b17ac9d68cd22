"""How far a metric could be off by the choice of samples, and whether two predictors differ on the same samples.

Every value is a mean over the samples that count, a sum over a count, so both questions only need the table of
per-sample values (nan where a sample does not count): the bootstrap draws samples anew, the test swaps the two
predictors sample by sample. Mistake severity, whose count changes too, is treated exactly like the others.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Interval:
    """Means and the ends of their intervals, shape (K,) each; nan where nothing counts."""

    mean: FloatArray
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True)
class PairedDifference:
    """How much higher the first predictor's means are, the interval of that, and the p-value, shape (K,) each."""

    difference: FloatArray
    low: FloatArray
    high: FloatArray
    p_value: FloatArray


def sample_means(values: FloatArray) -> FloatArray:
    """Means of the columns over the samples that count: (M, K) -> (K,); nan where none does."""
    return _means(_values_and_counts(values).sum(axis=0))


def bootstrap_interval(values: FloatArray, *, resamples: int = 1_000, seed: int = 0) -> Interval:
    """Percentile bootstrap of the means of the columns, 95%.

    Args:
        values: one row per sample, nan where it does not count, shape (M, K).
        resamples: how often M samples are drawn with replacement.
        seed: of the draws.
    """
    generator = np.random.default_rng(seed)
    table = _values_and_counts(values)
    means = np.stack([_means(_draw(generator, len(table)) @ table) for _ in range(resamples)])
    return Interval(_means(table.sum(axis=0)), *_percentiles(means))


def paired_difference(
    first: FloatArray, second: FloatArray, *, resamples: int = 1_000, seed: int = 0
) -> PairedDifference:
    """Compare two predictors on the same samples: bootstrap of the difference, and a two-sided permutation test.

    If the two were alike, swapping them in any sample would change nothing; the p-value is the share of random
    swaps whose difference is at least as large as the one found, itself included.

    Args:
        first: one row per sample, nan where it does not count, shape (M, K).
        second: the other predictor's values of the same samples, shape (M, K).
        resamples: number of draws for the interval, and of swaps for the test.
        seed: of the draws and swaps.
    """
    generator = np.random.default_rng(seed)
    mine, theirs = _values_and_counts(first), _values_and_counts(second)
    gap, both = mine - theirs, mine.sum(axis=0) + theirs.sum(axis=0)
    found = _means(mine.sum(axis=0)) - _means(theirs.sum(axis=0))
    drawn, larger = [], np.zeros(first.shape[1])
    for _ in range(resamples):
        weights = _draw(generator, len(mine))
        drawn.append(_means(weights @ mine) - _means(weights @ theirs))
        change = generator.choice([-1.0, 1.0], size=len(gap)) @ gap  # -1 swaps a sample
        larger += np.abs(_means(both + change) - _means(both - change)) >= np.abs(found) - 1e-12
    p_value = np.where(np.isnan(found), np.nan, (1 + larger) / (1 + resamples))
    return PairedDifference(found, *_percentiles(np.stack(drawn)), p_value)


def _values_and_counts(values: FloatArray) -> FloatArray:
    """The values, 0 where they do not count, and beside them 1 where they do, shape (M, 2K)."""
    counts = ~np.isnan(values)
    return np.hstack([np.where(counts, values, 0.0), counts])


def _means(sums: FloatArray) -> FloatArray:
    """Summed values over summed counts: (2K,) -> (K,); nan where the count is 0."""
    total, count = np.split(sums, 2)
    means: FloatArray = np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)
    return means


def _draw(generator: np.random.Generator, count: int) -> FloatArray:
    """How often each of `count` samples is drawn, with replacement."""
    return np.bincount(generator.integers(count, size=count), minlength=count).astype(np.float64)


def _percentiles(draws: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Both ends of the interval of each column; draws in which nothing counts are left out."""
    ends = np.full((2, draws.shape[1]), np.nan)
    known = ~np.isnan(draws).all(axis=0)
    ends[:, known] = np.nanquantile(draws[:, known], [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], axis=0)
    return ends[0], ends[1]
