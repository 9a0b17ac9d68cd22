"""State of a run after each epoch, and its checkpoint: one file, written atomically, that begins with its SHA-256."""

from __future__ import annotations

import copy
import hashlib
import json
import math
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from torch import Tensor

from hiercos import storage
from hiercos.errors import FaultsError
from hiercos.methods import Model
from hiercos.metrics import AVERAGE_PRECISION
from hiercos.records import CHECKPOINT
from hiercos.training.schedule import Plateau
from hiercos.training.settings import Settings

LOG = "log.csv"
SECONDS = 60.0  # between two checkpoints; an end may cost the epochs of this time
DIGEST = 32  # bytes of a SHA-256, before a file of safetensors
TEXTS = "texts"  # name of the progress and the settings in it: JSON, as bytes


class CheckpointError(FaultsError):
    """A checkpoint that is damaged, or belongs to another run."""


@dataclass(frozen=True)
class Checkpoint:
    """State that a run resumes from after an epoch. The random state is a function of seed and epoch."""

    model: Mapping[str, Tensor]  # weights after the last epoch
    best: Mapping[str, Tensor]  # weights of the best epoch so far; empty if that is the last one
    optimizer: Mapping[str, Tensor]  # tensors of the optimiser, as `optimizer_tensors` names them
    progress: Mapping[str, Any]  # finished epochs, their history and the time spent, as JSON values
    config: Mapping[str, Any]  # settings, data and taxonomy of the run, as JSON values


def write_checkpoint(path: Path, checkpoint: Checkpoint) -> None:
    """Write a checkpoint atomically."""
    groups = {"model": checkpoint.model, "best": checkpoint.best, "optimizer": checkpoint.optimizer}
    tensors = {
        f"{group}/{name}": tensor.detach().cpu().contiguous().clone()
        for group, members in groups.items()
        for name, tensor in members.items()
    }
    texts = json.dumps({"progress": checkpoint.progress, "config": checkpoint.config})
    tensors[TEXTS] = torch.frombuffer(bytearray(texts.encode()), dtype=torch.uint8)
    content = safetensors.torch.save(tensors)
    storage.write(path, hashlib.sha256(content).digest() + content)


def find_checkpoint(folder: Path, config: Mapping[str, Any]) -> Checkpoint | None:
    """The checkpoint in a folder, of the run with these settings; None if there is none."""
    path = folder / CHECKPOINT
    if not path.is_file():
        return None
    content = path.read_bytes()
    if hashlib.sha256(content[DIGEST:]).digest() != content[:DIGEST]:
        raise CheckpointError(f"{path}: damaged (its SHA-256 differs); remove it to train from the beginning")
    tensors, groups = safetensors.torch.load(content[DIGEST:]), dict[str, dict[str, Tensor]]()
    texts = json.loads(tensors.pop(TEXTS).numpy().tobytes())
    for key, tensor in tensors.items():
        group, _, name = key.partition("/")
        groups.setdefault(group, {})[name] = tensor
    written, expected = texts["config"], json.loads(json.dumps(config))
    changed = sorted(key for key in {*written, *expected} if written.get(key) != expected.get(key))
    if changed:
        values = ", ".join(
            key if key in ("data", "taxonomy") else f"{key} was {written.get(key)!r}, now {expected.get(key)!r}"
            for key in changed
        )
        raise CheckpointError(f"{path}: cannot resume, the settings differ: {values}")
    model, best, optimizer = (groups.get(name, {}) for name in ("model", "best", "optimizer"))
    return Checkpoint(model, best, optimizer, texts["progress"], written)


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
    """Results of one epoch."""

    number: int  # number of the epoch, from 1
    loss: float  # mean training loss
    top1: float  # top-1 accuracy on validation; nan without validation data
    hops: float  # HOPS on validation; nan without validation data
    seconds: float  # time spent in the run up to the end of the epoch
    # log-loss on validation at the temperature that suits it best; nan without validation data
    log_loss: float = math.nan
    # average precision of the nodes on validation; nan unless samples have several labels
    average_precision: float = math.nan


