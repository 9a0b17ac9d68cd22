"""A model that learns from one batch of samples after another, as `partial_fit` brings them."""

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from hiercos.engine import (
    CONSTANT,
    Model,
    TrainConfig,
    launched,
    make_optimizer,
    parameter_groups,
    random_state_kept,
    train_epoch,
)
from hiercos.sklearn.samples import Labelled, Projection


@dataclass
class Moments:
    """Mean and variance of all features seen so far, to scale them by.

    Attributes:
        count: samples seen.
        mean: shape (F,), float64.
        variance: shape (F,), float64.
        largest: magnitude of each feature, shape (F,), float64.
    """

    count: int
    mean: Tensor
    variance: Tensor
    largest: Tensor

    @classmethod
    def none(cls, in_features: int) -> "Moments":
        """Of no samples."""
        return cls(0, *(torch.zeros(in_features, dtype=torch.float64) for _ in range(3)))

    def add(self, features: Tensor) -> None:
        """Count more samples, shape (M, F), M at least 1."""
        new = features.double()
        total = self.count + len(new)
        old_share, new_share = self.count / total, len(new) / total
        distance = new.mean(dim=0) - self.mean
        within = old_share * self.variance + new_share * new.var(dim=0, correction=0)
        self.variance = within + old_share * new_share * distance.square()
        self.mean = self.mean + new_share * distance
        self.largest = self.largest.maximum(new.abs().amax(dim=0))
        self.count = total

    def scale(self, model: Model) -> None:
        """Let a model scale its features by these moments."""
        deviation = self.variance.sqrt()
        model.standardize.mean.copy_(self.mean)
        model.standardize.scale.copy_(deviation.where(deviation > CONSTANT * self.largest, 1))


@dataclass
class Stream:
    """A model, and what its training has to remember between two batches.

    Attributes:
        model: on the CPU.
        projection: makes its features.
        moments: of the features, where they are still being counted; None to leave their scale alone.
        calls: batches learned from.
        optimizer: the state of the optimiser.
    """

    model: Model
    projection: Projection
    moments: Moments | None
    calls: int = 0
    optimizer: dict[str, Any] = field(default_factory=dict)

    def learn(self, data: Labelled, config: TrainConfig, device: str) -> None:
        """One pass over a batch, which is split as the settings say, at a constant learning rate."""
        fabric, vectors = launched(device), data.vectors(self.projection)
        if self.moments is not None:
            self.moments.add(vectors.features)
            self.moments.scale(self.model)
        self.calls += 1
        optimizer = make_optimizer(parameter_groups(self.model, config), config)
        if self.optimizer:
            optimizer.load_state_dict(self.optimizer)
        with random_state_kept():
            model, wrapped = fabric.setup(self.model, optimizer)
            batch = vectors.to(fabric.device)
            train_epoch(fabric, model, wrapped, batch, config, number=self.calls, weights=data.weight_tensor())
        self.optimizer = optimizer.state_dict()
        self.model.cpu().eval()
