"""Bootstrap intervals of metrics, and paired permutation tests of two predictors on the same samples.

Every metric is a mean over the samples that count, a sum over a count, or a mean over the classes of such means. So
both only need the table of per-sample values (nan where a sample does not count): the bootstrap resamples its rows,
the test swaps the two predictors sample by sample, and the means of the result are taken. Mistake severity, whose
count changes too, and macro accuracy, which leaves out classes without a drawn sample, are treated like the others.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from hiercos.taxonomy import FloatArray, IntArray

CONFIDENCE = 0.95


@dataclass(frozen=True)
class BootstrapInterval:
    """Means and the bounds of their confidence intervals, shape (K,) each; nan where no sample counts."""

    mean: FloatArray
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True)
class PairedDifference:
    """Differences of the means (first minus second), their confidence intervals and p-values, shape (K,) each."""

    difference: FloatArray
    low: FloatArray
    high: FloatArray
    p_value: FloatArray


@dataclass(frozen=True)
class ClassAverages:
    """Columns that are averaged over the classes, each class by the mean of its samples."""

    classes: IntArray  # true class of each sample, shape (M,)
    columns: Sequence[int]  # positions of these columns in the table of values


@dataclass(frozen=True)
class SampleSums:
    """Weighted sums over a table of values, linear in the values and in the weights."""

    table: FloatArray  # values (0 where they do not count), followed by indicators (1 where they count), shape (M, 2K)
    groups: IntArray  # class of each sample, numbered from 0, shape (M,)
    columns: Sequence[int]  # positions of the columns that are averaged over the classes

    @classmethod
    def of(cls, values: FloatArray, averages: ClassAverages | None) -> "SampleSums":
        """Sums over a table of values, shape (M, K)."""
        counts = ~np.isnan(values)
        table = np.hstack([np.where(counts, values, 0.0), counts])
        if averages is None:
            return cls(table, np.zeros(len(values), dtype=np.int64), ())
        return cls(table, np.unique(averages.classes, return_inverse=True)[1], averages.columns)

    def under(self, weights: FloatArray) -> FloatArray:
        """Weighted sums of values and counts, (2K,), then those per class of the columns averaged over the classes."""
        width = self.table.shape[1] // 2
        own = [self.table[:, column] for column in (*self.columns, *(width + column for column in self.columns))]
        by_class = [np.bincount(self.groups, weights * column) for column in own]
        return np.concatenate([weights @ self.table, *by_class])

    def means(self, sums: FloatArray) -> FloatArray:
        """Means of the columns, shape (K,), from the sums that `under` returns; nan where no sample counts."""
        total, count = np.split(sums[: self.table.shape[1]], 2)
        means = _ratio(total, count)
        if self.columns:
            totals, counts = sums[self.table.shape[1] :].reshape(2, len(self.columns), -1)
            present = counts > 0  # by weight, so a class that was not drawn is left out
            means[list(self.columns)] = _ratio(_ratio(totals, counts, 0.0).sum(axis=1), present.sum(axis=1))
        return means


def sample_means(values: FloatArray, averages: ClassAverages | None = None) -> FloatArray:
    """Means of the columns over the samples, or classes, that count: (M, K) -> (K,); nan where none counts."""
    sums = SampleSums.of(values, averages)
    return sums.means(sums.under(np.ones(len(values))))


def bootstrap_interval(
    values: FloatArray, averages: ClassAverages | None = None, *, resamples: int = 1_000, seed: int = 0
) -> BootstrapInterval:
    """Percentile bootstrap of the means of the columns, 95%.

    Args:
        values: one row per sample, nan where it does not count, shape (M, K).
        averages: columns averaged over the classes; none by default.
        resamples: number of bootstrap resamples, each of M samples with replacement.
        seed: random seed of the resampling.
    """
    means = bootstrap_means(values, averages, resamples=resamples, seed=seed)
    return BootstrapInterval(sample_means(values, averages), *percentiles(means))


def bootstrap_means(
    values: FloatArray, averages: ClassAverages | None = None, *, resamples: int = 1_000, seed: int = 0
) -> FloatArray:
    """Means of the columns over bootstrap resamples, shape (resamples, K).

    Tables of the same M samples are resampled alike for the same seed, so their means can be subtracted.

    Args:
        values: one row per sample, nan where it does not count, shape (M, K).
        averages: columns averaged over the classes; none by default.
    """
    generator = np.random.default_rng(seed)
    sums = SampleSums.of(values, averages)
    return np.stack([sums.means(sums.under(_draw(generator, len(values)))) for _ in range(resamples)])


def bootstrap_difference(
    first: FloatArray,
    second: FloatArray,
    averages: ClassAverages | None = None,
    *,
    resamples: int = 1_000,
    seed: int = 0,
) -> PairedDifference:
    """Compare two predictors on the same samples: bootstrap of the difference and a two-sided permutation test.

    Under the null hypothesis, swapping the predictors in any sample changes nothing; the p-value is the share of
    random swaps whose difference is at least as large as the observed one, which is included.

    Args:
        first: one row per sample, nan where it does not count, shape (M, K).
        second: values of the other predictor for the same samples, shape (M, K).
        averages: columns averaged over the classes; none by default.
        resamples: number of bootstrap resamples, and of random swaps of the test.
        seed: random seed of the resampling and the swaps.
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
    return PairedDifference(found, *percentiles(np.stack(drawn)), p_value)


