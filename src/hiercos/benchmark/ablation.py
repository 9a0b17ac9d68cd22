"""Ablation of Hier-COS: one setting changed at a time, on the same features, splits and seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from hiercos.benchmark.comparison import Run, RunResult
from hiercos.benchmark.jobs import NullObserver, Observer, executor
from hiercos.engine import LabelledSamples, RunData, TrainConfig, TrainingCallback, evaluate, load_model
from hiercos.errors import FaultsError, suggestion
from hiercos.geometry import subspace_cosine
from hiercos.methods import METHODS, LeafScores, Model, NodeScores
from hiercos.records import RUNS, Record

if TYPE_CHECKING:
    from lightning_fabric import Fabric

METHOD = "hier-cos"
COSINE = "subspace_cosine"
SCORING = ("ancestors", "descendants")  # options of the scores only: trained weights are scored again
AXES: dict[str, dict[str, Mapping[str, Any]]] = {
    "alpha": {f"{alpha:g}": {"alpha": alpha} for alpha in (0.0, 0.001, 0.01, 0.05, 0.1, 0.5)},
    "direction": {
        "leaf": {"direction": "leaf"},
        "uniform": {"direction": "uniform"},
        "reversed": {"direction": "root"},
    },
    "regulariser": {
        "off": {"alpha": 0.0},
        "published": {},
        "as printed": {"penalty": "printed", "grouping": "sample"},
        "scale-free": {"penalty": "scale-free"},
    },
    "span": {
        "ancestors and descendants": {},
        "no ancestors": {"ancestors": False},
        "no descendants": {"descendants": False},
        "neither": {"ancestors": False, "descendants": False},
    },
    "exponent": {"2": {"exponent": 2.0}, "1": {"exponent": 1.0}},
}

AXIS_DESCRIPTIONS = {
    "alpha": "The weight of the regulariser; 0 switches it off.",
    "direction": "The end of the path where the target distribution is heaviest.",
    "regulariser": "The form of the regulariser, at the published weight.",
    "span": "The axes that span a node's subspace beside its own; the same trained weights are scored again.",
    "exponent": "The exponent of the level weights in the target distribution; the paper prints 1, its tables use 2.",
}


class AblationError(FaultsError):
    """An axis that does not exist."""


@dataclass(frozen=True)
class Setting:
    """One row of an ablation.

    Attributes:
        axis: name of the changed setting, a key of `AXES`.
        name: name of its value in the table.
        changes: options of the method that differ from the published ones.
    """

    axis: str
    name: str
    changes: Mapping[str, Any]

    @property
    def trained(self) -> dict[str, Any]:
        """The changes that affect training."""
        return {option: value for option, value in self.changes.items() if option not in SCORING}

    @property
    def scoring(self) -> dict[str, Any]:
        """The changes that affect only the scores."""
        return {option: value for option, value in self.changes.items() if option in SCORING}

    @property
    def method(self) -> str:
        """The method with its changed options, the name of its runs; the plain name if nothing changes in training."""
        return ",".join([METHOD, *(f"{option}={_text(value)}" for option, value in self.trained.items())])


def _text(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def axis_settings(axes: Sequence[str]) -> list[Setting]:
    """The settings of some axes.

    Raises:
        AblationError: a name that is not in `AXES`.

    Example:
        >>> [(setting.name, setting.method) for setting in axis_settings(["exponent"])]
        [('2', 'hier-cos'), ('1', 'hier-cos,exponent=1')]
    """
    for axis in axes:
        if axis not in AXES:
            raise AblationError(f"unknown axis {axis!r}{suggestion(axis, AXES)}")
    published = METHODS.options(METHOD)
    return [
        Setting(axis, name, {option: value for option, value in options.items() if value != published[option]})
        for axis in axes
        for name, options in AXES[axis].items()
    ]


@dataclass(frozen=True)
class AblationRun:
    """One seed of Hier-COS with some options changed: trained once, then scored under each of its settings.

    Attributes:
        method: method with its changed options, the name of its runs.
        config: training settings.
        folder: folder of the run.
        settings: settings that share this training, one for each record.
        kind: kind of task, for messages.
    """

    method: str
    config: TrainConfig
    folder: Path
    settings: tuple[Setting, ...]
    kind: str = "seed"

    @property
    def number(self) -> int:
        """The seed."""
        return self.config.seed

    @property
    def name(self) -> str:
        """The name used in messages."""
        return f"{self.method} seed {self.config.seed}"

    def __call__(self, fabric: Fabric, data: RunData, callback: TrainingCallback | None) -> RunResult:
        """Train and test; a model that an earlier call trained is loaded."""
        trained = Run(self.config, self.folder, ("none",))(fabric, data, callback)
        model = load_model(self.folder, trust_backbone=True).model
        test = data.for_method(self.config.method).samples("test")
        records = [scored_record(fabric, trained.record, model, test, setting.scoring) for setting in self.settings]
        return RunResult(trained.record, records)


def scored_record(
    fabric: Fabric, record: Record, model: Model, test: LabelledSamples, scoring: Mapping[str, Any]
) -> Record:
    """The record of a run with the mean cosine added to its metrics, scored again if options of the scores changed.

    Args:
        fabric: launched Fabric.
        record: record of the run.
        model: trained model of the run; its scores are replaced.
        test: test split.
        scoring: changed options of the scores.
    """
    metrics, spans = dict(record.metrics), {**dict.fromkeys(SCORING, True), **scoring}
    if scoring:
        model.class_scores = LeafScores(model.taxonomy, ancestors=spans["ancestors"])
        model.node_scores = NodeScores(model.taxonomy, **spans)
        metrics = evaluate(fabric, model, test)
    metrics[COSINE] = mean_cosine(fabric, model, test, ancestors=spans["ancestors"])
    return replace(record, config={**record.config, "options": {**model.options, **scoring}}, metrics=metrics)


@torch.inference_mode()
def mean_cosine(fabric: Fabric, model: Model, samples: LabelledSamples, *, ancestors: bool = True) -> float:
    """Mean over the samples labelled with a class of the cosine between embedding and projection onto its subspace."""
    model.to(fabric.device).eval()
    total = torch.zeros((), dtype=torch.float64)
    known = torch.nonzero(samples.labels.cpu() < model.taxonomy.num_classes).squeeze(1)
    parts = torch.split(known, samples.at_once)
    for part, inputs in zip(parts, samples.batches(parts), strict=True):
        with fabric.autocast():
            z = model(fabric.to_device(inputs))  # (B, N)
        labels = samples.labels[part].to(fabric.device)
        total += subspace_cosine(z.float(), labels, model.taxonomy, ancestors=ancestors).double().sum().cpu()
    return float(total) / len(known)


def ablate(
    fabric: Fabric,
    data: RunData,
    config: TrainConfig,
    settings: Sequence[Setting],
    seeds: Sequence[int],
    *,
    folder: Path,
    jobs: int = 1,
    observer: Observer | None = None,
) -> list[list[Record]]:
    """Train and test Hier-COS with every setting; settings with the same training options are trained once.

    Args:
        fabric: launched Fabric.
        data: training and test data of all settings.
        config: training settings of the published method (the seed is replaced).
        settings: settings to compare, from `axis_settings`.
        seeds: random seeds, one run each.
        folder: folder that receives one subfolder per run; finished runs in it are not repeated.
        jobs: number of parallel runs, as in a comparison.
        observer: progress callback; None by default.

    Returns:
        For each setting one record per seed, with `subspace_cosine` among the metrics of the test split.
    """
    by_method: dict[str, list[Setting]] = {}
    for setting in settings:
        by_method.setdefault(setting.method, []).append(setting)
    runs = [
        AblationRun(
            method,
            replace(config, options={**config.options, **served[0].trained}, seed=seed),
            folder / RUNS / method / f"seed-{seed}",
            tuple(served),
        )
        for method, served in by_method.items()
        for seed in seeds
    ]
    data = data.for_method(config.method)
    with executor(fabric, data, jobs, folder) as workers:
        results = workers.run(runs, observer or NullObserver())
    records: dict[tuple[str, str], list[Record]] = {}
    for run, result in zip(runs, results, strict=True):
        for setting, record in zip(run.settings, result.ruled, strict=True):
            records.setdefault((setting.axis, setting.name), []).append(record)
    return [records[setting.axis, setting.name] for setting in settings]
