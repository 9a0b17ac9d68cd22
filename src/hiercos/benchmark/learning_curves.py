"""Learning curves: methods trained on a few samples of each class, several draws of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hiercos.benchmark.compare import Entry, check_comparable, records_by_rule
from hiercos.benchmark.parallel import Observer, Task
from hiercos.data import Dataset
from hiercos.records import Record
from hiercos.taxonomy import IntArray
from hiercos.training import Features

if TYPE_CHECKING:
    from lightning_fabric import Fabric

CURVES = "shots"


def few_shot_rows(labels: IntArray, shots: int, seed: int) -> IntArray:
    """Rows of up to `shots` samples of each class, drawn without replacement; a class with fewer keeps all.

    The rows for fewer shots of the same seed are among those for more.

    Args:
        labels: class of each sample, shape (M,).
        shots: number of samples of each class, at least 1.
        seed: random seed of the draw.

    Returns:
        Rows in ascending order.
    """
    order = np.lexsort((np.random.default_rng(seed).random(len(labels)), labels))  # by class, shuffled within each
    places = np.arange(len(labels)) - np.searchsorted(labels[order], labels[order])  # place within the class
    return np.sort(order[places < shots])


def drawn_rows(dataset: Dataset, shots: int, seed: int) -> IntArray:
    """Rows of a data set in ascending order: a draw of the training samples, see `few_shot_rows`, and all others."""
    train = dataset.training_rows
    drawn = train[few_shot_rows(dataset.labels[train], shots, seed)]
    return np.sort(np.concatenate([drawn, np.flatnonzero(dataset.split != "train")]))


def shots_text(shots: int | None) -> str:
    """A number of shots in words.

    Example:
        >>> shots_text(5), shots_text(None)
        ('5 a class', 'all samples')
    """
    return "all samples" if shots is None else f"{shots} a class"


def learning_curves(
    fabric: Fabric,
    features: Features,
    points: Sequence[tuple[int | None, Sequence[Entry]]],
    seeds: Sequence[int],
    folder: Path,
    *,
    jobs: int = 1,
    observer: Observer | None = None,
) -> list[Record]:
    """Train and test every entry on every number of shots and draw; finished runs are not repeated.

    Validation samples choose and calibrate, but no model learns from them: the draw is all that it has seen.

    Args:
        fabric: launched Fabric.
        features: features that all methods share.
        points: numbers of training samples of each class (None for all), each with the entries to train there.
        seeds: seeds of the draws and of the runs, one run each.
        folder: folder that receives one subfolder per run.
        jobs: number of parallel runs, see `run_tasks`.
        observer: progress callback; None by default.

    Returns:
        The records, ordered by shots, method, rule and seed; `record.data["shots"]` is the number of shots, or "all".
    """
    check_comparable(features.dataset)
    tasks = [
        Task(
            entry.settings.method,
            f"{shots_text(shots)} draw {seed}",
            features,
            replace(entry.settings, seed=seed, refit=False),
            folder / CURVES / str(shots or "all") / entry.settings.method / f"seed-{seed}",
            entry.rules,
            rows=None if shots is None else drawn_rows(features.dataset, shots, seed),
            about={"data": {"shots": shots or "all"}},
        )
        for shots, entries in points
        for entry in entries
        for seed in seeds
    ]
    return records_by_rule(fabric, tasks, len(seeds), folder, jobs=jobs, observer=observer)
