"""Random search of each method's settings, with an equal budget and on validation data only.

Trial 0 has the given settings, all others draw theirs. Trial k of every method has the same learning rate, weight
decay and dropout (if the method has it), so no method is luckier than another in these.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from hiercos.benchmark.jobs import Executor, Observer
from hiercos.engine import (
    RunData,
    RunProgress,
    TrainConfig,
    TrainingCallback,
    TrainingError,
    fit,
    remove_checkpoints,
    taxonomy_summary,
)
from hiercos.errors import FaultsError, reading
from hiercos.files import write_atomically
from hiercos.methods import METHODS, Between, Space
from hiercos.options import check_choice, json_object, schema_faults
from hiercos.records import run_identity

if TYPE_CHECKING:
    from lightning_fabric import Fabric

TUNING, TRIAL_FILE = "tuning", "trial.json"
OF_TRAINING = ("learning_rate", "weight_decay")  # all other searched settings are options of the method
Criterion = Literal["hops", "top1"]


class TuningError(FaultsError):
    """An invalid search, or an unreadable trial."""


@dataclass(frozen=True)
class Tuning:
    """Budget and criterion of a search.

    Attributes:
        trials: number of trials of each method, including the given settings.
        criterion: metric to maximise on the validation split, at the epoch whose weights are kept: "hops" or "top1"
            (the default), of the method's own scores without a decision rule.
    """

    trials: int
    criterion: Criterion = "top1"

    def __post_init__(self) -> None:
        if self.trials < 1:
            raise TuningError(f"expected at least one trial, got {self.trials}")
        check_choice("criterion", self.criterion, get_args(Criterion))


def spaces(config: TrainConfig) -> dict[str, Space]:
    """The search spaces of a method's settings: those that all methods share, then its own."""
    shared: dict[str, Space] = {
        "learning_rate": Between(config.learning_rate / 10, config.learning_rate * 10, log=True),
        "weight_decay": Between(1e-4, 1e-1, log=True),
        "dropout": Between(0, 0.5),
    }
    return {**shared, **METHODS.search(config.method)}


def trial_config(config: TrainConfig, number: int) -> TrainConfig:
    """The settings of a trial: the given ones for trial 0, else drawn with the seed and the trial's number."""
    if number == 0:
        return config
    generator = np.random.default_rng((config.seed, number))
    drawn = {name: space.draw(generator) for name, space in spaces(config).items()}
    training = {name: drawn.pop(name) for name in OF_TRAINING}
    known = METHODS.options(config.method)
    options = {name: value for name, value in drawn.items() if name in known}
    return replace(config, **training, options={**config.options, **options})


def searched_settings(config: TrainConfig) -> dict[str, Any]:
    """The values of the searched settings in a configuration, as JSON values."""
    options = {**METHODS.options(config.method), **config.options}
    training = {name: getattr(config, name) for name in OF_TRAINING}
    return training | {name: options[name] for name in spaces(config) if name in options}


_SCHEMA: dict[str, Any] = {"number": int, "settings": dict, "best_epoch": int}
_SCHEMA |= {"top1": float | None, "hops": float | None, "fault": str | None}


