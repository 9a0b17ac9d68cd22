"""Optimisers and learning rates.

A rate is a pure function of the settings, the step and the results on validation, so resuming needs no state for it.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from hiercos.methods import Model
from hiercos.training.settings import Settings

TRAINED_SHARE = 0.1  # learning rate of trained weights over that of new ones, as published for backbones
WARM_UP = 0.1  # share of the steps in which the rate of "one-cycle" rises
DECAY = 0.5  # epochs of the decay of "plateau" over those before it


@dataclass(frozen=True)
class Plateau:
    """Course of the schedule "plateau", for a training of unknown length.

    The rate is constant until no measure of validation has improved for `patience` epochs, then it falls linearly to 0
    over half as many epochs. The decay begins early enough to end within the maximum number of epochs.
    """

    constant: int | None = None  # number of epochs at the constant rate; None while it is not known

    @classmethod
    def after(cls, measures: Sequence[Sequence[float]], patience: int, most: int) -> "Plateau":
        """The course after epochs with these measures of validation.

        Args:
            measures: measures of each finished epoch, higher is better; nan counts as no improvement.
            patience: epochs without improvement before the decay.
            most: maximum number of epochs, the decay included.

        Example:
            >>> Plateau.after([(0.5, 0.6), (0.7, 0.6), (0.6, 0.5)], patience=2, most=100).constant
            >>> Plateau.after([(0.5, 0.6), (0.7, 0.6), (0.6, 0.5), (0.7, 0.6)], patience=2, most=100).constant
            4
        """
        longest = max(1, int(most / (1 + DECAY)))
        best, waited = [-math.inf] * len(measures[0] if measures else ()), 0
        for epoch, values in enumerate(measures, start=1):
            improved = [value > known for value, known in zip(values, best, strict=True)]
            best = [value if up else known for up, value, known in zip(improved, values, best, strict=True)]
            waited = 0 if any(improved) else waited + 1
            if waited == patience or epoch == longest:
                return cls(epoch)
        return cls()

    @property
    def end(self) -> int | None:
        """Number of epochs in all; None while it is not known."""
        return None if self.constant is None else self.constant + math.ceil(DECAY * self.constant)

    def factor(self, epochs: float) -> float:
        """Learning rate over its peak after a number of epochs, which need not be whole."""
        if self.constant is None or self.end is None or epochs <= self.constant:
            return 1.0
        return (self.end - epochs) / (self.end - self.constant)


def make_optimizer(
    parameters: Iterable[nn.Parameter] | Iterable[dict[str, Any]], config: Settings
) -> torch.optim.Optimizer:
    """Optimiser of a config over parameters or groups of them, at the peak rate."""
    rates: dict[str, Any] = {"lr": config.peak, "weight_decay": config.weight_decay}
    if config.optimizer == "adamw":
        return torch.optim.AdamW(parameters, **rates)
    if config.optimizer == "amsgrad":
        return torch.optim.Adam(parameters, amsgrad=True, **rates)
    return torch.optim.SGD(parameters, momentum=0.9, **rates)


def parameter_groups(model: Model, config: Settings) -> list[dict[str, Any]]:
    """Parameter groups of new weights, and of a trained backbone or layer, each with its share of the learning rate."""
    inside = [weight for name, weight in model.named_parameters() if name in model.learned]
    inside += [] if model.backbone is None else list(model.backbone.parameters())
    known = set(map(id, inside))
    outside = [weight for weight in model.parameters() if id(weight) not in known]
    if not inside:
        return [{"params": outside, "share": 1.0}]
    share = TRAINED_SHARE
    if config.backbone_learning_rate is not None:
        share = config.backbone_learning_rate / config.peak
    return [{"params": outside, "share": 1.0}, {"params": inside, "share": share}]


def learning_rate(config: Settings, step: int, steps: int, *, plateau: Plateau | None = None) -> float:
    """Learning rate of a step (0 … steps - 1 in `epochs`); with the schedule "plateau", on a course known so far."""
    progress = step / steps
    if config.schedule == "plateau":
        return config.peak * (plateau or Plateau()).factor(config.most_epochs * progress)
    if config.schedule == "constant":
        return config.peak
    if config.schedule == "one-cycle":
        if progress < WARM_UP:
            return config.peak * (step + 1) / math.ceil(WARM_UP * steps)
        progress = (progress - WARM_UP) / (1 - WARM_UP)
    return config.peak * 0.5 * (1 + math.cos(math.pi * progress))


def set_learning_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """Set the learning rate of every parameter group to its share of a rate, 1 by default."""
    for group in optimizer.param_groups:
        group["lr"] = rate * group.get("share", 1.0)
