"""Learning curves: methods trained on a few samples of each class, several draws of them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from hiercos.benchmark.comparison import Entry, Run, RunResult, one_label_each
from hiercos.benchmark.jobs import NullObserver, Observer, executor
from hiercos.benchmark.linked_files import link_equal_files
from hiercos.data import Inputs
from hiercos.engine import Encoder, LabelledVectors, PreparedData, RunData, TrainConfig, TrainingCallback
from hiercos.methods import Model
from hiercos.records import Record
from hiercos.taxonomy import IntArray, Taxonomy

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


@dataclass(frozen=True)
class FewShotData:
    """Prepared data with a draw of its training samples; validation and test splits are unchanged.

    Attributes:
        whole: data to draw from.
        shots: number of training samples of each class; None for all.
        seed: random seed of the draw.
    """

    whole: PreparedData
    shots: int | None
    seed: int

    @property
    def taxonomy(self) -> Taxonomy:
        """Taxonomy of the data."""
        return self.whole.taxonomy

    def for_method(self, method: str) -> FewShotData:
        """The same draw of the data in the form that a method takes."""
        return replace(self, whole=self.whole.for_method(method))

    def samples(self, split: str) -> LabelledVectors:
        """Vectors of one split: "train" (the draw), "val" or "test"."""
        samples = self.whole.samples(split)
        if split != "train" or self.shots is None:
            return samples
        rows = few_shot_rows(one_label_each(samples).numpy(), self.shots, self.seed)
        return LabelledVectors(samples.features[rows], samples.labels[torch.from_numpy(rows)])

    def training_samples(self, config: TrainConfig) -> LabelledVectors:  # noqa: ARG002  # vectors are not augmented
        """Vectors of the draw."""
        return self.samples("train")

    def model(self, config: TrainConfig) -> Model:
        """A new model whose weights depend on the seed alone."""
        return self.whole.model(config)

    def inputs(self, split: str) -> Inputs:
        """Raw inputs of one split of the whole data."""
        return self.whole.inputs(split)

    def encoder(self, model: Model) -> Encoder | None:
        """Encoder that computed the features."""
        return self.whole.encoder(model)

    def summary(self) -> dict[str, Any]:
        """Summary of the whole data with the size of the draw, its shots, and a fingerprint of its own."""
        summary: dict[str, Any] = self.whole.summary()
        sizes = {**summary["sizes"], "train": len(self.samples("train"))}
        if self.shots is None:
            return {**summary, "shots": "all"}
        drawn = f"{summary['fingerprint']} {self.shots} {self.seed}"
        fingerprint = hashlib.sha256(drawn.encode()).hexdigest()
        return {**summary, "sizes": sizes, "fingerprint": fingerprint, "shots": self.shots}


@dataclass(frozen=True)
class FewShotRun:
    """A run on a draw of the training samples; the seed of the run is also that of the draw."""

    run: Run
    shots: int | None

    @property
    def method(self) -> str:
        """The method."""
        return self.run.method

    @property
    def kind(self) -> str:
        """The kind of task."""
        return self.run.kind

    @property
    def number(self) -> int:
        """The seed."""
        return self.run.number

    @property
    def name(self) -> str:
        """The name used in messages."""
        return f"{self.run.config.method} {shots_text(self.shots)} draw {self.number}"

    @property
    def config(self) -> TrainConfig:
        """The training settings."""
        return self.run.config

    def __call__(self, fabric: Fabric, data: RunData, callback: TrainingCallback | None) -> RunResult:
        """Train and test; the records of a finished run are read from its folder."""
        assert isinstance(data, PreparedData)  # `learning_curves` takes no other
        return self.run(fabric, FewShotData(data, self.shots, self.number), callback)


def shots_text(shots: int | None) -> str:
    """A number of shots in words.

    Example:
        >>> shots_text(5), shots_text(None)
        ('5 a class', 'all samples')
    """
    return "all samples" if shots is None else f"{shots} a class"


def learning_curves(
    fabric: Fabric,
    data: PreparedData,
    points: Sequence[tuple[int | None, Sequence[Entry]]],
    seeds: Sequence[int],
    folder: Path,
    *,
    jobs: int = 1,
    observer: Observer | None = None,
) -> list[Record]:
    """Train and test every entry on every number of shots and draw; finished runs are not repeated.

    Args:
        fabric: launched Fabric.
        data: features that all methods share.
        points: numbers of training samples of each class (None for all), each with the entries to train there.
        seeds: seeds of the draws and of the runs, one run each.
        folder: folder that receives one subfolder per run.
        jobs: number of parallel runs, see `compare`.
        observer: progress callback; None by default.

    Returns:
        The records, ordered by shots, method, rule and seed; `record.data["shots"]` is the number of shots, or "all".
    """
    tasks = [
        FewShotRun(Run(replace(entry.config, seed=seed), _place(folder, shots, entry, seed), entry.rules), shots)
        for shots, entries in points
        for entry in entries
        for seed in seeds
    ]
    with executor(fabric, data, jobs, folder) as workers:
        results = iter(workers.run(tasks, observer or NullObserver()))
        if fabric.is_global_zero:
            link_equal_files(task.run.folder for task in tasks)
    by_entry = [[next(results).ruled for _ in seeds] for _, entries in points for _ in entries]
    return [record for by_seed in by_entry for of_rule in zip(*by_seed, strict=True) for record in of_rule]


def _place(folder: Path, shots: int | None, entry: Entry, seed: int) -> Path:
    return folder / CURVES / ("all" if shots is None else str(shots)) / entry.config.method / f"seed-{seed}"