@dataclass
class RunProgress:
    """Progress of a run: the part of its state that is not tensors."""

    history: list[Epoch] = field(default_factory=list)  # finished epochs in order
    best_epoch: int = 0  # number of the best epoch, from 1; 0 before the first
    seconds: float = 0.0  # time spent in training and validation
    choice: str = ""  # what a solver chose and why, as a sentence; "" without one
    member: str = ""  # name of the inner model that is trained, for progress displays; "" for the model itself

    @property
    def best(self) -> Epoch:
        """The epoch whose weights are kept, see `fit`; the first of equals, and without validation the last."""
        return self.history[self.best_epoch - 1]

    def to_dict(self) -> dict[str, Any]:
        """Progress as JSON values, without the name of an inner model."""
        return {name: value for name, value in asdict(self).items() if name != "member"}

    def to_csv(self) -> str:
        """History as CSV text, one row per epoch; average precision only where samples have several labels."""
        several = any(not math.isnan(epoch.average_precision) for epoch in self.history)  # labels of a sample
        names = [entry.name for entry in fields(Epoch) if several or entry.name != AVERAGE_PRECISION]
        return storage.csv_text([names, *([getattr(epoch, name) for name in names] for epoch in self.history)])

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> RunProgress:
        """Progress from the JSON values of `to_dict`."""
        history = [Epoch(**epoch) for epoch in values["history"]]
        return cls(history, values["best_epoch"], values["seconds"], values.get("choice", ""))


class RunState:
    """State of a run: current and best weights, optimiser and history."""

    def __init__(
        self,
        model: Model,
        optimizer: torch.optim.Optimizer,
        config: Settings,
        identity: Mapping[str, Any],
        course: int | None = None,
    ) -> None:
        self.model, self.optimizer, self.config, self.identity, self.course = model, optimizer, config, identity, course
        self.progress = RunProgress()
        self.best: Mapping[str, Tensor] = model.state_dict()
        self._last_write = time.monotonic()

    @property
    def plateau(self) -> Plateau:
        """Course of the schedule "plateau" after the finished epochs."""
        if self.course is not None:
            return Plateau(self.course)
        history = self.progress.history
        measures = [(epoch.top1, epoch.hops, -epoch.log_loss, epoch.average_precision) for epoch in history]
        patience = self.config.patience
        return Plateau() if patience is None else Plateau.after(measures, patience, self.config.most_epochs)

    @property
    def finished(self) -> bool:
        """Whether all epochs are done."""
        most = self.config.most_epochs
        return len(self.progress.history) >= min(most, self.plateau.end or most)

    def add(self, epoch: Epoch) -> None:
        """Add an epoch to the history; the weights of the best epoch, without validation of the last, are kept."""
        earlier = self.progress
        is_best = not earlier.history or self._is_better(epoch, earlier.best)
        if is_best:
            self.best = copy.deepcopy(self.model.state_dict())
        number = epoch.number if is_best else earlier.best_epoch
        self.progress = RunProgress([*earlier.history, epoch], number, epoch.seconds)

    def _is_better(self, epoch: Epoch, best: Epoch) -> bool:
        if self.config.patience is not None or math.isnan(epoch.average_precision):
            return self.config.patience is not None or not epoch.top1 <= best.top1
        return epoch.average_precision > best.average_precision

    def write_if_due(self, folder: Path) -> None:
        """Write a checkpoint if the last one is `SECONDS` old, and after the last epoch."""
        if self.finished or time.monotonic() - self._last_write >= SECONDS:
            self.write(folder)

    def write(self, folder: Path) -> None:
        """Write the log and a checkpoint."""
        storage.write(folder / LOG, self.progress.to_csv())
        best = {} if self.progress.best_epoch == len(self.progress.history) else self.best
        tensors = optimizer_tensors(self.optimizer)
        state = Checkpoint(self.model.state_dict(), best, tensors, self.progress.to_dict(), self.identity)
        write_checkpoint(folder / CHECKPOINT, state)
        self._last_write = time.monotonic()

    def restore(self, checkpoint: Checkpoint) -> None:
        """Restore the state of a checkpoint."""
        self.progress, self.best = RunProgress.from_dict(checkpoint.progress), checkpoint.best or checkpoint.model
        self.model.load_state_dict(checkpoint.model)
        restore_optimizer(self.optimizer, checkpoint.optimizer)
