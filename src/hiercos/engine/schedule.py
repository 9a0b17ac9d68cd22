"""Optimisers and learning rates. A rate is a pure function of the step, so a resumed run needs no state for it."""

import math
from collections.abc import Iterable

import torch
from torch import nn

from hiercos.engine.config import TrainConfig

WARM_UP = 0.1  # share of the steps in which "one-cycle" rises


def make_optimizer(parameters: Iterable[nn.Parameter], config: TrainConfig) -> torch.optim.Optimizer:
    """The optimiser of the settings over all parameters, at the peak rate."""
    rates = {"lr": config.learning_rate, "weight_decay": config.weight_decay}
    if config.optimizer == "adamw":
        return torch.optim.AdamW(parameters, **rates)
    if config.optimizer == "amsgrad":
        return torch.optim.Adam(parameters, amsgrad=True, **rates)
    return torch.optim.SGD(parameters, momentum=0.9, **rates)


def learning_rate(config: TrainConfig, step: int, steps: int) -> float:
    """The rate of one step (0 … steps - 1) of a run."""
    progress = step / steps
    if config.schedule == "constant":
        return config.learning_rate
    if config.schedule == "one-cycle":
        if progress < WARM_UP:
            return config.learning_rate * (step + 1) / math.ceil(WARM_UP * steps)
        progress = (progress - WARM_UP) / (1 - WARM_UP)
    return config.learning_rate * 0.5 * (1 + math.cos(math.pi * progress))


def set_learning_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """Give every group of an optimiser the same rate."""
    for group in optimizer.param_groups:
        group["lr"] = rate
