"""Training by a method's own solver, which finds the weights from all features and labels at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from hiercos.engine.batches import LabelledSamples, LabelledVectors
from hiercos.engine.config import TrainConfig
from hiercos.methods import LabelledFeatures, Model, Solved

if TYPE_CHECKING:
    from lightning_fabric import Fabric

MEMBERS = "members"  # folder of the unfinished members of a run

Fit = Callable[..., Any]


def solve_model(
    fit: Fit,
    fabric: Fabric,
    model: Model,
    train: LabelledVectors,
    val: LabelledVectors | None,
    config: TrainConfig,
    *,
    weights: Tensor | None = None,
    folder: Path | None = None,
    identity: Mapping[str, Any] | None = None,
    resume: bool = False,
    callback: Any = None,
) -> Solved:
    """Find the weights of a model with its solver; inner models are trained by `fit` with the same settings.

    Args:
        fit: `hiercos.engine.fit`.
        fabric: launched Fabric with the device and precision.
        model: new model on the CPU.
        train: training samples.
        val: validation samples; None if there are none.
        config: training settings.
        weights: weight of each training sample, shape (M,); equal weights by default.
        folder: folder of the run; its inner models have their checkpoints in a subfolder. None for no checkpoints.
        identity: settings, data and taxonomy of the run, for the checkpoints.
        resume: whether to resume inner models from their checkpoints.
        callback: progress callback of the inner models.
    """
    trained = 0

    def train_member(member: Model, learned: LabelledFeatures, held_out: LabelledFeatures) -> None:
        nonlocal trained
        trained += 1
        settings = replace(config, method=member.method, options=member.options, seed=config.seed + trained)
        fit(
            fabric,
            member,
            _vectors(learned),
            _vectors(held_out),
            settings,
            weights=None if learned.weights is None else torch.as_tensor(learned.weights),
            folder=None if folder is None else _made(folder / MEMBERS / str(trained)),
            identity={**(identity or {}), "member": [trained, member.method, dict(member.options)]},
            resume=resume,
            callback=callback,
        )
        member.cpu()

    given = None if weights is None else weights.numpy()
    held_out = None if val is None else _features(val)
    return model.solve(_features(train, given), held_out, seed=config.seed, train_member=train_member)


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _features(samples: LabelledVectors, weights: Any = None) -> LabelledFeatures:
    features = samples.features
    array = features.cpu().numpy() if isinstance(features, Tensor) else features
    return LabelledFeatures(array, samples.labels.cpu().numpy(), weights)


def _vectors(data: LabelledFeatures) -> LabelledVectors:
    features = torch.as_tensor(data.features) if isinstance(data.features, np.ndarray) else data.features
    return LabelledVectors(features, torch.as_tensor(data.labels))
