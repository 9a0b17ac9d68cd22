"""Settings of a training as one frozen value: parameters of estimators, options of the command, keys of a record."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Literal, get_type_hints

from hiercos.checks import fits, kind_fault
from hiercos.encoders import PRECISIONS, Augment, Border, Precision
from hiercos.errors import FaultsError, suggestion
from hiercos.methods import (
    DEFAULT,
    FINE_TUNED_DEFAULT,
    FINE_TUNED_SEVERAL_DEFAULT,
    MANY_CLASSES,
    MANY_CLASSES_DEFAULT,
    METHODS,
    SEVERAL,
    SEVERAL_DEFAULT,
)
from hiercos.taxonomy import Taxonomy

MOST_IN_BATCH = {False: 256, True: 64}  # default batch size on many samples, with a frozen and with a trained backbone
PATIENCE, MAX_EPOCHS = 4, 100  # training by patience; 4 is that of the measurements in docs/notes/training.md
SMALLEST_BATCH, MIN_STEPS = 16, 20  # default batches are smaller for small data, so that an epoch has enough steps
EFFORT: Effort = "normal"  # of methods that have it
LEAST_STEPS = 300  # of a training whose length nothing tells

Effort = Literal["quick", "normal", "best"]
Optimizer = Literal["adamw", "sgd", "amsgrad"]
Schedule = Literal["cosine", "one-cycle", "constant", "plateau"]


class SettingsError(FaultsError):
    """A setting that does not exist or has an impossible value."""


@dataclass(frozen=True)
class Settings:
    """Settings of one training; None stands for what suits the method and the data, see `resolved`.

    Attributes:
        method: name in `hiercos.methods.METHODS`.
        options: options of the method by name.
        rule: decision rule, with parameters as "hf-beta:beta=0.5"; None for that of the method.
        epochs: exact number of passes over the training data; None for a training that `patience` ends.
        patience: epochs without a better top-1, HOPS or log-loss on validation before the rate falls and the training
            ends; None for 4, or for none with `epochs`.
        max_epochs: largest number of epochs with patience; None for 100.
        batch_size: samples per step over all processes; None for 256 (64 with a trained backbone), fewer for small
            data.
        optimizer: "adamw", "sgd" (with momentum 0.9, as published), or "amsgrad" (Adam, as in some baselines).
        learning_rate: peak learning rate of the schedule; None for that of the method.
        weight_decay: weight decay of every weight, as published; None for that of the method.
        schedule: "cosine" down to 0, "one-cycle" (linear warm-up over the first tenth, then cosine), "constant", or
            "plateau": constant until validation stops improving, then down to 0, see `Plateau`. None for "cosine" with
            `epochs`, else "plateau".
        gradient_clip: largest norm of the gradient; None for no limit.
        width: width of the hidden blocks of methods that have any; None for that of the method.
        dropout: dropout rate before them; None for that of the method.
        effort: effort of the default method: "quick" (linear heads alone), "normal" or "best"; None for "normal".
        published: whether width, dropout and other options are those of the paper unless they are given.
        refit: whether the final model learns from the validation samples, too: a method with a solver is solved
            again, any other is trained again. "auto" for what gains; always without such samples.
        folds: parts of a cross-fitting that chooses and calibrates in place of the validation samples, from which every
            model then learns; None to validate, or for 3 parts where there are no such samples.
        targets: whether samples are set aside for an exact guarantee of the targets of back-off.
        memory: number of training samples of each label that the model keeps, as features, for `extend`; None for 20,
            or fewer where these would take more than 10 MB.
        keep_inputs: whether the folder keeps samples: the texts or images of the worst mistakes for the report, and
            the memory.
        dim: largest number of dense features of sparse vectors, for methods that do not take these as they are.
        precision: "32-true", "bf16-mixed" or "16-mixed", as Lightning Fabric names them.
        standardize: whether features are scaled to mean 0 and variance 1 over the training data; ignored if a backbone
            is trained.
        seed: seed of the initial weights, the order of the samples, dropout and augmentation.
        backbone_learning_rate: peak learning rate of a trained backbone; None for a tenth of `learning_rate`.
        augment: augmentation if a backbone is trained: "none", "pad-crop" or "resized-crop", see `TrainTransform`; None
            for "pad-crop" of images.
        border: padding of "pad-crop": "reflect" or "zero".
        class_prior: class frequencies that the posterior is re-weighted to after training: "balanced" for equal ones,
            or one number above 0 for each class; None for those of the training data. See `prior_weights`.
    """

    method: str = DEFAULT
    options: Mapping[str, Any] = field(default_factory=dict)
    rule: str | None = None
    epochs: int | None = None
    patience: int | None = None
    max_epochs: int | None = None
    batch_size: int | None = None
    optimizer: Optimizer = "adamw"
    learning_rate: float | None = None
    weight_decay: float | None = None
    schedule: Schedule | None = None
    gradient_clip: float | None = None
    width: int | None = None
    dropout: float | None = None
    effort: Effort | None = None
    published: bool = False
    refit: bool | Literal["auto"] = "auto"
    folds: int | None = None
    targets: bool = False
    memory: int | None = None
    keep_inputs: bool = True
    dim: int = 256
    precision: Precision = "32-true"
    standardize: bool = True
    seed: int = 0
    backbone_learning_rate: float | None = None
    augment: Augment | None = None
    border: Border = "reflect"
    class_prior: Literal["balanced"] | tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "method", METHODS.checked_name(self.method))
        checked = {name: kind for name, kind in kinds().items() if name not in UNTYPED}
        if found := [fault for name, kind in checked.items() if (fault := kind_fault(name, getattr(self, name), kind))]:
            raise SettingsError(found)
        self._check_ranges()
        self._check_length()

    def _check_ranges(self) -> None:
        """Raise for a number out of its range."""
        for name, least in LEAST.items():
            if (value := getattr(self, name)) is not None and not value >= least:
                raise SettingsError(f"expected {name} of at least {least}, got {value}")
        for name in ("learning_rate", "gradient_clip"):
            if (value := getattr(self, name)) is not None and not value > 0:
                raise SettingsError(f"expected {name} above 0, got {value}")
        if self.dropout is not None and self.dropout >= 1:
            raise SettingsError(f"expected a dropout below 1, got {self.dropout}")
        if self.targets and self.class_prior is not None:
            raise SettingsError("targets: expected no class_prior with it, for which no guarantee holds")
        if not 0 <= self.seed < 2**31:
            raise SettingsError(f"expected a seed from 0 to {2**31 - 1}, got {self.seed}")

    def _check_length(self) -> None:
        """Raise for an exact number of epochs and patience at once."""
        if self.epochs is None:
            if self.schedule not in (None, "plateau"):
                raise SettingsError(
                    f"schedule {self.schedule}: expected epochs with it, since its length must be known"
                )
            return
        for name in ("patience", "max_epochs"):
            if (value := getattr(self, name)) is not None:
                raise SettingsError(f"{name} {value}: expected no epochs with it, which is an exact number")
        if self.schedule == "plateau":
            raise SettingsError("schedule plateau: expected patience instead of epochs with it")

    def resolved(
        self, samples: int, *, trains_backbone: bool = False, images: bool = False, several: bool = False
    ) -> Settings:
        """The settings with numbers for what was left open; those of a resolved value stay.

        Args:
            samples: number of training samples.
            trains_backbone: whether a backbone is trained with the head.
            images: whether the samples are images.
            several: whether samples have several labels.
        """
        method = trained_method(self.method, trains_backbone=trains_backbone, several=several)
        length: dict[str, Any] = {"schedule": self.schedule or "cosine"}
        if self.epochs is None:
            length = {"patience": self.patience or PATIENCE, "max_epochs": self.max_epochs or MAX_EPOCHS}
            length["schedule"] = "plateau"
        usual = METHODS.row(method).training
        length["batch_size"] = self.batch_size or batch_size_for(samples, MOST_IN_BATCH[trains_backbone])
        length["learning_rate"] = usual.learning_rate if self.learning_rate is None else self.learning_rate
        length["rule"] = self.rule or (SEVERAL if several else METHODS.row(self.method).training.rule)
        length["weight_decay"] = usual.weight_decay if self.weight_decay is None else self.weight_decay
        length["augment"] = self.augment or ("pad-crop" if trains_backbone and images else None)
        return replace(self, method=method, options=self.method_options(method), **length)

    def method_options(self, method: str) -> dict[str, Any]:
        """Options of a method: those given, else those recommended, or those of the paper."""
        METHODS.check_options(method, self.options)
        known = METHODS.options(method)
        given = {name: getattr(self, name) for name in SHARED_OPTIONS}
        row = METHODS.row(method).training
        usual = {} if self.published else {"width": row.width, "dropout": row.dropout, "effort": EFFORT}
        shared = {**usual, **{name: value for name, value in given.items() if value is not None}}
        recommended = {} if self.published else METHODS.row(method).recommended
        return {**{name: value for name, value in shared.items() if name in known}, **recommended, **self.options}

    @property
    def peak(self) -> float:
        """Peak learning rate of resolved settings."""
        assert self.learning_rate is not None
        return self.learning_rate

    @property
    def most_epochs(self) -> int:
        """Number of epochs of resolved settings; the largest one with patience."""
        epochs = self.max_epochs if self.epochs is None else self.epochs
        assert epochs is not None
        return epochs

    def to_dict(self) -> dict[str, Any]:
        """Settings as JSON values, without those that have their defaults, but for the method and its options."""
        values = {**dataclasses.asdict(self), "options": dict(self.options)}
        defaults = {entry.name: entry.default for entry in dataclasses.fields(self)}
        kept = ("method", "options", "learning_rate", "weight_decay", "optimizer", "seed")
        return {name: value for name, value in values.items() if name in kept or value != defaults[name]}


def batch_size_for(samples: int, most: int) -> int:
    """Default batch size for a number of training samples: at most `most`, and less for small data.

    Example:
        >>> batch_size_for(10_000, 256), batch_size_for(1_000, 256), batch_size_for(40, 256)
        (256, 50, 16)
    """
    return min(most, max(SMALLEST_BATCH, samples // MIN_STEPS))


def enough_epochs(samples: int, batch_size: int) -> int:
    """Number of epochs of a training whose length nothing tells: 300 steps, but at least 5 epochs and at most 100.

    Example:
        >>> enough_epochs(9_000, 256), enough_epochs(40, 16), enough_epochs(1_000_000, 256)
        (9, 100, 5)
    """
    return min(max(math.ceil(LEAST_STEPS / math.ceil(samples / batch_size)), 5), MAX_EPOCHS)


def check_shared_options(settings: Settings, method: str) -> None:
    """Raise a `SettingsError` for a width, dropout or effort that was given although the method has none."""
    for name in SHARED_OPTIONS:
        if (value := getattr(settings, name)) is not None and name not in METHODS.options(method):
            having = ", ".join(other for other in METHODS if name in METHODS.options(other))
            raise SettingsError(f"{name} {value}: method {method!r} has no {name}; methods that have one: {having}")


LEAST = {"epochs": 1, "patience": 1, "max_epochs": 1, "batch_size": 2, "weight_decay": 0, "width": 1, "dropout": 0}
LEAST |= {"folds": 2, "memory": 0, "dim": 1, "backbone_learning_rate": 0}
SHARED_OPTIONS = ("width", "dropout", "effort")  # options of several methods that are settings, too
UNTYPED = ("options", "class_prior")  # fields whose values are checked where they are used
FIELDS = tuple(entry.name for entry in dataclasses.fields(Settings))
OWN_OPTIONS = {  # settings with an option of their own name in commands, and its help; `--set` takes all of them
    "method": "Method to train (see hiercos methods).",
    "rule": "Decision rule (see docs/decisions.md), with parameters as hf-beta:beta=0.5.",
    "epochs": "Exact number of passes over the training data; by default patience ends them.",
    "batch_size": "Samples in a batch.",
    "learning_rate": "Peak learning rate.",
    "effort": "Effort of the default method: quick (linear heads alone), normal or best.",
    "memory": "Training samples of each label kept in the model, for hiercos extend; 0 for none.",
    "folds": "Parts of a cross-fitting that chooses in place of the validation samples, which are learned from.",
    "seed": "Seed of the (first) run.",
    "precision": f"{', '.join(PRECISIONS)}.",
}


@cache
def kinds() -> dict[str, Any]:
    """Type of each setting."""
    return get_type_hints(Settings)


def parsed(name: str, text: str) -> Any:
    """A value as it is written in a command: JSON, or else a text, in the type of the setting of that name.

    Example:
        >>> parsed("published", "true"), parsed("schedule", "cosine"), parsed("patience", "none")
        (True, 'cosine', None)
    """
    try:
        value = json.loads(text)
    except ValueError:
        value = text
    if name in UNTYPED:
        return tuple(value) if isinstance(value, list) else value
    if name not in FIELDS or fits(value, kinds()[name]):
        return value
    return None if text == "none" and fits(None, kinds()[name]) else text


def trained_method(method: str, *, trains_backbone: bool, several: bool = False) -> str:
    """Name of the method that is trained: the default depends on whether a backbone is, and on several labels."""
    if method != DEFAULT:
        return method
    if several:
        return FINE_TUNED_SEVERAL_DEFAULT if trains_backbone else SEVERAL_DEFAULT
    return FINE_TUNED_DEFAULT if trains_backbone else method


def method_for(method: str, taxonomy: Taxonomy) -> str:
    """Name of the method that is trained; the default is another one where a tree has many classes."""
    many = taxonomy.is_tree and taxonomy.num_classes >= MANY_CLASSES
    return MANY_CLASSES_DEFAULT if many and method == DEFAULT else method


def with_options(
    settings: Settings, given: Mapping[str, Any], *, trains_backbone: bool = False, others: Collection[str] = ()
) -> Settings:
    """Settings with more of them by name, and with options of the method, which share one namespace.

    Args:
        settings: settings to change.
        given: values by name: settings, or options of the method.
        trains_backbone: whether a backbone is trained with the head.
        others: further known names, to suggest for an unknown one.
    """
    own = {name: value for name, value in given.items() if name in FIELDS}
    options = {name: value for name, value in given.items() if name not in FIELDS}
    changed = replace(settings, **own)
    method = trained_method(changed.method, trains_backbone=trains_backbone)
    check_shared_options(changed, method)
    if not options:
        return changed
    known = METHODS.options(method)
    if unknown := [name for name in options if name not in known]:
        names = [*dict.fromkeys(each for each in (*known, *FIELDS, *others) if each != "options")]
        raise SettingsError(
            f"{name}: there is no such setting or option of {method!r}{suggestion(name, names)}" for name in unknown
        )
    changed = replace(changed, options={**changed.options, **options})
    METHODS.check_options(method, changed.options)
    return changed


def setting_words(config: Mapping[str, Any], samples: int, *, trains_backbone: bool = False) -> list[str]:
    """Words of a command that gives the settings of a record; those that suit the data anyway are left out.

    Args:
        config: settings as in a record, with their method and options.
        samples: number of training samples.
        trains_backbone: whether a backbone was trained with the head.
    """
    usual = Settings(method=config["method"], epochs=config.get("epochs"))
    values = dict(config) | {"published": False}
    options, chosen = values.pop("options"), usual.method_options(usual.method)
    if not chosen.keys() <= options.keys():  # not all of the recommended ones
        values["published"], chosen = True, {}
    resolved = usual.resolved(samples, trains_backbone=trains_backbone, images="augment" in config)
    given = {
        name: value
        for name, value in values.items()
        if name in ("method", "epochs") or value != getattr(resolved, name)
    }
    given |= {name: value for name, value in options.items() if name not in chosen or value != chosen[name]}
    for name in SHARED_OPTIONS:  # they are among the options
        if name not in options:
            given.pop(name, None)
    words: list[str] = []
    for name, value in given.items():
        text = value if isinstance(value, str) else json.dumps(value)
        if name in OWN_OPTIONS:
            words += [f"--{name.replace('_', '-')}", text] if value is not None else []
        else:
            words += ["--set", f"{name}={text}"]
    return words
