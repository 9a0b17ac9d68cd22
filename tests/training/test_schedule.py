import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from hiercos.training import Settings
from hiercos.training.schedule import Plateau, learning_rate, make_optimizer, set_learning_rate


def rates(schedule: str, steps: int = 20) -> list[float]:
    config = Settings(schedule=schedule, learning_rate=2.0, epochs=20).resolved(1000)
    return [learning_rate(config, step, steps) for step in range(steps)]


def test_cosine_falls_from_the_peak_towards_zero_as_published() -> None:
    assert rates("cosine") == pytest.approx([1 + math.cos(math.pi * step / 20) for step in range(20)])


def test_one_cycle_rises_over_the_first_tenth_and_then_falls() -> None:
    values = rates("one-cycle")
    assert values[:3] == [1.0, 2.0, 2.0]
    assert all(before > after for before, after in pairwise(values[2:]))
    assert values[-1] < 0.05


def test_constant_stays() -> None:
    assert set(rates("constant")) == {2.0}


@pytest.mark.parametrize(("name", "kind"), [("adamw", "AdamW"), ("sgd", "SGD"), ("amsgrad", "Adam")])
def test_the_optimizer_is_the_one_asked_for(name: str, kind: str) -> None:
    config = Settings(optimizer=name, weight_decay=0.25).resolved(1000)
    optimizer = make_optimizer(nn.Linear(2, 2).parameters(), config)
    set_learning_rate(optimizer, 0.125)
    assert type(optimizer).__name__ == kind
    assert optimizer.defaults.get("amsgrad", False) == (name == "amsgrad")
    assert [(group["lr"], group["weight_decay"]) for group in optimizer.param_groups] == [(0.125, 0.25)]


Measures = list[tuple[float, float]]


def slow_constant_epochs(measures: Measures, patience: int, most: int) -> int | None:
    """The definition: the first epoch that ends `patience` without a new maximum, or the last that leaves room."""
    for epochs in range(1, len(measures) + 1):
        before, waited = measures[: max(0, epochs - patience)], measures[max(0, epochs - patience) : epochs]
        stuck = before and all(
            max(values[column] for values in waited) <= max(values[column] for values in before) for column in range(2)
        )
        if stuck or epochs + 1 + math.ceil((epochs + 1) / 2) > most:
            return epochs
    return None


values = st.integers(0, 9).map(float)


@given(st.lists(st.tuples(values, values), max_size=40), st.integers(1, 4), st.integers(1, 50))
def test_a_plateau_is_its_definition(measures: Measures, patience: int, most: int) -> None:
    assert Plateau.after(measures, patience, most).constant == slow_constant_epochs(measures, patience, most)


def test_a_course_that_is_known_stays_the_same_and_ends_within_the_maximum() -> None:
    measures = [(value,) for value in (1.0, 2.0, 1.9, 2.0, 3.0, 3.5, 3.6)]
    courses = [Plateau.after(measures[:epochs], 2, 100) for epochs in range(len(measures) + 1)]
    assert [course.constant for course in courses] == [None] * 4 + [4] * 4
    assert [course.end for course in courses[4:]] == [6] * 4
    assert Plateau.after(measures, 9, 6).end == 6


def test_measures_that_are_not_numbers_are_no_improvement() -> None:
    assert Plateau.after([(math.nan,)] * 3, 2, 100) == Plateau(2)


def test_the_rate_of_a_plateau_is_constant_and_then_falls_linearly_to_zero() -> None:
    config = Settings(patience=3, learning_rate=2.0, max_epochs=50).resolved(1000)
    found = [learning_rate(config, step, 100, plateau=Plateau(4)) for step in range(13)]
    assert found == pytest.approx([2.0] * 9 + [1.5, 1.0, 0.5, 0.0])
    assert learning_rate(config, 60, 100) == 2.0
