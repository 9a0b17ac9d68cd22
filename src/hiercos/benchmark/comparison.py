"""Several methods on the same features, splits, schedule and seeds, raw and under decision rules; the model to ship."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hiercos.benchmark.jobs import NullObserver, Observer, executor
from hiercos.benchmark.linked_files import link_equal_files
from hiercos.benchmark.tuning import Tuned, Tuning, tune
from hiercos.decisions import rule
from hiercos.engine import (
    LOG,
    SCORES,
    LabelledSamples,
    RunData,
    TrainConfig,
    TrainingCallback,
    TrainingError,
    class_scores,
    load_model,
    save_model,
    train_run,
)
from hiercos.errors import DataError, FaultsError
from hiercos.methods import METHODS
from hiercos.records import RECORD_FILE, RUNS, Record, record_file

if TYPE_CHECKING:
    from lightning_fabric import Fabric
    from torch import Tensor


@dataclass(frozen=True)
class Entry:
    """A method of a comparison: its settings (the seed is replaced) and the decision rules to report."""

    config: TrainConfig
    rules: tuple[str, ...] = ("none",)


@dataclass(frozen=True)
class RunResult:
    """The result of a run: its own record, and one record for each reported rule."""

    record: Record
    ruled: list[Record]

    @property
    def top1(self) -> float:
        """Top-1 accuracy on validation, at the epoch whose weights were kept."""
        return self.record.history[self.record.best_epoch - 1]["top1"]

    @property
    def hops(self) -> float:
        """HOPS on validation, at the epoch whose weights were kept."""
        return self.record.history[self.record.best_epoch - 1]["hops"]


@dataclass(frozen=True)
class Run:
    """One method with one seed: trained, tested once under every rule, and written to a folder."""

    config: TrainConfig
    folder: Path
    rules: tuple[str, ...]
    tuning: Mapping[str, Any] | None = None
    kind: str = "seed"

    @property
    def number(self) -> int:
        """The seed."""
        return self.config.seed

    @property
    def method(self) -> str:
        """The method."""
        return self.config.method

    @property
    def name(self) -> str:
        """The name used in messages."""
        return f"{self.config.method} seed {self.config.seed}"

    def __call__(self, fabric: Fabric, data: RunData, callback: TrainingCallback | None) -> RunResult:
        """Train and test; the records of a finished run are read from its folder."""
        try:
            records = train_run(
                fabric, data, self.config, self.folder, reported=self.rules, resume=True, callback=callback
            )
        except TrainingError as error:
            raise TrainingError(f"{self.name}: {error}") from error
        tuned = {rule: self._with_tuning(fabric, record) for rule, record in records.items()}
        return RunResult(tuned["none"], [tuned[rule] for rule in self.rules])

    def _with_tuning(self, fabric: Fabric, record: Record) -> Record:
        """The record with the search that chose its settings, also written to its folder."""
        if self.tuning is None or record.tuning == self.tuning:
            return record
        tuned = replace(record, tuning=self.tuning)
        if fabric.is_global_zero:
            tuned.write(self.folder)
        return tuned


def one_label_each(samples: LabelledSamples) -> Tensor:
    """Labels of samples, shape (M,); see `check_one_label_each`."""
    check_one_label_each(samples.label_sets)
    return samples.labels


def check_one_label_each(label_sets: Tensor | None) -> None:
    """Raise a `DataError` if training samples have several labels, for which a comparison has no metric.

    Args:
        label_sets: nodes of the labels of each sample, -1 for none, shape (M, K); None if each has one label.
    """
    if label_sets is not None:
        several = int(((label_sets >= 0).sum(dim=1) > 1).sum())
        raise DataError(
            f"{several} of {len(label_sets)} training samples have several labels: a comparison expects one of each; "
            "hiercos train and hiercos evaluate measure average precision"
        )


def compare(
    fabric: Fabric,
    data: RunData,
    entries: Sequence[Entry],
    seeds: Sequence[int],
    folder: Path,
    *,
    jobs: int = 1,
    tuning: Tuning | None = None,
    observer: Observer | None = None,
) -> list[Record]:
    """Train and test every entry with every seed; runs that an earlier call finished are not repeated.

    Args:
        fabric: launched Fabric.
        data: features that all methods share.
        entries: compared methods.
        seeds: random seeds, one run each.
        folder: folder that receives one subfolder per run.
        jobs: number of parallel runs, each in its own process with its share of the threads; on a CPU only.
        tuning: search of each method's settings on validation data; None (the default) uses the given settings.
        observer: progress callback; None by default.

    Returns:
        The records, ordered by method, then rule, then seed.
    """
    observer = observer or NullObserver()
    labels = one_label_each(data.samples("train"))
    for entry in entries:
        METHODS.check_labels(entry.config.method, labels, data.taxonomy)
        data.for_method(entry.config.method)  # dense features are computed once, before workers share the data
    with executor(fabric, data, jobs, folder) as workers:
        chosen: list[Tuned | None] = [None] * len(entries)
        if tuning is not None:
            given = [replace(entry.config, seed=seeds[0]) for entry in entries]
            chosen = [*tune(workers, given, tuning, folder, observer=observer)]
        grid = [_runs(entry, tuned, seeds, folder / RUNS) for entry, tuned in zip(entries, chosen, strict=True)]
        tasks = [run for runs in grid for run in runs]
        results = iter(workers.run(tasks, observer))
        if fabric.is_global_zero:
            link_equal_files(run.folder for run in tasks)
    by_entry = [[next(results).ruled for _ in runs] for runs in grid]
    return [record for by_seed in by_entry for of_rule in zip(*by_seed, strict=True) for record in of_rule]


def _runs(entry: Entry, tuned: Tuned | None, seeds: Sequence[int], folder: Path) -> list[Run]:
    """The runs of an entry, one per seed, with the tuned settings if there are any, else the given ones."""
    config, summary = (tuned.config, tuned.summary) if tuned else (entry.config, None)
    place = folder / config.method
    return [Run(replace(config, seed=seed), place / f"seed-{seed}", entry.rules, summary) for seed in seeds]


class ShippingError(FaultsError):
    """A folder that a model cannot be copied to."""


def check_shipping(target: Path) -> None:
    """Raise a `ShippingError` if the folder exists, or has no parent folder."""
    if target.exists():
        raise ShippingError(f"--ship {target}: already exists; choose another folder")
    if not target.resolve().parent.is_dir():
        raise ShippingError(f"--ship {target}: there is no folder {target.resolve().parent}")


def ship_model(fabric: Fabric, data: RunData, record: Record, folder: Path, target: Path) -> None:
    """Copy the model of a record to a new folder; its rule is fitted on the validation split.

    The folder appears under its name when it is complete.

    Args:
        fabric: launched Fabric.
        data: data of the comparison.
        record: record of the run and rule to copy.
        folder: folder of the comparison.
        target: folder to create.

    Raises:
        ShippingError: see `check_shipping`.
    """
    check_shipping(target)
    run, val = folder / RUNS / record.method / f"seed-{record.seed}", data.for_method(record.method).samples("val")
    stored = load_model(run, trust_backbone=True)
    known = (val.labels < data.taxonomy.num_classes).numpy()
    posterior = stored.posterior(class_scores(fabric, stored.model, val).numpy()[known])
    fitted = rule(record.rule).fit(posterior, data.taxonomy.leaves[val.labels.numpy()[known]])
    with tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=target.resolve().parent) as place:
        made = Path(place) / target.name
        made.mkdir()
        epochs = {LOG} if (run / LOG).exists() else set()  # a solver has none
        for name in {RECORD_FILE, record_file(record.rule), SCORES} | epochs:
            shutil.copyfile(run / name, made / name)
        save_model(made, replace(stored, model=stored.model.cpu(), rule=fitted))
        made.rename(target)
