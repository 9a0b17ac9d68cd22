"""Optimisers and learning rates.

A rate is a pure function of the settings, the step and the losses on validation, so resuming needs no state for it.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from hiercos.engine.config import TrainConfig
from hiercos.methods import Model

BACKBONE_SHARE = 0.1  # learning rate of the backbone over that of the head, as published
WARM_UP = 0.1  # share of the steps in which the rate of "one-cycle" rises

REDUCTION = 0.2  # factor of a reduction of "plateau"
REDUCTIONS = 2  # reductions of "plateau" before the training ends


@dataclass(frozen=True)
class Plateau:
    """State of the schedule "plateau", which suits a training of unknown length.

    The rate is constant until the log-loss on validation has not improved for `patience` epochs; then it is reduced and
    the training continues from the best weights. After the last reduction, the training ends the same way.

    Attributes:
        reductions: number of reductions so far.
        waited: epochs since the best one or the last reduction.
    """

    reductions: int = 0
    waited: int = 0

    @classmethod
    def after(cls, losses: Sequence[float], patience: int) -> "Plateau":
        """The state after epochs with these losses on validation; nan counts as no improvement.

        Example:
            >>> Plateau.after([3.0, 2.0, 2.5, 2.5, 1.9, 1.9], patience=2)
            Plateau(reductions=1, waited=1)
        """
        best, reductions, waited = math.inf, 0, 0
        for loss in losses:
            improved = loss < best
            best, waited = (loss, 0) if improved else (best, waited + 1)
            if waited == patience:
                reductions, waited = reductions + 1, 0
        return cls(reductions, waited)

    @property
    def finished(self) -> bool:
        """Whether the training ends here."""
        return self.reductions > REDUCTIONS


def make_optimizer(
    parameters: Iterable[nn.Parameter] | Iterable[dict[str, Any]], config: TrainConfig
) -> torch.optim.Optimizer:
    """Optimiser of a config over parameters or groups of them, at the peak rate."""
    rates: dict[str, Any] = {"lr": config.learning_rate, "weight_decay": config.weight_decay}
    if config.optimizer == "adamw":
        return torch.optim.AdamW(parameters, **rates)
    if config.optimizer == "amsgrad":
        return torch.optim.Adam(parameters, amsgrad=True, **rates)
    return torch.optim.SGD(parameters, momentum=0.9, **rates)


def parameter_groups(model: Model, config: TrainConfig) -> list[dict[str, Any]]:
    """Parameter groups of the head and of a trained backbone, each with its share of the learning rate."""
    if model.backbone is None:
        return [{"params": list(model.parameters()), "share": 1.0}]
    inside = list(model.backbone.parameters())
    known = set(map(id, inside))
    outside = [weight for weight in model.parameters() if id(weight) not in known]
    share = BACKBONE_SHARE
    if config.backbone_learning_rate is not None:
        share = config.backbone_learning_rate / config.learning_rate
    return [{"params": outside, "share": 1.0}, {"params": inside, "share": share}]


def learning_rate(config: TrainConfig, step: int, steps: int, *, reductions: int = 0) -> float:
    """Learning rate of a step (0 … steps - 1), after a number of reductions if the schedule is "plateau"."""
    progress = step / steps
    if config.schedule == "plateau":
        return float(config.learning_rate * REDUCTION**reductions)
    if config.schedule == "constant":
        return config.learning_rate
    if config.schedule == "one-cycle":
        if progress < WARM_UP:
            return config.learning_rate * (step + 1) / math.ceil(WARM_UP * steps)
        progress = (progress - WARM_UP) / (1 - WARM_UP)
    return config.learning_rate * 0.5 * (1 + math.cos(math.pi * progress))


def set_learning_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """Set the learning rate of every parameter group to its share of a rate, 1 by default."""
    for group in optimizer.param_groups:
        group["lr"] = rate * group.get("share", 1.0)
