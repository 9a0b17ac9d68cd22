"""How far a metric could be off by the choice of samples, and whether two predictors differ on the same samples.

Every value is a mean over the samples that count, a sum over a count, or a mean over the classes of such means. So
both questions only need the table of per-sample values (nan where a sample does not count): the bootstrap draws
samples anew, the test swaps the two predictors sample by sample, and the means are taken of what that gives. Mistake
severity, whose count changes too, and macro accuracy, which leaves out the classes that no sample was drawn of, are
treated exactly like the others.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hiercos.taxonomy import IntArray

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


@dataclass(frozen=True)
class ClassAverages:
    """Columns whose means are taken over the classes, each class by the mean of its own samples.

    Attributes:
        classes: the true class of each sample, shape (M,).
        columns: the positions of these columns in the table of values, any number of them.
    """

    classes: IntArray
    columns: Sequence[int]


@dataclass(frozen=True)
class SampleSums:
    """A table of values as sums under weights of the samples, linear in both.

    Attributes:
        table: the values, 0 where they do not count, and beside them 1 where they do, shape (M, 2K).
        groups: the class of each sample, numbered from 0, shape (M,).
        columns: those averaged over the classes.
    """

    table: FloatArray
    groups: IntArray
    columns: Sequence[int]

    @classmethod
    def of(cls, values: FloatArray, averages: ClassAverages | None) -> "SampleSums":
        """The sums of a table of values, shape (M, K)."""
        counts = ~np.isnan(values)
        table = np.hstack([np.where(counts, values, 0.0), counts])
        if averages is None:
            return cls(table, np.zeros(len(values), dtype=np.int64), ())
        return cls(table, np.unique(averages.classes, return_inverse=True)[1], averages.columns)

    def under(self, weights: FloatArray) -> FloatArray:
        """Summed values and counts, (2K,), then those of each class for the columns averaged over the classes."""
        width = self.table.shape[1] // 2
        own = [self.table[:, column] for column in (*self.columns, *(width + column for column in self.columns))]
        by_class = [np.bincount(self.groups, weights * column) for column in own]
        return np.concatenate([weights @ self.table, *by_class])

    def means(self, sums: FloatArray) -> FloatArray:
        """Means of the columns from their sums: those of `under` -> (K,); nan where nothing counts."""
        total, count = np.split(sums[: self.table.shape[1]], 2)
        means = _ratio(total, count)
        if self.columns:
            totals, counts = sums[self.table.shape[1] :].reshape(2, len(self.columns), -1)
            present = counts > 0  # by weight, so a class that was not drawn is left out
            means[list(self.columns)] = _ratio(_ratio(totals, counts, 0.0).sum(axis=1), present.sum(axis=1))
        return means


def sample_means(values: FloatArray, averages: ClassAverages | None = None) -> FloatArray:
    """Means of the columns over the samples, or classes, that count: (M, K) -> (K,); nan where none does."""
    sums = SampleSums.of(values, averages)
    return sums.means(sums.under(np.ones(len(values))))


def bootstrap_interval(
    values: FloatArray, averages: ClassAverages | None = None, *, resamples: int = 1_000, seed: int = 0
) -> Interval:
    """Percentile bootstrap of the means of the columns, 95%.

    Args:
        values: one row per sample, nan where it does not count, shape (M, K).
        averages: columns averaged over the classes; none by default.
        resamples: how often M samples are drawn with replacement.
        seed: of the draws.
    """
    generator = np.random.default_rng(seed)
    sums = SampleSums.of(values, averages)
    means = np.stack([sums.means(sums.under(_draw(generator, len(values)))) for _ in range(resamples)])
    return Interval(sample_means(values, averages), *_percentiles(means))


def paired_difference(
    first: FloatArray,
    second: FloatArray,
    averages: ClassAverages | None = None,
    *,
    resamples: int = 1_000,
    seed: int = 0,
) -> PairedDifference:
    """Compare two predictors on the same samples: bootstrap of the difference, and a two-sided permutation test.

    If the two were alike, swapping them in any sample would change nothing; the p-value is the share of random
    swaps whose difference is at least as large as the one found, itself included.

    Args:
        first: one row per sample, nan where it does not count, shape (M, K).
        second: the other predictor's values of the same samples, shape (M, K).
        averages: columns averaged over the classes; none by default.
        resamples: number of draws for the interval, and of swaps for the test.
        seed: of the draws and swaps.
    """
    generator = np.random.default_rng(seed)
    mine, theirs = SampleSums.of(first, averages), SampleSums.of(second, averages)
    gap, everyone = replace(mine, table=mine.table - theirs.table), np.ones(len(first))
    both = mine.under(everyone) + theirs.under(everyone)
    found = mine.means(mine.under(everyone)) - mine.means(theirs.under(everyone))
    drawn, larger = [], np.zeros(first.shape[1])
    for _ in range(resamples):
        weights = _draw(generator, len(first))
        drawn.append(mine.means(mine.under(weights)) - mine.means(theirs.under(weights)))
        change = gap.under(generator.choice([-1.0, 1.0], size=len(first)))  # -1 swaps a sample
        larger += np.abs(mine.means(both + change) - mine.means(both - change)) >= np.abs(found) - 1e-12
    p_value = np.where(np.isnan(found), np.nan, (1 + larger) / (1 + resamples))
    return PairedDifference(found, *_percentiles(np.stack(drawn)), p_value)


def _ratio(total: FloatArray, count: FloatArray, otherwise: float = np.nan) -> FloatArray:
    """Totals over counts of the same shape; another value where the count is 0."""
    ratio: FloatArray = np.divide(total, count, out=np.full(total.shape, otherwise), where=count > 0)
    return ratio


def _draw(generator: np.random.Generator, count: int) -> FloatArray:
    """How often each of `count` samples is drawn, with replacement."""
    return np.bincount(generator.integers(count, size=count), minlength=count).astype(np.float64)


def _percentiles(draws: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Both ends of the interval of each column; draws in which nothing counts are left out."""
    ends = np.full((2, draws.shape[1]), np.nan)
    known = ~np.isnan(draws).all(axis=0)
    ends[:, known] = np.nanquantile(draws[:, known], [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], axis=0)
    return ends[0], ends[1]
