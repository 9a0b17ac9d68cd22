import math
from itertools import pairwise

import pytest
from torch import nn

from hiercos.engine import TrainConfig
from hiercos.engine.optimization import learning_rate, make_optimizer, set_learning_rate


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
