"""Trainings of the members of a committee, one after the other, with the settings of one run."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from hiercos.encoders import LabelledVectors
from hiercos.methods import LabelledFeatures, Model
from hiercos.records import MEMBERS
from hiercos.training.loop import fit
from hiercos.training.settings import LEAST_STEPS, Settings

if TYPE_CHECKING:
    from lightning_fabric import Fabric


@dataclass
class MemberRuns:
    """Trains members by gradient steps, one after the other, with the settings of the run."""

    fabric: Fabric  # launched Fabric of the run
    callback: Any  # progress callback of the run; None for no reports
    config: Settings  # training settings of the run
    folder: Path | None  # folder of the run; members have their checkpoints in a subfolder. None for no checkpoints
    identity: Mapping[str, Any]  # settings, data and taxonomy of the run, for the checkpoints
    resume: bool  # whether to resume members from their checkpoints
    finished: int = 0  # number of members that are trained
    earlier_seconds: float = 0.0  # time that processes before this one spent on the members, from their checkpoints

    def train(
        self,
        member: Model,
        train: LabelledFeatures,
        val: LabelledFeatures | None,
        *,
        name: str,
        epochs: int | None = None,
        course: int | None = None,
    ) -> None:
        """Train a member in place; its `course` is set.

        Args:
            member: model with its initial weights.
            train: samples to learn from.
            val: samples to stop by; None to train for a fixed number of epochs and keep the weights of the last one.
            name: name of the member in the progress of the training, such as "member 2 of 6 (hier-cos), model 1 of 3".
            epochs: number of epochs without `val` in a run with patience, whose rate is then cosine; more on few
                samples, but at most the maximum of the run. A run with a given number of epochs ignores it.
            course: number of epochs at the constant rate of an earlier training with patience, to follow without `val`.
        """
        number = self.finished + 1
        config = replace(self.config, method=member.method, options=member.options, seed=self.config.seed + number)
        if epochs is not None and config.patience is not None:
            enough = math.ceil(LEAST_STEPS / math.ceil(len(train) / (config.batch_size or 1)))
            epochs = min(max(epochs, enough), config.most_epochs)
            config = replace(config, epochs=epochs, patience=None, max_epochs=None, schedule="cosine")
        folder = None if self.folder is None else self.folder / MEMBERS / str(number)
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
        start = time.perf_counter()
        progress = fit(
            self.fabric,
            member,
            _vectors(train),
            None if val is None else _vectors(val),
            config,
            course=course,
            weights=None if train.weights is None else torch.as_tensor(train.weights),
            folder=folder,
            identity={**self.identity, "member": [number, member.method, dict(member.options)]},
            resume=self.resume,
            callback=None if self.callback is None else MemberCallback(self.callback, name),
        )
        self.earlier_seconds += max(0.0, progress.seconds - (time.perf_counter() - start))
        self.finished = number
        member.cpu()


@dataclass(frozen=True)
class MemberCallback:
    """Progress callback of an inner model: the display of the run, which stays open between the models."""

    whole: Any  # progress callback of the run
    name: str  # name of the inner model

    def batch(self, epoch: int, done: int, total: int) -> None:
        """See `TrainingCallback`."""
        self.whole.batch(epoch, done, total)

    def epoch(self, progress: Any, config: Settings) -> None:
        """See `TrainingCallback`; the name of a model within this one follows after a comma."""
        name = ", ".join(filter(None, [self.name, progress.member]))
        self.whole.epoch(replace(progress, member=name), config)

    def close(self) -> None:
        """Do nothing: the run closes its display."""


def _vectors(data: LabelledFeatures) -> LabelledVectors:
    features = torch.as_tensor(data.features) if isinstance(data.features, np.ndarray) else data.features
    return LabelledVectors(features, torch.as_tensor(data.labels))
