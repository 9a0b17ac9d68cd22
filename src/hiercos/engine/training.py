"""Training: one loop for every method, on one CPU, on GPUs, or on many nodes."""

from __future__ import annotations

import copy
import csv
import io
import math
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch import Tensor

from hiercos.engine.batches import LabelledSamples, epoch_batches
from hiercos.engine.checkpoint import (
    CHECKPOINT,
    Checkpoint,
    optimizer_tensors,
    read_checkpoint,
    restore_optimizer,
    write_checkpoint,
)
from hiercos.engine.config import TrainConfig
from hiercos.engine.model import Model
from hiercos.engine.optimization import learning_rate, make_optimizer, parameter_groups, set_learning_rate
from hiercos.engine.scoring import evaluate
from hiercos.files import write_atomically

if TYPE_CHECKING:
    from lightning_fabric import Fabric

LOG = "log.csv"
UNKNOWN = {"top1": math.nan, "hops": math.nan}  # where there is no validation data


class TrainingError(ValueError):
    """Training that cannot go on."""


@dataclass(frozen=True)
class Epoch:
    """What one epoch gave: its number from 1, the mean training loss, and top-1 and HOPS on validation, nan without."""

    number: int
    loss: float
    top1: float
    hops: float
    seconds: float


class TrainingCallback(Protocol):
    """Who is told how training goes: a progress display, a log, or nobody."""

    def batch(self, epoch: int, done: int, total: int) -> None:
        """One batch of an epoch is done, out of so many."""

    def epoch(self, progress: RunProgress, config: TrainConfig) -> None:
        """One epoch is done: the last of the history."""

    def close(self) -> None:
        """Training is over, however it ended."""