@dataclass(frozen=True)
class TrialResult:
    """The validation result of a trial.

    Attributes:
        number: number of the trial.
        settings: values of the searched settings.
        top1: top-1 accuracy at the best epoch; nan if training failed.
        hops: HOPS at the best epoch; nan if training failed.
        best_epoch: epoch whose weights would be kept; 0 if training failed.
        fault: reason why training failed; None if it did not.
    """

    number: int
    settings: Mapping[str, Any]
    top1: float = math.nan
    hops: float = math.nan
    best_epoch: int = 0
    fault: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON values; the metrics are null if training failed."""
        failed = {"top1": None, "hops": None} if self.fault else {}
        return asdict(self) | failed

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> TrialResult:
        """The result from JSON values."""
        if faults := schema_faults(values, _SCHEMA):
            raise ValueError("; ".join(faults))
        known = {name: values[name] for name in ("top1", "hops") if values[name] is not None}
        return cls(
            values["number"], values["settings"], **known, best_epoch=values["best_epoch"], fault=values["fault"]
        )


@dataclass(frozen=True)
class Trial:
    """One training run of a search; it reads the train and val splits and keeps no model."""

    number: int
    config: TrainConfig
    folder: Path
    kind: str = "trial"

    @property
    def method(self) -> str:
        """The method."""
        return self.config.method

    @property
    def name(self) -> str:
        """The name used in messages."""
        return f"{self.config.method} trial {self.number}"

    def __call__(self, fabric: Fabric, data: RunData, callback: TrainingCallback | None) -> TrialResult:
        """Train and validate; the result of a finished trial is read from its folder."""
        identity = run_identity(self.config.to_dict(), data.summary(), taxonomy_summary(data.taxonomy))
        if (self.folder / TRIAL_FILE).exists():
            finished = read_trial(self.folder / TRIAL_FILE, identity)
            if fabric.is_global_zero:
                remove_checkpoints(self.folder)  # if the process ended before it could
            return finished
        self.folder.mkdir(parents=True, exist_ok=True)
        result = TrialResult(self.number, searched_settings(self.config))
        try:
            best = self._train(fabric, data, identity, callback).best
            result = replace(result, top1=best.top1, hops=best.hops, best_epoch=best.number)
        except TrainingError as error:  # settings that fail to train are a valid result of a search
            result = replace(result, fault=str(error))
        if fabric.is_global_zero:
            content = json.dumps({"identity": identity, "result": result.to_dict()}, indent=2)
            write_atomically(self.folder / TRIAL_FILE, content + "\n")
            remove_checkpoints(self.folder)
        fabric.barrier()  # the other processes may read the folder only now
        return result

    def _train(
        self, fabric: Fabric, data: RunData, identity: Mapping[str, Any], callback: TrainingCallback | None
    ) -> RunProgress:
        data = data.for_method(self.config.method)
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


def read_trial(path: Path, identity: Mapping[str, Any]) -> TrialResult:
    """Read a finished trial; a `TuningError` for another file, or a trial with another identity."""
    with reading(f"{path}: not a trial of a search", TuningError):
        values = json_object(path, path.read_bytes(), TuningError)
        written, result = dict(values["identity"]), TrialResult.from_dict(values["result"])
    changed = sorted(key for key in identity if written.get(key) != identity[key])
    if changed:
        raise TuningError(f"{path}: a finished trial with another {', '.join(changed)}; choose another folder")
    return result


@dataclass(frozen=True)
class Tuned:
    """The settings that a search chose, and the summary of the search for the record."""

    config: TrainConfig
    summary: Mapping[str, Any]


def tune(
    executor: Executor, configs: Sequence[TrainConfig], tuning: Tuning, folder: Path, *, observer: Observer
) -> list[Tuned]:
    """Search the settings of each method; trials that an earlier call finished are not repeated.

    Args:
        executor: executor of the trials.
        configs: given settings, one configuration per method; its seed is used for all trials and for the draws.
        tuning: budget and criterion of the search.
        folder: folder that receives `tuning/METHOD/trial-K`.
        observer: progress callback.

    Returns:
        For each method, the settings of its best trial; the first one wins a tie.

    Raises:
        TuningError: if training failed in every trial of a method, or a folder holds trials of another search.
    """
    trials = [
        Trial(number, trial_config(config, number), folder / TUNING / config.method / f"trial-{number}")
        for config in configs
        for number in range(tuning.trials)
    ]
    results = executor.run(trials, observer)
    starts = range(0, len(trials), tuning.trials)
    return [
        _tuned(config, results[start : start + tuning.trials], tuning)
        for config, start in zip(configs, starts, strict=True)
    ]


def _tuned(config: TrainConfig, results: Sequence[TrialResult], tuning: Tuning) -> Tuned:
    """The settings of a method's best trial."""
    finished = [result for result in results if result.fault is None]
    if not finished:
        raise TuningError(f"{config.method}: training failed in every trial, in trial 0 with: {results[0].fault}")
    best = max(finished, key=lambda result: float(getattr(result, tuning.criterion)))  # the first one wins a tie
    summary = {
        "budget": tuning.trials,
        "criterion": tuning.criterion,
        "split": "val",
        "seed": config.seed,
        "chosen": best.number,
        "trials": [result.to_dict() for result in results],
    }
    return Tuned(trial_config(config, best.number), summary)
