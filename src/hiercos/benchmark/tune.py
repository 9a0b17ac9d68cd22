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

from hiercos import storage
from hiercos.benchmark.parallel import Observer, Outcome, Task, run_tasks
from hiercos.checks import check_choice, json_object, schema_faults
from hiercos.errors import FaultsError, reading
from hiercos.methods import METHODS, Between, Space
from hiercos.records import run_identity
from hiercos.training import AnyFeatures, Epoch, RunProgress, Settings, taxonomy_summary

if TYPE_CHECKING:
    from lightning_fabric import Fabric

TUNING = "tuning"
OF_TRAINING = ("learning_rate", "weight_decay")  # all other searched settings are options of the method
Criterion = Literal["hops", "top1"]


class TuningError(FaultsError):
    """An invalid search, or an unreadable trial."""


@dataclass(frozen=True)
class Tuning:
    """Budget and criterion of a search."""

    trials: int  # number of trials of each method, including the given settings
    # metric to maximise on the validation split, at the epoch whose weights are kept: "hops" or "top1" (the default),
    # of the method's own scores without a decision rule
    criterion: Criterion = "top1"

    def __post_init__(self) -> None:
        if self.trials < 1:
            raise TuningError(f"expected at least one trial, got {self.trials}")
        check_choice("criterion", self.criterion, get_args(Criterion))


def spaces(settings: Settings) -> dict[str, Space]:
    """The search spaces of a method's settings: those that all methods share, then its own."""
    peak = settings.learning_rate or METHODS.row(settings.method).training.learning_rate
    shared: dict[str, Space] = {
        "learning_rate": Between(peak / 10, peak * 10, log=True),
        "weight_decay": Between(1e-4, 1e-1, log=True),
        "dropout": Between(0, 0.5),
    }
    return {**shared, **METHODS.row(settings.method).search}


def trial_settings(settings: Settings, number: int) -> Settings:
    """The settings of a trial: the given ones for trial 0, else drawn with the seed and the trial's number."""
    if number == 0:
        return settings
    generator = np.random.default_rng((settings.seed, number))
    drawn = {name: space.draw(generator) for name, space in spaces(settings).items()}
    training = {name: drawn.pop(name) for name in OF_TRAINING}
    known = METHODS.options(settings.method)
    options = {name: value for name, value in drawn.items() if name in known}
    return replace(settings, **training, options={**settings.options, **options})


def searched_settings(settings: Settings) -> dict[str, Any]:
    """The values of the searched settings, as JSON values."""
    options = {**METHODS.options(settings.method), **settings.method_options(settings.method)}
    training = {name: getattr(settings, name) for name in OF_TRAINING}
    return training | {name: options[name] for name in spaces(settings) if name in options}


_SCHEMA: dict[str, Any] = {"number": int, "settings": dict, "best_epoch": int}
_SCHEMA |= {"top1": float | None, "hops": float | None, "fault": str | None}


@dataclass(frozen=True)
class TrialResult:
    """The validation result of a trial."""

    number: int  # number of the trial
    settings: Mapping[str, Any]  # values of the searched settings
    top1: float = math.nan  # top-1 accuracy at the best epoch; nan if training failed
    hops: float = math.nan  # HOPS at the best epoch; nan if training failed
    best_epoch: int = 0  # epoch whose weights would be kept; 0 if training failed
    fault: str | None = None  # reason why training failed; None if it did not

    @classmethod
    def of(cls, number: int, settings: Settings, outcome: Outcome) -> TrialResult:
        """The result of a trial that was trained, or whose training failed."""
        searched = searched_settings(settings)
        if outcome.progress is None:
            return cls(number, searched, fault=outcome.fault)
        best = outcome.progress.best
        return cls(number, searched, best.top1, best.hops, best.number)

    @property
    def outcome(self) -> Outcome:
        """The outcome as far as it is stored, for progress displays."""
        best = Epoch(1, math.nan, self.top1, self.hops, 0.0)
        return Outcome(progress=None if self.fault else RunProgress([best], 1), fault=self.fault)

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

    settings: Settings
    summary: Mapping[str, Any]


def tune(
    fabric: Fabric,
    features: AnyFeatures,
    given: Sequence[Settings],
    tuning: Tuning,
    folder: Path,
    *,
    jobs: int = 1,
    observer: Observer | None = None,
) -> list[Tuned]:
    """Search the settings of each method; trials that an earlier call finished are not repeated.

    A trial learns from the training split, is validated, and keeps no model; test samples are not scored.

    Args:
        fabric: launched Fabric.
        features: features that all methods share.
        given: given settings, one value per method; its seed is used for all trials and for the draws.
        tuning: budget and criterion of the search.
        folder: folder that receives `tuning/METHOD/trial-K.json`.
        jobs: number of parallel trials, see `run_tasks`.
        observer: progress callback; None by default.

    Returns:
        For each method, the settings of its best trial; the first one wins a tie.
    """
    if not len(features.dataset.rows("val")):
        raise TuningError(f"{features.dataset.source}: a search needs validation samples, and there are none")
    numbers, results = range(tuning.trials), dict[tuple[str, int], TrialResult]()
    todo: dict[Task, tuple[int, Path, dict[str, Any]]] = {}
    for settings in given:
        for number in numbers:
            trial = trial_settings(settings, number)
            identity = run_identity(trial.to_dict(), features.summary(), taxonomy_summary(features.taxonomy))
            path = folder / TUNING / settings.method / f"trial-{number}.json"
            task = Task(settings.method, f"trial {number}", features, replace(trial, refit=False))
            if not path.exists():
                todo[task] = number, path, identity
                continue
            results[task.method, number] = read_trial(path, identity)
            if observer is not None:
                observer.end(task, results[task.method, number].outcome)
    for task, outcome in run_tasks(fabric, list(todo), folder, jobs=jobs, observer=observer):
        number, path, identity = todo[task]
        result = results[task.method, number] = TrialResult.of(number, task.settings, outcome)
        if fabric.is_global_zero:
            path.parent.mkdir(parents=True, exist_ok=True)
            content = json.dumps({"identity": identity, "result": result.to_dict()}, indent=2)
            storage.write(path, content + "\n")
    return [_tuned(settings, [results[settings.method, number] for number in numbers], tuning) for settings in given]


def _tuned(settings: Settings, results: Sequence[TrialResult], tuning: Tuning) -> Tuned:
    """The settings of a method's best trial."""
    finished = [result for result in results if result.fault is None]
    if not finished:
        raise TuningError(f"{settings.method}: training failed in every trial, in trial 0 with: {results[0].fault}")
    best = max(finished, key=lambda result: float(getattr(result, tuning.criterion)))  # the first one wins a tie
    summary = {
        "budget": tuning.trials,
        "criterion": tuning.criterion,
        "split": "val",
        "seed": settings.seed,
        "chosen": best.number,
        "trials": [result.to_dict() for result in results],
    }
    return Tuned(trial_settings(settings, best.number), summary)
