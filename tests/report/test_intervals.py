import math

import pytest

from hiercos.report import paired_difference, t_interval


def test_the_interval_of_five_seeds_is_that_of_students_t() -> None:
    estimate = t_interval([1.0, 2.0, 3.0, 4.0, 5.0])
    assert estimate.mean == 3.0
    assert estimate.half_width == pytest.approx(2.7764451 * math.sqrt(2.5 / 5))  # t(0.975, 4) from a table


def test_the_published_interval_of_five_seeds_is_1_2417_population_deviations() -> None:
    estimate = t_interval([1.0, 2.0, 3.0, 4.0, 5.0], interval="published")
    assert estimate.half_width == pytest.approx(1.2417 * math.sqrt(2.0), abs=1e-4)
    assert t_interval([1.0, 2.0, 3.0, 4.0, 5.0]).half_width == pytest.approx(estimate.half_width * math.sqrt(5 / 4))


def test_one_seed_has_a_mean_and_no_interval() -> None:
    estimate = t_interval([0.25])
    assert estimate.mean == 0.25
    assert math.isnan(estimate.half_width)
    assert math.isnan(t_interval([0.25], interval="published").half_width)


def test_pairs_take_the_common_noise_of_a_seed_away() -> None:
    noise = [0.0, 0.3, -0.2, 0.1]
    difference = paired_difference([1 + value for value in noise], [0.5 + value for value in noise])
    assert difference.mean == pytest.approx(0.5)
    assert difference.half_width == pytest.approx(0.0, abs=1e-12)
