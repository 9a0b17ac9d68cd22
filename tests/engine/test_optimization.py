import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from hiercos.engine import TrainConfig
from hiercos.engine.optimization import Plateau, learning_rate, make_optimizer, set_learning_rate


def rates(schedule: str, steps: int = 20) -> list[float]:
    config = TrainConfig(schedule=schedule, learning_rate=2.0)
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
    config = TrainConfig(optimizer=name, weight_decay=0.25)
    optimizer = make_optimizer(nn.Linear(2, 2).parameters(), config)
    set_learning_rate(optimizer, 0.125)
    assert type(optimizer).__name__ == kind
    assert optimizer.defaults.get("amsgrad", False) == (name == "amsgrad")
    assert [(group["lr"], group["weight_decay"]) for group in optimizer.param_groups] == [(0.125, 0.25)]


def slow_plateau(losses: list[float], patience: int) -> Plateau:
    """The definition, stage by stage: a stage ends with the first `patience` epochs in a row below no earlier loss."""
    start, reductions = 0, 0
    while True:
        ends = [
            end
            for end in range(start + patience, len(losses) + 1)
            if min(losses[end - patience : end]) >= min(losses[: end - patience], default=math.inf)
        ]
        if not ends:
            records = [epoch for epoch, loss in enumerate(losses) if loss < min(losses[:epoch], default=math.inf)]
            return Plateau(reductions, len(losses) - max([start, *(epoch + 1 for epoch in records)]))
        start, reductions = ends[0], reductions + 1


@given(st.lists(st.integers(0, 9).map(float), max_size=40), st.integers(1, 4))
def test_a_plateau_is_the_definition_stage_by_stage(losses: list[float], patience: int) -> None:
    assert Plateau.after(losses, patience) == slow_plateau(losses, patience)


def test_a_plateau_ends_after_the_patience_of_two_reductions() -> None:
    losses = [3.0, 2.0, 2.1, 2.0, 1.9, 2.0, 2.0, 2.0, 2.0]
    states = [Plateau.after(losses[:epochs], patience=2) for epochs in range(len(losses) + 1)]
    assert [state.reductions for state in states] == [0, 0, 0, 0, 1, 1, 1, 2, 2, 3]
    assert [state.finished for state in states] == [False] * 9 + [True]


def test_losses_that_are_not_numbers_are_no_improvement() -> None:
    assert Plateau.after([math.nan] * 3, patience=1) == Plateau(3, 0)


def test_each_reduction_of_a_plateau_divides_the_rate_by_five() -> None:
    config = TrainConfig(schedule="plateau", patience=3, learning_rate=2.0)
    found = [learning_rate(config, 7, 100, reductions=reductions) for reductions in range(3)]
    assert found == pytest.approx([2.0, 0.4, 0.08])
