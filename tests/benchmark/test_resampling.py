import numpy as np
import pytest

from hiercos.benchmark.resampling import bootstrap_interval, paired_difference, sample_means


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
    assert np.isnan(paired_difference(np.full((3, 1), np.nan), np.full((3, 1), np.nan), resamples=5).p_value).all()


def test_alike_predictors_do_not_differ_and_a_better_one_does() -> None:
    generator = np.random.default_rng(0)
    values = generator.random((300, 1))
    noise = generator.normal(0, 0.1, size=(300, 1))
    same = paired_difference(values, values)
    assert (same.difference[0], same.p_value[0]) == (0.0, 1.0)
    better = paired_difference(values + 0.1 + noise, values)
    assert better.p_value[0] == pytest.approx(1 / 1_001)
    assert 0 < better.low[0] < better.difference[0] < better.high[0] < 0.2


def test_the_p_value_is_that_of_all_swaps() -> None:
    differences = np.array([1.0, 2.0, 3.0])[:, None]  # of 8 swaps, all kept and all taken reach a mean of 2
    found = paired_difference(differences, np.zeros((3, 1)), resamples=4_000)
    assert found.p_value[0] == pytest.approx(2 / 8, abs=0.03)


def test_a_seed_gives_the_same_interval_again() -> None:
    values = np.random.default_rng(0).random((50, 2))
    np.testing.assert_array_equal(bootstrap_interval(values, seed=3).low, bootstrap_interval(values, seed=3).low)
