import math

import numpy as np
import pytest

from hiercos.evaluation.resampling import (
    ClassAverages,
    bootstrap_difference,
    bootstrap_interval,
    sample_means,
    unlucky_mean,
)


def test_means_leave_out_samples_that_do_not_count() -> None:
    values = np.array([[1.0, np.nan, np.nan], [3.0, 5.0, np.nan]])
    np.testing.assert_array_equal(sample_means(values), [2.0, 5.0, np.nan])


def test_the_bootstrap_interval_of_many_samples_is_close_to_the_normal_one() -> None:
    values = np.random.default_rng(1).normal(3.0, 2.0, size=(2_000, 1))
    found = bootstrap_interval(values)
    half = 1.96 * values.std() / np.sqrt(2_000)
    assert found.mean[0] == pytest.approx(values.mean())
    assert found.low[0] == pytest.approx(values.mean() - half, abs=0.1 * half)
    assert found.high[0] == pytest.approx(values.mean() + half, abs=0.1 * half)


def test_the_bootstrap_of_a_ratio_draws_its_count_too() -> None:
    values = np.where(np.arange(400)[:, None] % 4 == 0, 2.0, np.nan)  # every value that counts is 2
    found = bootstrap_interval(values, resamples=50)
    assert (found.low[0], found.mean[0], found.high[0]) == (2.0, 2.0, 2.0)


def test_nothing_that_counts_has_no_interval() -> None:
    found = bootstrap_interval(np.full((3, 1), np.nan), resamples=5)
    assert np.isnan([found.mean[0], found.low[0], found.high[0]]).all()
    assert np.isnan(bootstrap_difference(np.full((3, 1), np.nan), np.full((3, 1), np.nan), resamples=5).p_value).all()


def test_alike_predictors_do_not_differ_and_a_better_one_does() -> None:
    generator = np.random.default_rng(0)
    values = generator.random((300, 1))
    noise = generator.normal(0, 0.1, size=(300, 1))
    same = bootstrap_difference(values, values)
    assert (same.difference[0], same.p_value[0]) == (0.0, 1.0)
    better = bootstrap_difference(values + 0.1 + noise, values)
    assert better.p_value[0] == pytest.approx(1 / 1_001)
    assert 0 < better.low[0] < better.difference[0] < better.high[0] < 0.2


def test_the_p_value_is_that_of_all_swaps() -> None:
    differences = np.array([1.0, 2.0, 3.0])[:, None]  # of 8 swaps, all kept and all taken reach a mean of 2
    found = bootstrap_difference(differences, np.zeros((3, 1)), resamples=4_000)
    assert found.p_value[0] == pytest.approx(2 / 8, abs=0.03)


def test_a_seed_gives_the_same_interval_again() -> None:
    values = np.random.default_rng(0).random((50, 2))
    np.testing.assert_array_equal(bootstrap_interval(values, seed=3).low, bootstrap_interval(values, seed=3).low)


def slow_class_mean(values: np.ndarray, classes: np.ndarray) -> float:
    own = [values[(classes == label) & ~np.isnan(values)] for label in np.unique(classes)]
    return float(np.mean([part.mean() for part in own if len(part)]))


def test_means_over_classes_are_those_of_a_loop_and_leave_out_classes_without_values() -> None:
    values = np.array([[1.0, 1.0], [0.0, 0.0], [0.0, 0.0], [1.0, np.nan]])
    averages = ClassAverages(np.array([5, 5, 5, 9]), [1])
    assert sample_means(values, averages).tolist() == [0.5, pytest.approx(1 / 3)]
    full = ClassAverages(np.array([5, 5, 5, 9]), [0, 1])
    assert sample_means(values, full)[0] == slow_class_mean(values[:, 0], full.classes) == pytest.approx(2 / 3)
    assert np.isnan(sample_means(values[:0], ClassAverages(full.classes[:0], [1]))).all()


def test_the_bootstrap_over_classes_is_that_of_drawing_samples_and_averaging_per_class() -> None:
    generator = np.random.default_rng(4)
    classes, values = generator.integers(0, 4, size=30), generator.random((30, 2))
    values[3, 1] = np.nan
    found = bootstrap_interval(values, ClassAverages(classes, [1]), resamples=200, seed=7)
    again = np.random.default_rng(7)
    rows = [again.integers(30, size=30) for _ in range(200)]
    slow = [slow_class_mean(values[drawn, 1], classes[drawn]) for drawn in rows]
    low, high = np.quantile(slow, [0.025, 0.975])
    assert (found.low[1], found.high[1]) == (pytest.approx(low), pytest.approx(high))
    assert found.mean[1] == pytest.approx(slow_class_mean(values[:, 1], classes))
    assert found.low[0] == bootstrap_interval(values, resamples=200, seed=7).low[0]


def test_the_paired_test_over_classes_is_that_of_swapping_samples() -> None:
    generator = np.random.default_rng(5)
    classes = np.arange(12) % 3
    first, second = generator.random((12, 1)), generator.random((12, 1))
    found = bootstrap_difference(first, second, ClassAverages(classes, [0]), resamples=300, seed=2)

    def gap(mine: np.ndarray, theirs: np.ndarray) -> float:
        return slow_class_mean(mine[:, 0], classes) - slow_class_mean(theirs[:, 0], classes)

    again, larger = np.random.default_rng(2), 0
    for _ in range(300):
        again.integers(12, size=12)  # the draw of the interval
        kept = again.choice([-1.0, 1.0], size=12)[:, None] > 0
        swapped = gap(np.where(kept, first, second), np.where(kept, second, first))
        larger += abs(swapped) >= abs(gap(first, second)) - 1e-12
    assert found.difference[0] == pytest.approx(gap(first, second))
    assert found.p_value[0] == pytest.approx((1 + larger) / 301)


def test_bad_luck_is_the_higher_half_of_the_draws_of_rows_and_of_one_run() -> None:
    rows = np.random.default_rng(0).normal(1, 2, 4000)
    half = math.sqrt(2 / math.pi) * 2 / math.sqrt(4000)  # mean of the upper half of a normal distribution
    assert unlucky_mean(rows[None]) == pytest.approx(rows.mean() + half, abs=half / 4)
    far = np.stack([rows - 1, rows + 1, rows + 1, rows - 1])
    assert unlucky_mean(far) == pytest.approx(rows.mean() + 1, abs=half / 2)  # of two runs the half is the worse run


def test_samples_that_do_not_count_change_no_luck() -> None:
    rows = np.array([[1.0, np.nan, 1.0, np.nan]])
    assert unlucky_mean(rows) == 1
    assert math.isnan(unlucky_mean(rows * np.nan))