@dataclass
class RunProgress:
    """How far a run is: the part of its state that is not tensors."""

    history: list[Epoch] = field(default_factory=list)
    best_epoch: int = 0
    seconds: float = 0.0

    @property
    def best(self) -> Epoch:
        """The epoch with the best validation top-1, the first of equals; without validation, the last."""
        return self.history[self.best_epoch - 1]

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return asdict(self)

    def to_csv(self) -> str:
        """A row per epoch."""
        stream = io.StringIO()
        writer = csv.DictWriter(stream, [entry.name for entry in fields(Epoch)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(epoch) for epoch in self.history)
        return stream.getvalue()

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> RunProgress:
        """From JSON values."""
        return cls([Epoch(**epoch) for epoch in values["history"]], values["best_epoch"], values["seconds"])


def fit(
    fabric: Fabric,
    model: Model,
    train: LabelledSamples,
    val: LabelledSamples | None,
    config: TrainConfig,
    *,
    weights: Tensor | None = None,
    folder: Path | None = None,
    identity: Mapping[str, Any] | None = None,
    resume: bool = False,
    callback: TrainingCallback | None = None,
) -> RunProgress:
    """Train a model in place and leave it with the weights of its best epoch on validation (top-1).

    Every epoch seeds its own order and dropout, so a run resumed from the checkpoint of its last epoch ends with
    the same weights, bit for bit, as one that was never stopped (on a CPU).

    Args:
        fabric: where to run, launched.
        model: the model, on the CPU and freshly made.
        train: training data.
        val: validation data; without any, the weights of the last epoch stay.
        config: the settings.
        weights: how much each training sample counts, shape (M,), >= 0; all the same by default.
        folder: where to keep the state and the log after each epoch; nowhere by default.
        identity: JSON values that a checkpoint must agree in to be resumed (settings, data, taxonomy).
        resume: go on from the checkpoint in the folder, if there is one.
        callback: progress callback of the training; None for no reports.

    Returns:
        The history of the epochs.

    Raises:
        TrainingError: if there are fewer than two samples, or the loss is no longer finite.
        CheckpointError: if the checkpoint belongs to another run.
    """
    if len(train) < 2:
        raise TrainingError(f"expected at least 2 training samples, got {len(train)}")
    if config.standardize and model.backbone is None:
        (features,) = train.batches([torch.arange(len(train))])
        model.standardize.fit(features)
    state = RunState(model, make_optimizer(parameter_groups(model, config), config), identity or {})
    wrapped, optimizer = fabric.setup(model, state.optimizer)
    if resume and folder is not None and (folder / CHECKPOINT).exists():
        state.restore(read_checkpoint(folder / CHECKPOINT, state.identity))  # onto the device the model is on now
    train = train.to(fabric.device)
    try:
        while len(state.progress.history) < config.epochs:
            start = time.perf_counter()
            number = len(state.progress.history) + 1
            loss = train_epoch(
                fabric, wrapped, optimizer, train, config, number=number, weights=weights, callback=callback
            )
            metrics = UNKNOWN if val is None else evaluate(fabric, model, val)
            seconds = state.progress.seconds + time.perf_counter() - start
            state.add(Epoch(number, loss, metrics["top1"], metrics["hops"], seconds))
            if folder is not None and fabric.is_global_zero:
                state.write(folder)
            if callback:
                callback.epoch(state.progress, config)
    finally:
        if callback:
            callback.close()
    model.load_state_dict(state.best)
    return state.progress


class RunState:
    """What changes while a run goes on: weights, the best of them, the optimiser, the history."""

    def __init__(self, model: Model, optimizer: torch.optim.Optimizer, identity: Mapping[str, Any]) -> None:
        self.model, self.optimizer, self.identity = model, optimizer, identity
        self.progress = RunProgress()
        self.best: Mapping[str, Tensor] = model.state_dict()

    def add(self, epoch: Epoch) -> None:
        """Enter an epoch into the history; the weights of the best so far are kept, without validation the last."""
        is_best = not self.progress.history or not epoch.top1 <= self.progress.best.top1
        self.progress.history.append(epoch)
        self.progress.seconds = epoch.seconds
        if is_best:
            self.progress.best_epoch = epoch.number
            self.best = copy.deepcopy(self.model.state_dict())

    def write(self, folder: Path) -> None:
        """Write the log and the checkpoint."""
        write_atomically(folder / LOG, self.progress.to_csv())
        tensors = optimizer_tensors(self.optimizer)
        state = Checkpoint(self.model.state_dict(), self.best, tensors, self.progress.to_dict(), self.identity)
        write_checkpoint(folder / CHECKPOINT, state)

    def restore(self, checkpoint: Checkpoint) -> None:
        """Take the state of a checkpoint."""
        self.progress, self.best = RunProgress.from_dict(checkpoint.progress), checkpoint.best
        self.model.load_state_dict(checkpoint.model)
        restore_optimizer(self.optimizer, checkpoint.optimizer)


def train_epoch(
    fabric: Fabric,
    model: Any,
    optimizer: Any,
    train: LabelledSamples,
    config: TrainConfig,
    *,
    number: int,
    weights: Tensor | None = None,
    callback: TrainingCallback | None = None,
) -> float:
    """One pass over the training data.

    Args:
        fabric: where to run, launched.
        model: what its `setup` made of a model.
        optimizer: and of the optimiser.
        train: training data, on its device.
        config: the settings.
        number: of the epoch, from 1.
        weights: how much each sample counts, shape (M,); a batch counts as much as its samples together.
        callback: progress callback of the training; None for no reports.

    Returns:
        The mean loss of the batches.
    """
    seed = epoch_seed(config.seed, number)
    torch.manual_seed(seed + fabric.global_rank)
    batches = epoch_batches(
        len(train), config.batch_size, seed=seed, rank=fabric.global_rank, world_size=fabric.world_size
    )
    model.train()
    total = torch.zeros((), device=fabric.device)
    stream = train.batches([batch.rows for batch in batches], seed=seed + fabric.global_rank)
    for index, (batch, inputs) in enumerate(zip(batches, stream, strict=True)):
        step = (number - 1) * len(batches) + index
        set_learning_rate(optimizer, learning_rate(config, step, config.epochs * len(batches)))
        labels = train.labels[batch.rows.to(fabric.device)]
        own = None if weights is None else fabric.to_device(weights[batch.rows])
        share = batch.weight if weights is None else batch.weight * float(weights[batch.rows].mean() / weights.mean())
        optimizer.zero_grad(set_to_none=True)
        loss = share * model.module.loss(model(fabric.to_device(inputs)), labels, own)
        fabric.backward(loss)
        if config.gradient_clip is not None:
            fabric.clip_gradients(model, optimizer, max_norm=config.gradient_clip)
        optimizer.step()
        total += loss.detach()
        if callback:
            callback.batch(number, index + 1, len(batches))
    reduced = fabric.all_reduce(total / len(batches), reduce_op="mean")
    mean = float(torch.as_tensor(reduced))
    if not math.isfinite(mean):
        raise TrainingError(f"epoch {number}: the loss is {mean}; try a smaller learning rate or weight decay")
    return mean


def epoch_seed(seed: int, epoch: int) -> int:
    """A seed of its own for every epoch of every run."""
    return (seed * 1_000_003 + epoch * 7919) % 2**31
