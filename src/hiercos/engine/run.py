"""One run from data to a folder: train, test, and leave the model, the scores, a log and a record."""

from __future__ import annotations

import io
import platform
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from hiercos.engine.batches import Samples
from hiercos.engine.checkpoint import CHECKPOINT
from hiercos.engine.config import TrainConfig
from hiercos.engine.encoders import Reader
from hiercos.engine.evaluation import class_scores, evaluate
from hiercos.engine.model import Model
from hiercos.engine.model_folder import StoredModel, save_model
from hiercos.engine.run_data import taxonomy_summary
from hiercos.engine.training import RunProgress, Watcher, fit
from hiercos.errors import FaultsError
from hiercos.files import write_atomically
from hiercos.methods import METHODS
from hiercos.records import RECORD_FILE, Record, run_identity
from hiercos.taxonomy import Taxonomy

if TYPE_CHECKING:
    from lightning_fabric import Fabric

SCORES = "scores.npz"
PACKAGES = ("hiercos", "torch", "numpy", "scikit-learn", "torchmetrics", "lightning-fabric", "safetensors")


class RunError(FaultsError):
    """A folder that a run cannot be written to."""


class RunData(Protocol):
    """Data that a run trains on and is tested on: vectors, or raw inputs for a model with its backbone inside."""

    @property
    def taxonomy(self) -> Taxonomy:
        """The tree of the data."""

    def samples(self, split: str) -> Samples:
        """The samples of "train", "val" or "test", as they are."""

    def training_samples(self, config: TrainConfig) -> Samples:
        """Those of "train" as the settings say they are to be learned from."""

    def model(self, config: TrainConfig) -> Model:
        """A fresh model for these samples, whose weights depend on the seed alone."""

    def reader(self, model: Model) -> Reader | None:
        """What turns raw inputs into what a trained model takes; None for vectors."""

    def summary(self) -> dict[str, Any]:
        """Name, source, fingerprint and sizes, for a record."""


def train_run(
    fabric: Fabric,
    data: RunData,
    config: TrainConfig,
    folder: Path,
    *,
    resume: bool = False,
    watcher: Watcher | None = None,
) -> Record:
    """Train one model and test it once; the folder is then a model folder with its record.

    Args:
        fabric: where to run, launched.
        data: features and labels in three splits.
        config: the settings.
        folder: where to leave everything; made if missing.
        resume: go on with an unfinished run of the same settings, or return the record of a finished one.
        watcher: is told how training goes.

    Returns:
        The record of the run.

    Raises:
        RunError: if the folder already holds a run and `resume` is off.
    """
    identity = run_identity(config.to_dict(), data.summary(), taxonomy_summary(data.taxonomy))
    if finished := _earlier_record(folder, identity, resume=resume):
        return finished
    model = data.model(config)
    folder.mkdir(parents=True, exist_ok=True)
    train, val, test = data.training_samples(config), data.samples("val"), data.samples("test")
    progress = fit(fabric, model, train, val, config, folder=folder, identity=identity, resume=resume, watcher=watcher)
    record = _record(data, config, progress, evaluate(fabric, model, test))
    if fabric.is_global_zero:
        write_atomically(folder / SCORES, _scores_npz(fabric, model, test))
        save_model(folder, StoredModel(model, data.reader(model)))
        record.write(folder)
        (folder / CHECKPOINT).unlink(missing_ok=True)
    fabric.barrier()  # the other processes may read the folder from here on
    return record


def _record(data: RunData, config: TrainConfig, progress: RunProgress, metrics: dict[str, float]) -> Record:
    return Record(
        method=config.method,
        uses_tree=METHODS.uses_tree(config.method),
        rule="none",
        seed=config.seed,
        config=config.to_dict(),
        data=data.summary(),
        taxonomy=taxonomy_summary(data.taxonomy),
        metrics=metrics,
        history=[asdict(epoch) for epoch in progress.history],
        best_epoch=progress.best_epoch,
        train_seconds=progress.seconds,
        versions=package_versions(),
    )


def package_versions() -> dict[str, str]:
    """Versions of Python and of the packages a result may depend on."""
    return {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}}


def _earlier_record(folder: Path, identity: dict[str, object], *, resume: bool) -> Record | None:
    """The record of a finished run of these settings, if the folder has one and may be resumed."""
    if not resume and (folder / RECORD_FILE).exists():
        raise RunError(f"{folder}: already holds a finished run; choose another folder")
    if not resume and (folder / CHECKPOINT).exists():
        raise RunError(f"{folder}: already holds an unfinished run; go on with --resume, or choose another folder")
    if not (folder / RECORD_FILE).exists():
        return None
    record = Record.read(folder)
    changed = sorted(key for key in identity if record.identity.get(key) != identity[key])
    if changed:
        raise RunError(f"{folder}: holds a finished run with another {', '.join(changed)}; choose another folder")
    return record


def _scores_npz(fabric: Fabric, model: Model, test: Samples) -> bytes:
    """Scores (M, C) and labels (M,) of the test split, as `hiercos evaluate --scores` reads them."""
    stream = io.BytesIO()
    np.savez(stream, scores=class_scores(fabric, model, test).numpy(), labels=test.labels.numpy())
    return stream.getvalue()