def _ratio(total: FloatArray, count: FloatArray, otherwise: float = np.nan) -> FloatArray:
    """Totals divided by counts of the same shape; `otherwise` where the count is 0."""
    ratio: FloatArray = np.divide(total, count, out=np.full(total.shape, otherwise), where=count > 0)
    return ratio


def _draw(generator: np.random.Generator, count: int) -> FloatArray:
    """Number of times each of `count` samples is drawn, with replacement, shape (count,)."""
    return np.bincount(generator.integers(count, size=count), minlength=count).astype(np.float64)


def unlucky_mean(values: FloatArray, *, resamples: int = 200) -> float:
    """Mean of one run over samples if luck is bad: the mean of the higher half of bootstrap draws of run and samples.

    Every draw resamples the samples and draws one of the runs, because one model is used in the end. So the result is
    higher for runs that differ, and for few samples.

    Args:
        values: values of each run on each sample, shape (S, M), higher is worse, nan where a sample does not count.
        resamples: number of bootstrap resamples of the samples, each with all runs.

    Returns:
        Mean; nan where no sample counts.

    Example:
        >>> [round(unlucky_mean(np.full((2, 5), 0.5) + np.array([[-gap], [gap]])), 3) for gap in (0, 0.2)]
        [0.5, 0.7]
    """
    draws = bootstrap_means(values.T, resamples=resamples)
    known = np.sort(draws[~np.isnan(draws)])
    return float(known[len(known) // 2 :].mean()) if len(known) else np.nan


def chance_of_less(values: FloatArray, others: FloatArray, *, resamples: int = 200) -> float:
    """Share of the draws of `unlucky_mean` in which a run has a lower mean than one of another variant, ties halved.

    Args:
        values: values of each run on each sample, shape (S, M).
        others: those of the other variant on the same samples, shape (S, M).

    Example:
        >>> chance_of_less(np.zeros((2, 3)), np.array([[1.0] * 3, [0.0] * 3]))
        0.75
    """
    ours, theirs = (bootstrap_means(each.T, resamples=resamples) for each in (values, others))
    gaps = np.round(theirs[:, :, None] - ours[:, None, :], 9)  # (resamples, S, S)
    return float(((gaps > 0) + (gaps == 0) / 2).mean())


def percentiles(draws: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Bounds of the 95% interval of each column, (resamples, K) -> (K,) each.

    Draws in which no sample counts are left out.
    """
    ends = np.full((2, draws.shape[1]), np.nan)
    known = ~np.isnan(draws).all(axis=0)
    ends[:, known] = np.nanquantile(draws[:, known], [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], axis=0)
    return ends[0], ends[1]
