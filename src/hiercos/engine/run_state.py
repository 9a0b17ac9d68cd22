"""State of a run after each epoch, and its checkpoints: one safetensors file, written atomically and with a checksum.

The checkpoint of the epoch before is kept beside it, and is used if the last one is damaged.
"""

from __future__ import annotations

import copy
import csv
import hashlib
import io
import json
import math
import os
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from hiercos.engine.config import TrainConfig
from hiercos.engine.optimization import Plateau
from hiercos.errors import FaultsError, HiercosWarning
from hiercos.files import check_regular, write_atomically
from hiercos.methods import Model
from hiercos.metric_table import AVERAGE_PRECISION
from hiercos.records import CHECKPOINT, PREVIOUS_CHECKPOINT

LOG = "log.csv"
MOST_TIME_WRITING = 0.03  # largest share of the time that goes into checkpoints
SHA256 = "sha256"  # metadata key of the checksum


class CheckpointError(FaultsError):
    """A checkpoint that cannot be read, or belongs to another run."""


class DamagedCheckpointError(CheckpointError):
    """A checkpoint that was changed after it was written."""


@dataclass(frozen=True)
class Checkpoint:
    """State that a run resumes from after an epoch. The random state is a function of seed and epoch.

    Attributes:
        model: weights after the last epoch.
        best: weights of the best epoch so far; empty if that is the last one.
        optimizer: tensors of the optimiser, as `optimizer_tensors` names them.
        progress: finished epochs, their history and the time spent, as JSON values.
        config: settings, data and taxonomy of the run, as JSON values.
    """

    model: Mapping[str, Tensor]
    best: Mapping[str, Tensor]
    optimizer: Mapping[str, Tensor]
    progress: Mapping[str, Any]
    config: Mapping[str, Any]


def write_checkpoint(path: Path, checkpoint: Checkpoint) -> None:
    """Write a checkpoint atomically; the one before is kept as `PREVIOUS_CHECKPOINT` in the same folder."""
    groups = {"model": checkpoint.model, "best": checkpoint.best, "optimizer": checkpoint.optimizer}
    tensors = {
        f"{group}/{name}": tensor.detach().cpu().contiguous().clone()
        for group, members in groups.items()
        for name, tensor in members.items()
    }
    texts = {"progress": json.dumps(checkpoint.progress), "config": json.dumps(checkpoint.config, sort_keys=True)}
    content = safetensors.torch.save(tensors, metadata={**texts, SHA256: _checksum(tensors, texts)})
    if path.exists():
        check_regular(path, CheckpointError)  # a pipe would be written to, and wait for a reader
        os.replace(path, path.with_name(PREVIOUS_CHECKPOINT))
    write_atomically(path, content)


