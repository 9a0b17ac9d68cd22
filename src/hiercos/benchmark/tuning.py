"""Search of each method's settings, under an equal budget and on validation data alone.

A random search: trial 0 has the settings as given, the others draw theirs. Trial k of every method has the same
learning rate, weight decay and dropout (as far as the method has it), so no method is luckier than another in these.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from hiercos.benchmark.jobs import Crew, Observer
from hiercos.engine import (
    CHECKPOINT,
    RunData,
    RunProgress,
    TrainConfig,
    TrainingCallback,
    TrainingError,
    fit,
    taxonomy_summary,
)
from hiercos.errors import FaultsError
from hiercos.files import write_atomically
from hiercos.methods import METHODS, Between, Space
from hiercos.options import check_choice
from hiercos.records import run_identity

if TYPE_CHECKING:
    from lightning_fabric import Fabric

TUNING, TRIAL_FILE = "tuning", "trial.json"
OF_TRAINING = ("learning_rate", "weight_decay")  # the other settings searched are options of the method
Criterion = Literal["hops", "top1"]


class TuningError(FaultsError):
    """A search that cannot be made, or a trial that cannot be read."""


@dataclass(frozen=True)
class Tuning:
    """How long to search, and for what.

    Attributes:
        trials: of each method, the settings as given included.
        criterion: of the validation split, at the epoch whose weights are kept: "hops" or "top1", of the method's own
            scores, under no decision rule.
    """

    trials: int
    criterion: Criterion = "top1"

    def __post_init__(self) -> None:
        if self.trials < 1:
            raise TuningError(f"expected at least one trial, got {self.trials}")
        check_choice("criterion", self.criterion, get_args(Criterion))


def spaces(config: TrainConfig) -> dict[str, Space]:
    """Where the settings of a method are searched: those all methods share, then its own."""
    shared: dict[str, Space] = {
        "learning_rate": Between(config.learning_rate / 10, config.learning_rate * 10, log=True),
        "weight_decay": Between(1e-4, 1e-1, log=True),
        "dropout": Between(0, 0.5),
    }
    return {**shared, **METHODS.search(config.method)}


def trial_config(config: TrainConfig, number: int) -> TrainConfig:
    """The settings of a trial: those given for trial 0, drawn for every other one by the seed and its number."""
    if number == 0:
        return config
    generator = np.random.default_rng((config.seed, number))
    drawn = {name: space.draw(generator) for name, space in spaces(config).items()}
    training = {name: drawn.pop(name) for name in OF_TRAINING}
    known = METHODS.options(config.method)
    options = {name: value for name, value in drawn.items() if name in known}
    return replace(config, **training, options={**config.options, **options})


def searched_settings(config: TrainConfig) -> dict[str, Any]:
    """The values that a configuration has of the settings searched, as JSON values."""
    options = {**METHODS.options(config.method), **config.options}
    training = {name: getattr(config, name) for name in OF_TRAINING}
    return training | {name: options[name] for name in spaces(config) if name in options}


@dataclass(frozen=True)
class TrialResult:
    """What a trial reached on validation.

    Attributes:
        number: of the trial.
        settings: the values searched.
        top1: at the epoch whose weights would be kept; nan where training failed.
        hops: likewise.
        best_epoch: that epoch; 0 where training failed.
        fault: why training failed, None where it did not.
    """

    number: int
    settings: Mapping[str, Any]
    top1: float = math.nan
    hops: float = math.nan
    best_epoch: int = 0
    fault: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """As JSON values, null where training failed."""
        failed = {"top1": None, "hops": None} if self.fault else {}
        return asdict(self) | failed

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> TrialResult:
        """From JSON values."""
        known = {name: values[name] for name in ("top1", "hops") if values[name] is not None}
        return cls(
            values["number"], values["settings"], **known, best_epoch=values["best_epoch"], fault=values["fault"]
        )


@dataclass(frozen=True)
class Trial:
    """One training run of a search; it reads the splits train and val, and keeps no model."""

    number: int
    config: TrainConfig
    folder: Path
    kind: str = "trial"

    @property
    def line(self) -> str:
        """The method."""
        return self.config.method

    @property
    def name(self) -> str:
        """What messages call it."""
        return f"{self.config.method} trial {self.number}"

    def __call__(self, fabric: Fabric, data: RunData, callback: TrainingCallback | None) -> TrialResult:
        """Train and validate; a trial that an earlier call finished is read."""
        identity = run_identity(self.config.to_dict(), data.summary(), taxonomy_summary(data.taxonomy))
        if (self.folder / TRIAL_FILE).exists():
            return _read(self.folder / TRIAL_FILE, identity)
        self.folder.mkdir(parents=True, exist_ok=True)
        result = TrialResult(self.number, searched_settings(self.config))
        try:
            best = self._train(fabric, data, identity, callback).best
            result = replace(result, top1=best.top1, hops=best.hops, best_epoch=best.number)
        except TrainingError as error:  # a setting that does not train is an answer, too
            result = replace(result, fault=str(error))
        if fabric.is_global_zero:
            content = json.dumps({"identity": identity, "result": result.to_dict()}, indent=2)
            write_atomically(self.folder / TRIAL_FILE, content + "\n")
            (self.folder / CHECKPOINT).unlink(missing_ok=True)
        fabric.barrier()  # the other processes may read the folder from here on
        return result

    def _train(
        self, fabric: Fabric, data: RunData, identity: Mapping[str, Any], callback: TrainingCallback | None
    ) -> RunProgress:
        return fit(
            fabric,
            data.model(self.config),
            data.training_samples(self.config),
            data.samples("val"),
            self.config,
            folder=self.folder,
            identity=identity,
            resume=True,
            callback=callback,
        )


def _read(path: Path, identity: Mapping[str, Any]) -> TrialResult:
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        written, result = values["identity"], TrialResult.from_dict(values["result"])
    except (ValueError, TypeError, KeyError) as error:
        raise TuningError(f"{path}: not a trial of a search ({error})") from error
    changed = sorted(key for key in identity if written.get(key) != identity[key])
    if changed:
        raise TuningError(f"{path}: a finished trial with another {', '.join(changed)}; choose another folder")
    return result


@dataclass(frozen=True)
class Tuned:
    """The settings a search chose, and what a record says of it."""

    config: TrainConfig
    summary: Mapping[str, Any]


def tune(
    crew: Crew, configs: Sequence[TrainConfig], tuning: Tuning, folder: Path, *, observer: Observer
) -> list[Tuned]:
    """Search the settings of each method; trials that an earlier call finished are not run again.

    Args:
        crew: who performs the trials.
        configs: the settings as given, one of each method; the seed is that of all trials and of the draws.
        tuning: how long, and for what.
        folder: where to leave `tuning/METHOD/trial-K`.
        observer: is told how it goes.

    Returns:
        For each method the settings of its best trial, the first of equals.

    Raises:
        TuningError: if training failed in every trial of a method, or a folder holds trials of another search.
    """
    trials = [
        Trial(number, trial_config(config, number), folder / TUNING / config.method / f"trial-{number}")
        for config in configs
        for number in range(tuning.trials)
    ]
    results = crew.perform(trials, observer)
    starts = range(0, len(trials), tuning.trials)
    return [
        _tuned(config, results[start : start + tuning.trials], tuning)
        for config, start in zip(configs, starts, strict=True)
    ]


def _tuned(config: TrainConfig, results: Sequence[TrialResult], tuning: Tuning) -> Tuned:
    """The best of a method's trials."""
    finished = [result for result in results if result.fault is None]
    if not finished:
        raise TuningError(f"{config.method}: training failed in every trial, in trial 0 with: {results[0].fault}")
    best = max(finished, key=lambda result: float(getattr(result, tuning.criterion)))  # the first of equals
    summary = {
        "budget": tuning.trials,
        "criterion": tuning.criterion,
        "split": "val",
        "seed": config.seed,
        "chosen": best.number,
        "trials": [result.to_dict() for result in results],
    }
    return Tuned(trial_config(config, best.number), summary)
