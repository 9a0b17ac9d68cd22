"""Settings of a training run as one frozen value, stored in its record."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from hiercos.errors import FaultsError
from hiercos.methods import DEFAULT, METHODS
from hiercos.nn.backbones import Augment, Border
from hiercos.options import check_choice

OPTIONAL = (
    "patience",
    "backbone_learning_rate",
    "augment",
    "border",
    "class_prior",
)  # left out of a record if they have their defaults


class ConfigError(FaultsError):
    """A setting that does not exist or has an impossible value."""


@dataclass(frozen=True)
class TrainConfig:
    """Settings of one training run.

    Attributes:
        method: name in `hiercos.methods.METHODS`.
        options: options of the method by name.
        epochs: number of passes over the training data; with `patience` the maximum number.
        batch_size: samples per step over all processes.
        optimizer: "adamw", "sgd" (with momentum 0.9, as published), or "amsgrad" (Adam, as in some baselines).
        learning_rate: peak learning rate of the schedule.
        weight_decay: weight decay of every weight, as published.
        schedule: "cosine" down to 0, "one-cycle" (linear warm-up over the first tenth, then cosine), "constant", or
            "plateau", which needs `patience`: constant until validation stops improving, then down to 0, see `Plateau`.
        patience: epochs without a better top-1, HOPS or log-loss on validation before the rate falls and the training
            ends; None to train for exactly `epochs`.
        gradient_clip: largest norm of the gradient; None for no limit.
        precision: "32-true", "bf16-mixed" or "16-mixed", as Lightning Fabric names them.
        standardize: whether features are scaled to mean 0 and variance 1 over the training data; ignored if a backbone
            is trained.
        seed: seed of the initial weights, the order of the samples, dropout and augmentation.
        backbone_learning_rate: peak learning rate of a trained backbone; None for a tenth of `learning_rate`.
        augment: augmentation of images if a backbone is trained: "none", "pad-crop" or "resized-crop"; see
            `TrainTransform`.
        border: padding of "pad-crop": "reflect" or "zero".
        class_prior: class frequencies that the posterior is re-weighted to after training: "balanced" for equal ones,
            or one number above 0 for each class; None for those of the training data. See `prior_weights`.
    """

    method: str = DEFAULT
    options: Mapping[str, Any] = field(default_factory=dict)
    epochs: int = 20
    batch_size: int = 256
    optimizer: Literal["adamw", "sgd", "amsgrad"] = "adamw"
    learning_rate: float = 3e-3
    weight_decay: float = 1e-2
    schedule: Literal["cosine", "one-cycle", "constant", "plateau"] = "cosine"
    patience: int | None = None
    gradient_clip: float | None = None
    precision: str = "32-true"
    standardize: bool = True
    seed: int = 0
    backbone_learning_rate: float | None = None
    augment: Augment = "none"
    border: Border = "reflect"
    class_prior: Literal["balanced"] | tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        METHODS.checked_name(self.method)
        for name, least in (("epochs", 1), ("batch_size", 2)):
            if not getattr(self, name) >= least:
                raise ConfigError(f"expected {name} of at least {least}, got {getattr(self, name)}")
        if not self.learning_rate > 0:
            raise ConfigError(f"expected learning_rate above 0, got {self.learning_rate}")
        check_choice("optimizer", self.optimizer, ("adamw", "sgd", "amsgrad"))
        check_choice("schedule", self.schedule, ("cosine", "one-cycle", "constant", "plateau"))
        self._check_patience()
        check_choice("precision", self.precision, ("32-true", "bf16-mixed", "16-mixed"))
        if not (self.gradient_clip is None or self.gradient_clip > 0):
            raise ConfigError(f"expected gradient_clip above 0, got {self.gradient_clip}")
        if not (self.backbone_learning_rate is None or self.backbone_learning_rate >= 0):
            raise ConfigError(f"expected backbone_learning_rate of at least 0, got {self.backbone_learning_rate}")
        check_choice("augment", self.augment, get_args(Augment))
        check_choice("border", self.border, get_args(Border))
        if not 0 <= self.seed < 2**31:
            raise ConfigError(f"expected a seed from 0 to {2**31 - 1}, got {self.seed}")

    def _check_patience(self) -> None:
        if self.patience is not None and self.patience < 1:
            raise ConfigError(f"expected patience of at least 1, got {self.patience}")
        if (self.patience is None) == (self.schedule == "plateau"):
            given = "no patience" if self.patience is None else f"patience {self.patience}"
            raise ConfigError(f"expected patience with the schedule plateau only, got {given} with {self.schedule}")

    def to_dict(self) -> dict[str, Any]:
        """Settings as JSON values, without optional settings that have their defaults."""
        values = {**dataclasses.asdict(self), "options": dict(self.options)}
        defaults = {entry.name: entry.default for entry in dataclasses.fields(self) if entry.name in OPTIONAL}
        return {name: value for name, value in values.items() if name not in defaults or value != defaults[name]}