def _checksum(tensors: Mapping[str, Tensor], texts: Mapping[str, str]) -> str:
    """SHA-256 of the names, types, shapes and numbers of tensors, and of texts by name."""
    digest = hashlib.sha256(json.dumps(sorted(texts.items())).encode())
    for name in sorted(tensors):
        tensor = tensors[name]
        digest.update(json.dumps([name, str(tensor.dtype), list(tensor.shape)]).encode())
        digest.update(tensor.contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def find_checkpoint(folder: Path, config: Mapping[str, Any]) -> Checkpoint | None:
    """The last undamaged checkpoint of a run in a folder; None if there is none.

    Raises:
        CheckpointError: if all checkpoints are damaged, or they belong to a run with other settings.
    """
    faults: list[str] = []
    for path in (folder / CHECKPOINT, folder / PREVIOUS_CHECKPOINT):
        if path.is_file():
            try:
                found = read_checkpoint(path, config)
            except DamagedCheckpointError as error:
                faults += error.faults
                continue
            if faults:
                warnings.warn(f"{faults[0]}; resuming from {path.name}", HiercosWarning, stacklevel=2)
            return found
    if faults:
        raise CheckpointError(f"{fault}; remove it to train from the beginning" for fault in faults)
    return None


def remove_checkpoints(folder: Path) -> None:
    """Remove the checkpoints of a finished run."""
    for name in (CHECKPOINT, PREVIOUS_CHECKPOINT):
        (folder / name).unlink(missing_ok=True)


def read_checkpoint(path: Path, config: Mapping[str, Any]) -> Checkpoint:
    """Read the checkpoint of the run with these settings.

    Raises:
        DamagedCheckpointError: if the file is not a checkpoint, or was changed after it was written.
        CheckpointError: if it names settings that differ from these.
    """
    groups: dict[str, dict[str, Tensor]] = {"model": {}, "best": {}, "optimizer": {}}
    try:
        with safe_open(path, framework="pt") as file:
            texts = dict(file.metadata())
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118  # not a dict
        if texts.pop(SHA256) != _checksum(tensors, texts):
            raise ValueError("its checksum differs")
        for key, tensor in tensors.items():
            group, _, name = key.partition("/")
            groups[group][name] = tensor
        progress, written = json.loads(texts["progress"]), json.loads(texts["config"])
    except (SafetensorError, OSError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise DamagedCheckpointError(f"{path}: not a checkpoint of hiercos, or damaged ({error})") from error
    expected = json.loads(json.dumps(config))
    changed = sorted(key for key in {*written, *expected} if written.get(key) != expected.get(key))
    if changed:
        values = ", ".join(
            key if key in ("data", "taxonomy") else f"{key} was {written.get(key)!r}, now {expected.get(key)!r}"
            for key in changed
        )
        raise CheckpointError(f"{path}: cannot resume, the settings differ: {values}")
    return Checkpoint(**groups, progress=progress, config=written)


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """State of an optimiser as named tensors, without its learning rates and options."""
    return {
        f"{parameter}/{name}": torch.as_tensor(value)
        for parameter, state in optimizer.state_dict()["state"].items()
        for name, value in state.items()
        if value is not None
    }


def restore_optimizer(optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor]) -> None:
    """Restore the state of an optimiser from `optimizer_tensors`."""
    state: dict[int, dict[str, Tensor]] = {}
    for key, tensor in tensors.items():
        parameter, _, name = key.partition("/")
        state.setdefault(int(parameter), {})[name] = tensor
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})


@dataclass(frozen=True)
class Epoch:
    """Results of one epoch.

    Attributes:
        number: number of the epoch, from 1.
        loss: mean training loss.
        top1: top-1 accuracy on validation; nan without validation data.
        hops: HOPS on validation; nan without validation data.
        seconds: time spent in the run up to the end of the epoch.
        log_loss: log-loss on validation at the temperature that suits it best; nan without validation data.
        average_precision: average precision of the nodes on validation; nan unless samples have several labels.
    """

    number: int
    loss: float
    top1: float
    hops: float
    seconds: float
    log_loss: float = math.nan
    average_precision: float = math.nan


@dataclass
class RunProgress:
    """Progress of a run: the part of its state that is not tensors.

    Attributes:
        history: finished epochs in order.
        best_epoch: number of the best epoch, from 1; 0 before the first.
        seconds: time spent in training and validation.
        choice: what a solver chose and why, as a sentence; "" without one.
        member: name of the inner model that is trained, for progress displays; "" for the model itself.
    """

    history: list[Epoch] = field(default_factory=list)
    best_epoch: int = 0
    seconds: float = 0.0
    choice: str = ""
    member: str = ""

    @property
    def best(self) -> Epoch:
        """The epoch whose weights are kept, see `fit`; the first of equals, and without validation the last."""
        return self.history[self.best_epoch - 1]

    def to_dict(self) -> dict[str, Any]:
        """Progress as JSON values, without the name of an inner model."""
        return {name: value for name, value in asdict(self).items() if name != "member"}

    def to_csv(self) -> str:
        """History as CSV text, one row per epoch; average precision only where samples have several labels."""
        stream = io.StringIO()
        several = any(not math.isnan(epoch.average_precision) for epoch in self.history)  # labels of a sample
        names = [entry.name for entry in fields(Epoch) if several or entry.name != AVERAGE_PRECISION]
        writer = csv.DictWriter(stream, names, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(epoch) for epoch in self.history)
        return stream.getvalue()

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> RunProgress:
        """Progress from the JSON values of `to_dict`."""
        history = [Epoch(**epoch) for epoch in values["history"]]
        return cls(history, values["best_epoch"], values["seconds"], values.get("choice", ""))


