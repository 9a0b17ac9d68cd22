"""Optimisers and learning rates. A rate is a pure function of the step, so a resumed run needs no state for it."""

import math
from collections.abc import Iterable
from typing import Any

import torch
from torch import nn

from hiercos.engine.config import TrainConfig
from hiercos.engine.model import Model

BACKBONE_SHARE = 0.1  # of the learning rate, as published
WARM_UP = 0.1  # share of the steps in which "one-cycle" rises


def make_optimizer(
    parameters: Iterable[nn.Parameter] | Iterable[dict[str, Any]], config: TrainConfig
) -> torch.optim.Optimizer:
    """The optimiser of the settings over all parameters or groups of them, at the peak rate."""
    rates: dict[str, Any] = {"lr": config.learning_rate, "weight_decay": config.weight_decay}
    if config.optimizer == "adamw":
        return torch.optim.AdamW(parameters, **rates)
    if config.optimizer == "amsgrad":
        return torch.optim.Adam(parameters, amsgrad=True, **rates)
    return torch.optim.SGD(parameters, momentum=0.9, **rates)


def parameter_groups(model: Model, config: TrainConfig) -> list[dict[str, Any]]:
    """The head and, where the model trains one, the backbone, each with its share of the learning rate."""
    if model.backbone is None:
        return [{"params": list(model.parameters()), "share": 1.0}]
    inside = list(model.backbone.parameters())
    known = set(map(id, inside))
    outside = [weight for weight in model.parameters() if id(weight) not in known]
    share = BACKBONE_SHARE
    if config.backbone_learning_rate is not None:
        share = config.backbone_learning_rate / config.learning_rate
    return [{"params": outside, "share": 1.0}, {"params": inside, "share": share}]


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
    """Give every group of an optimiser its share of a rate: all of it, unless it says otherwise."""
    for group in optimizer.param_groups:
        group["lr"] = rate * group.get("share", 1.0)
