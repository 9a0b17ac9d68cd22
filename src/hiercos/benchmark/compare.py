"""Several methods on the same features, splits, schedule and seeds, raw and under decision rules; the model to ship."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hiercos.benchmark.parallel import Observer, Task, run_tasks
from hiercos.benchmark.tune import Tuning, tune
from hiercos.data import Dataset
from hiercos.decisions import rule, rule_from_dict
from hiercos.errors import DataError, FaultsError
from hiercos.methods import MANY_CLASSES
from hiercos.model import Classifier
from hiercos.records import RECORD_FILE, RUNS, Record, read_records, records_json
from hiercos.training import LOG, SCORES, AnyFeatures, Settings

if TYPE_CHECKING:
    from lightning_fabric import Fabric


@dataclass(frozen=True)
class Entry:
    """A method of a comparison: its settings (the seed is replaced) and the decision rules to report."""

    settings: Settings
    rules: tuple[str, ...] = ("none",)


def check_comparable(dataset: Dataset) -> None:
    """Raise a `DataError` for several labels of a sample, which have other metrics, or too many classes to order."""
    if (count := dataset.taxonomy.num_classes) >= MANY_CLASSES:
        raise DataError(
            f"{dataset.name}: a comparison orders all classes, of which it expects fewer than {MANY_CLASSES:,}, got "
            f"{count:,}; hiercos train and hiercos evaluate look for the likeliest ones"
        )
    if dataset.label_sets is not None:
        sets = dataset.label_sets[dataset.training_rows]
        several = int(((sets >= 0).sum(axis=1) > 1).sum())
        raise DataError(
            f"{several} of {len(sets)} training samples have several labels: a comparison expects one of each; "
            "hiercos train and hiercos evaluate measure their sets"
        )


def compare(
    fabric: Fabric,
    features: AnyFeatures,
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
        features: features that all methods share.
        entries: compared methods.
        seeds: random seeds, one run each.
        folder: folder that receives one subfolder per run.
        jobs: number of parallel runs, see `run_tasks`.
        tuning: search of each method's settings on validation data; None (the default) uses the given settings.
        observer: progress callback; None by default.

    Returns:
        The records, ordered by method, then rule, then seed.
    """
    dataset = features.dataset
    check_comparable(dataset)
    rows = dataset.training_rows
    settings = [entry.settings.resolved(len(rows), trains_backbone=features.fine_tunes) for entry in entries]
    about: list[dict[str, Any]] = [{} for _ in entries]
    if tuning is not None:
        given = [replace(each, seed=seeds[0]) for each in settings]
        tuned = tune(fabric, features, given, tuning, folder, jobs=jobs, observer=observer)
        settings, about = [each.settings for each in tuned], [{"tuning": each.summary} for each in tuned]
    tasks = [
        Task(
            chosen.method,
            f"seed {seed}",
            features,
            replace(chosen, seed=seed),
            folder / RUNS / chosen.method / f"seed-{seed}",
            entry.rules,
            about=known,
        )
        for entry, chosen, known in zip(entries, settings, about, strict=True)
        for seed in seeds
    ]
    return records_by_rule(fabric, tasks, len(seeds), folder, jobs=jobs, observer=observer)


def records_by_rule(
    fabric: Fabric, tasks: Sequence[Task], seeds: int, folder: Path, *, jobs: int, observer: Observer | None
) -> list[Record]:
    """Records of tasks of which so many in a row differ in their seed alone, for these ordered by rule, then seed."""
    found = {task: outcome.records for task, outcome in run_tasks(fabric, tasks, folder, jobs=jobs, observer=observer)}
    groups = [tasks[start : start + seeds] for start in range(0, len(tasks), seeds)]
    return [found[task][rule] for group in groups for rule in group[0].rules for task in group]


class ShippingError(FaultsError):
    """A folder that a model cannot be copied to."""


def check_shipping(target: Path) -> None:
    """Raise a `ShippingError` if the folder exists, or has no parent folder."""
    if target.exists():
        raise ShippingError(f"--ship {target}: already exists; choose another folder")
    if not target.resolve().parent.is_dir():
        raise ShippingError(f"--ship {target}: there is no folder {target.resolve().parent}")


def ship_model(record: Record, folder: Path, target: Path) -> None:
    """Copy the model of a record to a new folder, with the rule of the record.

    Args:
        record: record of the run and rule to copy.
        folder: folder of the comparison.
        target: folder to create.
    """
    check_shipping(target)
    run = folder / RUNS / record.method / f"seed-{record.seed}"
    fitted = rule("none") if record.fitted_rule is None else rule_from_dict(record.fitted_rule)
    epochs = {LOG} if (run / LOG).exists() else set()  # a solver has none
    shipped = [each for rule_name, each in read_records(run).items() if rule_name in ("none", record.rule)]
    copied: dict[str, str | bytes] = {name: (run / name).read_bytes() for name in {SCORES} | epochs}
    copied[RECORD_FILE] = records_json(shipped)
    replace(Classifier.load(run, trust_backbone=True), rule=fitted).save(target, copied)