class RunState:
    """State of a run: current and best weights, optimiser and history.

    Checkpoints are written rarely. In between, the state after the last epoch is copied before the next one changes it,
    so that it can be written when the run is interrupted.
    """

    def __init__(
        self, model: Model, optimizer: torch.optim.Optimizer, config: TrainConfig, identity: Mapping[str, Any]
    ) -> None:
        self.model, self.optimizer, self.config, self.identity = model, optimizer, config, identity
        self.progress = RunProgress()
        self.best: Mapping[str, Tensor] = model.state_dict()
        self._next_write = 0.0  # on the clock of `time.perf_counter`
        self._written = 0  # epochs of the last checkpoint
        self._copy: Checkpoint | None = None  # state after the last epoch, while the next one changes the model
        self._is_changing = False

    @property
    def plateau(self) -> Plateau:
        """Course of the schedule "plateau" after the finished epochs."""
        history = self.progress.history
        measures = [(epoch.top1, epoch.hops, -epoch.log_loss, epoch.average_precision) for epoch in history]
        patience = self.config.patience
        return Plateau() if patience is None else Plateau.after(measures, patience, self.config.epochs)

    @property
    def finished(self) -> bool:
        """Whether all epochs are done."""
        return len(self.progress.history) >= min(self.config.epochs, self.plateau.end or self.config.epochs)

    def add(self, epoch: Epoch) -> None:
        """Add an epoch to the history; the weights of the best epoch, without validation of the last, are kept."""
        earlier = self.progress
        is_best = not earlier.history or self._is_better(epoch, earlier.best)
        best = copy.deepcopy(self.model.state_dict()) if is_best else self.best
        progress = RunProgress(
            [*earlier.history, epoch], epoch.number if is_best else earlier.best_epoch, epoch.seconds
        )
        self.progress, self.best, self._is_changing = progress, best, False  # a signal comes before all or after all

    def _is_better(self, epoch: Epoch, best: Epoch) -> bool:
        if self.config.patience is not None or math.isnan(epoch.average_precision):
            return self.config.patience is not None or not epoch.top1 <= best.top1
        return epoch.average_precision > best.average_precision

    def write_if_due(self, folder: Path) -> None:
        """Write after the first and the last epoch, and in between so rarely that it takes that share of the time."""
        began = time.perf_counter()
        if self.finished or began >= self._next_write:
            self.write(folder)
            ended = time.perf_counter()
            self._next_write = ended + (ended - began) / MOST_TIME_WRITING

    def write(self, folder: Path) -> None:
        """Write the log and the checkpoint of the last finished epoch."""
        state = self._copy if self._is_changing and self._copy is not None else self._current()
        write_atomically(folder / LOG, self.progress.to_csv())
        write_checkpoint(folder / CHECKPOINT, state)
        self._written = len(self.progress.history)

    def _current(self) -> Checkpoint:
        tensors, progress = optimizer_tensors(self.optimizer), self.progress
        best = {} if progress.best_epoch == len(progress.history) else self.best
        return Checkpoint(self.model.state_dict(), best, tensors, progress.to_dict(), self.identity)

    def begin_epoch(self, folder: Path | None) -> None:
        """Copy the state, unless it is in a checkpoint or there is no folder for one; the model may change from now."""
        is_needed = folder is not None and self._written < len(self.progress.history)
        state = self._current() if is_needed else None
        self._copy = state and replace(state, model=_copied(state.model), optimizer=_copied(state.optimizer))
        self._is_changing = True

    @contextmanager
    def checkpoint_on_failure(self, folder: Path | None) -> Iterator[None]:
        """Write the checkpoint of the last finished epoch if the block fails or is interrupted; the error gets a note.

        It takes as long as the other checkpoints, and can be interrupted once more.
        """
        try:
            yield
        except BaseException as error:
            if folder is not None and self.progress.history:
                error.add_note(self._write_and_describe(folder))
            raise

    def _write_and_describe(self, folder: Path) -> str:
        """Write the checkpoint unless it is written; the outcome as a sentence."""
        epochs = len(self.progress.history)
        try:
            if self._written < epochs:
                self.write(folder)
        except Exception as error:  # the error that ended the run matters more
            reason = error.strerror if isinstance(error, OSError) else str(error)
            return f"{folder}: the epochs {self._written + 1} to {epochs} could not be saved ({reason})"
        return f"{folder}: saved after epoch {epochs}"

    def restore(self, checkpoint: Checkpoint) -> None:
        """Restore the state of a checkpoint."""
        self.progress, self.best = RunProgress.from_dict(checkpoint.progress), checkpoint.best or checkpoint.model
        self._written = len(self.progress.history)
        self.model.load_state_dict(checkpoint.model)
        restore_optimizer(self.optimizer, checkpoint.optimizer)


def _copied(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Copies of tensors in main memory."""
    return {name: tensor.detach().to("cpu", copy=True) for name, tensor in tensors.items()}
