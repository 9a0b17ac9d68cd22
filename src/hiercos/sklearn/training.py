"""From arrays to a trained model: a part held out, the others trained on, a temperature from the part held out."""

import math
import sys
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hiercos.decisions import fit_temperature
from hiercos.engine import (
    CONSTANT,
    Model,
    RunProgress,
    TrainConfig,
    TrainingCallback,
    array_scores,
    fit,
    launched,
    make_optimizer,
    parameter_groups,
    random_state_kept,
    train_epoch,
)
from hiercos.sklearn.samples import Labelled, Projection
from hiercos.taxonomy import IntArray, Taxonomy

FEWEST_EPOCHS, MOST_EPOCHS = 5, 200
LOGIT_STEP = 2.5  # the most a step may move a logit of a linear layer; best on 4 to 1,280 features
PRIOR, MOST_SHRINKAGE = 30, 0.03  # a step takes up to PRIOR / M off its weights; best on 100 to 10,000 samples
LEAST_HELD_OUT = 32  # samples; of fewer, top-1 and temperature are chance


@dataclass(frozen=True)
class Trained:
    """A model with what stands before and behind it.

    Attributes:
        model: on the CPU.
        projection: makes its features.
        temperature: of its probabilities; 1 where nothing was held out.
    """

    model: Model
    projection: Projection
    temperature: float


def train(
    data: Labelled,
    taxonomy: Taxonomy,
    config: TrainConfig,
    *,
    held_out: float,
    most_features: int,
    device: str,
    start: Trained | None = None,
    callback: TrainingCallback | None = None,
) -> tuple[Trained, RunProgress]:
    """Train a model, and calibrate it on a part of the data that it did not learn from.

    The projection and the scale of the features come from the part that is learned from, too.

    Args:
        data: all there is.
        taxonomy: the tree.
        config: the settings.
        held_out: share of the samples that choose the epoch and the temperature; see `held_out_rows`.
        most_features: see `Projection`.
        device: as Lightning Fabric names it.
        start: an earlier result to go on from, with its projection and scale; a fresh model by default.
        callback: progress callback of the training; None for no reports.

    Returns:
        The model, and how training went.
    """
    aside = held_out_rows(data.labels, held_out, config.seed)
    learned = data.rows(~aside)
    projection = start.projection if start else Projection.fit(learned.samples, most_features, config.seed)
    vectors = learned.vectors(projection)
    val = data.rows(aside).vectors(projection) if aside.any() else None
    with random_state_kept():
        model = start.model if start else fresh_model(taxonomy, vectors.features.shape[1], config)
        fabric = launched(device)
        progress = fit(fabric, model, vectors, val, config, weights=learned.weight_tensor(), callback=callback)
    model.cpu().eval()
    temperature = 1.0
    if val is not None:
        temperature = fit_temperature(array_scores(model, val.features.numpy(), device), val.labels)
    return Trained(model, projection, temperature), progress


@dataclass(frozen=True)
class Pace:
    """How fast to learn.

    Attributes:
        learning_rate: at its peak.
        weight_decay: of AdamW, so a step takes the product of both off the weights.
        steps: about how many.
    """

    learning_rate: float
    weight_decay: float
    steps: int


def linear_pace(in_features: int, samples: int) -> Pace:
    """For one linear layer on standardised features, however many.

    A step of AdamW moves each weight by about the learning rate, so a logit by up to F times as much. The weights decay
    the less, the more samples there are, as if a prior held them near 0.

    Args:
        in_features: F.
        samples: M.

    Example:
        >>> linear_pace(250, 10_000)
        Pace(learning_rate=0.01, weight_decay=0.3, steps=300)
    """
    rate = LOGIT_STEP / in_features
    return Pace(rate, min(PRIOR / samples, MOST_SHRINKAGE) / rate, steps=300)


def fresh_model(taxonomy: Taxonomy, in_features: int, config: TrainConfig) -> Model:
    """A model whose weights depend on the seed alone."""
    torch.manual_seed(config.seed)
    return Model(taxonomy, in_features, config.method, config.options)


def held_out_rows(labels: IntArray, share: float, seed: int) -> NDArray[np.bool_]:
    """Which samples are not learned from: an even share of every class, never the only one of a class.

    Args:
        labels: shape (M,).
        share: from 0 to below 1.
        seed: of the choice.

    Returns:
        Shape (M,); all False where fewer than 32 samples would be held out.
    """
    if not 0 <= share < 1:
        raise ValueError(f"expected validation_fraction from 0 to below 1, got {share}")
    order = np.lexsort((np.random.default_rng(seed).random(len(labels)), labels))  # by class, at random within
    chosen = np.diff(np.floor(share * np.arange(len(labels) + 1) + 0.5)) > 0  # evenly among them
    chosen &= np.diff(labels[order], prepend=-1) == 0  # the first of a class stays
    rows = np.zeros(len(labels), dtype=bool)
    rows[order[chosen]] = chosen.sum() >= LEAST_HELD_OUT
    return rows


def enough_epochs(samples: int, batch_size: int, steps: int) -> int:
    """Passes over the data that make some number of steps; from 5 to 200.

    Example:
        >>> enough_epochs(9_000, 256, 300), enough_epochs(50, 256, 300), enough_epochs(1_000_000, 256, 300)
        (8, 200, 5)
    """
    return min(max(round(steps / math.ceil(samples / batch_size)), FEWEST_EPOCHS), MOST_EPOCHS)


class EpochLines:
    """Tells of every epoch in a line on standard error."""

    def batch(self, epoch: int, done: int, total: int) -> None:
        """Says nothing of single batches."""

    def epoch(self, progress: RunProgress, config: TrainConfig) -> None:
        """A line with the loss, and top-1 where something was held out."""
        last = progress.history[-1]
        top1 = "" if math.isnan(last.top1) else f", top-1 {last.top1:.4f} on validation"
        sys.stderr.write(f"epoch {last.number}/{config.epochs}: loss {last.loss:.4f}{top1}\n")

    def close(self) -> None:
        """Nothing is left to say."""


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
