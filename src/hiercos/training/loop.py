"""Training loop for all methods, on one CPU, on GPUs, or on many nodes."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch import Tensor

from hiercos.decisions import fit_temperature
from hiercos.encoders import LabelledSamples, epoch_batches
from hiercos.methods import METHODS, Committee, Model
from hiercos.metrics import AVERAGE_PRECISION
from hiercos.model import evaluate_scores, log_probabilities
from hiercos.training.checkpoint import Epoch, RunProgress, RunState, find_checkpoint
from hiercos.training.schedule import Plateau, learning_rate, make_optimizer, parameter_groups, set_learning_rate
from hiercos.training.settings import Settings, enough_epochs

if TYPE_CHECKING:
    from lightning_fabric import Fabric

UNKNOWN = {"top1": math.nan, "hops": math.nan, "log_loss": math.nan}  # metrics without validation data
MEASURES = (*UNKNOWN, AVERAGE_PRECISION)  # metrics of an epoch; the last one only for samples with several labels


class TrainingError(ValueError):
    """Training that cannot continue."""


class TrainingCallback(Protocol):
    """Training callback, such as a progress display or a log."""

    def batch(self, epoch: int, done: int, total: int) -> None:
        """Report that `done` of `total` batches of an epoch are finished."""

    def epoch(self, progress: RunProgress, config: Settings) -> None:
        """Report a finished epoch, the last of the history."""

    def close(self) -> None:
        """End the training, whether it finished or failed."""


def fit(
    fabric: Fabric,
    model: Model,
    train: LabelledSamples,
    val: LabelledSamples | None,
    config: Settings,
    *,
    weights: Tensor | None = None,
    chosen: Model | None = None,
    course: int | None = None,
    folder: Path | None = None,
    identity: Mapping[str, Any] | None = None,
    resume: bool = False,
    callback: TrainingCallback | None = None,
) -> RunProgress:
    """Train a model in place; it ends with the weights of its best epoch.

    With `patience` that is the last epoch, in which the rate has fallen to 0 (see `Plateau`). For a given number of
    epochs it is the one with the highest top-1 on validation, as published; where samples have several labels, with the
    highest average precision.

    Every epoch seeds its own order and dropout, so on a CPU a resumed run ends with the same weights, bit for bit, as
    one that was never interrupted.

    Args:
        fabric: launched Fabric with the device and precision.
        model: new model on the CPU.
        train: M training samples.
        val: validation samples; None to keep the weights of the last epoch. Then patience needs a `course`; without
            one, about 300 steps are made at a cosine rate.
        config: training settings.
        weights: weight of each training sample, shape (M,), >= 0; equal weights by default.
        chosen: model whose solver has chosen the settings that are used again; None to choose them.
        course: number of epochs at the constant rate of an earlier training with patience, to follow without `val`.
        folder: folder for the checkpoint and the log (see `RunState.write_if_due`); None for neither.
        identity: settings, data and taxonomy as JSON values, which must equal those of a checkpoint to resume from it.
        resume: whether to resume from the checkpoint in the folder, if there is one.
        callback: progress callback of the training; None for no reports.

    Returns:
        Progress of the run with the history of its epochs.

    Raises:
        MethodError: if labels are inner nodes and the method cannot learn from them.
        TrainingError: if there are fewer than two samples, or the loss is no longer finite.
        CheckpointError: if the checkpoint belongs to another run.
    """
    config = config.resolved(len(train), trains_backbone=model.backbone is not None)
    METHODS.check_label_sets(model.method, train.label_sets)
    METHODS.check_labels(model.method, train.labels, model.taxonomy)
    if len(train) < 2:
        raise TrainingError(f"expected at least 2 training samples, got {len(train)}")
    if model.backbone is None and not model.raw_inputs:
        set_scale(model, train, config)
    model.prepare(train.labels, weights)
    if model.solver is not None or isinstance(model.head, Committee):
        from hiercos.training.committee.runs import MemberRuns  # late: members are trained by this function
        from hiercos.training.solve import solve

        runs = MemberRuns(fabric, callback, config, folder, identity or {}, resume)
        with _closing(callback):
            return solve(model, train, val, runs, weights=weights, chosen=chosen)
    if val is None and config.patience is not None and course is None:
        epochs = enough_epochs(len(train), config.batch_size or 1)
        config = replace(config, epochs=epochs, patience=None, max_epochs=None, schedule="cosine")
    optimizer = make_optimizer(parameter_groups(model, config), config)
    state = RunState(model, optimizer, config, identity or {}, None if val is not None else course)
    wrapped, optimizer = fabric.setup(model, state.optimizer)
    if resume and folder is not None and (earlier := find_checkpoint(folder, state.identity)):
        state.restore(earlier)  # onto the device of the model
    step = partial(train_epoch, fabric, wrapped, optimizer, train.to(fabric.device), config)
    own = folder if fabric.is_global_zero else None  # one process writes
    with _closing(callback):
        while not state.finished:
            start = time.perf_counter()
            number = len(state.progress.history) + 1
            loss = step(number=number, plateau=state.plateau, weights=weights, callback=callback)
            check_weights(model, number)
            metrics = UNKNOWN if val is None else validate(fabric, model, val)
            seconds = state.progress.seconds + time.perf_counter() - start
            measured = {name: metrics[name] for name in MEASURES if name in metrics}
            state.add(Epoch(number=number, loss=loss, seconds=seconds, **measured))
            if own is not None:
                state.write_if_due(own)
            if callback:
                callback.epoch(state.progress, config)
    model.load_state_dict(state.best)
    model.course = state.plateau.constant
    return state.progress


def _closing(callback: TrainingCallback | None) -> AbstractContextManager[object]:
    """Context that closes a callback at its end, if there is one."""
    return nullcontext() if callback is None else closing(callback)


def validate(fabric: Fabric, model: Model, val: LabelledSamples) -> dict[str, float]:
    """Default metrics on validation after an epoch, with the log-loss at the best temperature of the classes."""
    from hiercos.metrics.functional import log_loss

    found = evaluate_scores(fabric, model, val)
    labels = val.labels.cpu()
    known = labels < model.taxonomy.num_classes
    scores = torch.from_numpy(found.scores.of_probabilities)
    temperature = fit_temperature(scores[known], labels[known]) if known.any() else 1.0
    losses = log_loss(log_probabilities(scores, temperature), labels, model.taxonomy)  # (M,), nan for the root
    return {**found.metrics, "log_loss": float(losses.nanmean())}


def train_epoch(
    fabric: Fabric,
    model: Any,
    optimizer: Any,
    train: LabelledSamples,
    config: Settings,
    *,
    number: int,
    plateau: Plateau | None = None,
    weights: Tensor | None = None,
    callback: TrainingCallback | None = None,
) -> float:
    """Train for one epoch.

    Args:
        fabric: launched Fabric with the device and precision.
        model: model as returned by `fabric.setup`.
        optimizer: optimiser as returned by `fabric.setup`.
        train: M training samples on the device of the fabric.
        config: training settings.
        number: number of the epoch, from 1.
        plateau: course of the schedule "plateau" known so far; None for other schedules.
        weights: weight of each sample, shape (M,), equal by default; a batch has the total weight of its samples.
        callback: progress callback of the training; None for no reports.

    Returns:
        Mean loss of the batches.
    """
    seed = epoch_seed(config.seed, number)
    torch.manual_seed(seed + fabric.global_rank)
    batches = epoch_batches(
        len(train), config.batch_size or 1, seed=seed, rank=fabric.global_rank, world_size=fabric.world_size
    )
    model.train()
    losses: list[Tensor] = []
    targets = train.labels if train.label_sets is None else train.label_sets
    stream = train.batches([batch.rows for batch in batches], seed=seed + fabric.global_rank)
    for index, (batch, inputs) in enumerate(zip(batches, stream, strict=True)):
        step = (number - 1) * len(batches) + index
        rate = learning_rate(config, step, config.most_epochs * len(batches), plateau=plateau)
        set_learning_rate(optimizer, rate)
        labels = targets[batch.rows.to(fabric.device)]
        own = None if weights is None else fabric.to_device(weights[batch.rows])
        share = batch.weight if weights is None else batch.weight * float(weights[batch.rows].mean() / weights.mean())
        optimizer.zero_grad(set_to_none=True)
        loss = share * model.module.loss(model(fabric.to_device(inputs)), labels, own)
        fabric.backward(loss)
        if config.gradient_clip is not None:
            fabric.clip_gradients(model, optimizer, max_norm=config.gradient_clip)
        optimizer.step()
        losses.append(loss.detach())
        if callback:
            callback.batch(number, index + 1, len(batches))
    return _mean_loss(fabric, torch.stack(losses), number)


def _mean_loss(fabric: Fabric, losses: Tensor, number: int) -> float:
    """Mean over batches and processes; a `TrainingError` with the first batch whose loss is not finite."""
    total = torch.zeros((), device=losses.device)
    for loss in losses:
        total += loss  # one after the other, as in earlier versions: the sum has the same bits
    mean = float(torch.as_tensor(fabric.all_reduce(total / len(losses), reduce_op="mean")))
    if math.isfinite(mean):
        return mean
    wrong = (~losses.isfinite()).nonzero().flatten().tolist()
    place = f" in batch {wrong[0] + 1} of {len(losses)}" if wrong else ""
    found = float(losses[wrong[0]]) if wrong else mean
    raise TrainingError(f"epoch {number}: the loss is {found}{place}; try a smaller learning rate or weight decay")


def set_scale(model: Model, train: LabelledSamples, config: Settings) -> None:
    """Set the scale of the features; a `TrainingError` if they are so large that it overflows."""
    (features,) = train.batches([torch.arange(len(train))])
    scaling = model.standardize
    (scaling.fit if config.standardize else scaling.fit_unvaried)(features)
    wrong = (~(scaling.mean.isfinite() & scaling.scale.isfinite())).nonzero().flatten().tolist()
    if wrong:
        raise TrainingError(
            f"feature {wrong[0] + 1} (column {wrong[0]}) has values near the limit of float32 (3.4e38): "
            "its mean or deviation overflows; divide the features by a constant"
        )


def check_weights(model: Model, epoch: int) -> None:
    """Raise a `TrainingError` if a weight overflowed to infinity or became NaN, with its name."""
    for name, tensor in model.state_dict().items():
        if tensor.is_floating_point() and not bool(tensor.isfinite().all()):
            raise TrainingError(f"epoch {epoch}: the weights {name} are no longer finite; try a smaller learning rate")


def epoch_seed(seed: int, epoch: int) -> int:
    """Seed of an epoch, different for every epoch of a run."""
    return (seed * 1_000_003 + epoch * 7919) % 2**31
