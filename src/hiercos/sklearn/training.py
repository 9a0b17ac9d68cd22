"""Training of the estimators on arrays: held-out calibration, default settings, and online training."""

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hiercos.decisions import HeldOutChains, Posterior, fit_temperature, held_out_chains
from hiercos.engine import (
    RunProgress,
    TrainConfig,
    TrainingCallback,
    class_scores,
    fit,
    grown_model,
    launched,
    make_optimizer,
    parameter_groups,
    random_state_kept,
    train_epoch,
)
from hiercos.methods import METHODS, Model
from hiercos.nn import Projection, scale_of
from hiercos.sklearn.validation import LabelledArrays, fitted_projection
from hiercos.taxonomy import IntArray, Taxonomy, nodes_of_labels, taxonomy_change

FEWEST_EPOCHS, MOST_EPOCHS = 5, 200
LOGIT_STEP = 2.5  # maximum change of a linear layer's logit in a step; best on 4 to 1,280 features
PRIOR, MOST_SHRINKAGE = 30, 0.03  # a step shrinks the weights by up to PRIOR / M; best on 100 to 10,000 samples
LEAST_HELD_OUT = 32  # samples; with fewer, top-1 and temperature are unreliable


@dataclass(frozen=True)
class Trained:
    """A trained model with its temperature.

    Attributes:
        model: trained model, on the CPU, with its projection of sparse samples.
        temperature: calibration temperature of the probabilities; 1 if nothing was held out.
        class_weights: factor of each class's probability, shape (C,), of a loaded model; None by default.
        held_out: posterior of the held-out samples and their nodes, shape (M,), for rules to be fitted on; None if
            nothing was held out.
        calibration: chains of the samples that were set aside for the targets of back-off; None if there are none.
    """

    model: Model
    temperature: float
    class_weights: Sequence[float] | None = None
    held_out: tuple[Posterior, IntArray] | None = None
    calibration: HeldOutChains | None = None


def train(
    data: LabelledArrays,
    taxonomy: Taxonomy,
    config: TrainConfig,
    *,
    held_out: float,
    set_aside: float = 0.0,
    most_features: int,
    device: str,
    start: Trained | None = None,
    callback: TrainingCallback | None = None,
) -> tuple[Trained, RunProgress]:
    """Train a model and calibrate it on held-out samples.

    The projection and the scale of the features are also fitted on the training samples only.

    Args:
        data: training and validation samples.
        taxonomy: taxonomy of the classes.
        config: training settings.
        held_out: share of the samples used to choose the epoch and the temperature; see `held_out_rows`.
        set_aside: share of the samples used for the targets of back-off alone.
        most_features: maximum number of features of sparse samples, see `fitted_projection`.
        device: name of the device in Lightning Fabric.
        start: earlier result to continue from, with its projection and scale; a new model by default.
        callback: progress callback; None for no reports.

    Returns:
        The trained model, and the history of its training.
    """
    data, reserved = _set_aside(data, set_aside, config.seed)
    aside = held_out_rows(data.labels, held_out, config.seed)
    learned = data.rows(~aside)
    raw_inputs = METHODS.traits(config.method).raw_inputs
    if start:
        projection = start.model.projection
    else:
        projection = None if raw_inputs else fitted_projection(learned.samples, most_features, config.seed)
    vectors = learned.vectors(projection, raw_inputs=raw_inputs)
    val = data.rows(aside).vectors(projection, raw_inputs=raw_inputs) if aside.any() else None
    with random_state_kept():
        model = start.model if start else fresh_model(taxonomy, vectors.features.shape[1], config, projection)
        fabric = launched(device)
        progress = fit(fabric, model, vectors, val, config, weights=learned.weight_tensor(), callback=callback)
        temperature, fitted_on, calibration = 1.0, None, None
        if val is not None:
            scores, known = class_scores(fabric, model, val), val.labels < taxonomy.num_classes
            temperature = _temperature(scores, val.labels)
            posterior = Posterior.from_scores(scores[known], taxonomy, temperature=temperature)
            fitted_on = (posterior, taxonomy.leaves[val.labels[known].numpy()])
        if reserved is not None:
            scores = class_scores(fabric, model, reserved.vectors(projection, raw_inputs=raw_inputs))
            posterior = Posterior.from_scores(scores, taxonomy, temperature=temperature)
            calibration = held_out_chains(posterior, nodes_of_labels(reserved.labels, taxonomy))
    model.cpu().eval()
    return Trained(model, temperature, None, fitted_on, calibration), progress


def _set_aside(data: LabelledArrays, share: float, seed: int) -> tuple[LabelledArrays, LabelledArrays | None]:
    """The samples to learn from, and a share of all drawn at random; None for a share of 0.

    Raises:
        ValueError: for a share below 0, or one that leaves no sample on either side.
    """
    if share == 0:
        return data, None
    chosen = np.random.default_rng([seed, 1]).random(len(data.labels)) < share
    if not 0 < share < 1 or chosen.all() or not chosen.any():
        raise ValueError(f"expected calibration_fraction from 0 to below 1 that leaves samples to learn, got {share}")
    return data.rows(~chosen), data.rows(chosen)


def _temperature(scores: Tensor, labels: Tensor) -> float:
    """Temperature fitted on the held-out samples labelled with a class; 1 without any."""
    known = labels < scores.shape[1]
    return fit_temperature(scores[known], labels[known]) if known.any() else 1.0


@dataclass(frozen=True)
class TrainingDefaults:
    """Training settings used where the user gives none.

    Attributes:
        learning_rate: peak of the learning rate.
        weight_decay: weight decay of AdamW; a step shrinks the weights by its product with the learning rate.
        steps: approximate number of steps.
    """

    learning_rate: float
    weight_decay: float
    steps: int


def linear_defaults(in_features: int, samples: int) -> TrainingDefaults:
    """Defaults for one linear layer on any number of standardised features.

    A step of AdamW changes each weight by about the learning rate, so a logit by up to F times as much. The decay
    falls with the number of samples, like the effect of a Gaussian prior on the weights.

    Args:
        in_features: number F of input features.
        samples: number M of training samples.

    Example:
        >>> linear_defaults(250, 10_000)
        TrainingDefaults(learning_rate=0.01, weight_decay=0.3, steps=300)
    """
    rate = LOGIT_STEP / in_features
    return TrainingDefaults(rate, min(PRIOR / samples, MOST_SHRINKAGE) / rate, steps=300)


def fresh_model(
    taxonomy: Taxonomy, in_features: int, config: TrainConfig, projection: Projection | None = None
) -> Model:
    """An untrained model whose weights depend only on the seed."""
    torch.manual_seed(config.seed)
    return Model(taxonomy, in_features, config.method, config.options, projection=projection)


def held_out_rows(labels: IntArray, share: float, seed: int) -> NDArray[np.bool_]:
    """Mask of the held-out samples: a stratified share of every class, never its only sample.

    Args:
        labels: label of each sample, shape (M,).
        share: share of the samples to hold out, from 0 to below 1.
        seed: random seed of the choice.

    Returns:
        Mask of shape (M,); all False if fewer than 32 samples would be held out.
    """
    if not 0 <= share < 1:
        raise ValueError(f"expected validation_fraction from 0 to below 1, got {share}")
    order = np.lexsort((np.random.default_rng(seed).random(len(labels)), labels))  # by class, shuffled within each
    chosen = np.diff(np.floor(share * np.arange(len(labels) + 1) + 0.5)) > 0  # at even intervals
    chosen &= np.diff(labels[order], prepend=-1) == 0  # the first of a class is never held out
    rows = np.zeros(len(labels), dtype=bool)
    rows[order[chosen]] = chosen.sum() >= LEAST_HELD_OUT
    return rows


def enough_epochs(samples: int, batch_size: int, steps: int) -> int:
    """Number of epochs for about the given number of steps, between 5 and 200.

    Example:
        >>> enough_epochs(9_000, 256, 300), enough_epochs(50, 256, 300), enough_epochs(1_000_000, 256, 300)
        (8, 200, 5)
    """
    return min(max(round(steps / math.ceil(samples / batch_size)), FEWEST_EPOCHS), MOST_EPOCHS)


class EpochLines:
    """Progress callback that prints a line per epoch to standard error, with the name of a committee's member."""

    def batch(self, epoch: int, done: int, total: int) -> None:
        """Ignore single batches."""

    def epoch(self, progress: RunProgress, config: TrainConfig) -> None:
        """Print the loss, and top-1 if samples were held out."""
        last = progress.history[-1]
        top1 = "" if math.isnan(last.top1) else f", top-1 {last.top1:.4f} on validation"
        member = f"{progress.member}: " * bool(progress.member)
        sys.stderr.write(f"{member}epoch {last.number}/{config.epochs}: loss {last.loss:.4f}{top1}\n")

    def close(self) -> None:
        """Do nothing."""


@dataclass
class Moments:
    """Running mean and variance of the features, for their standardisation.

    Attributes:
        count: number of samples seen.
        mean: mean of each feature, shape (F,), float64.
        variance: variance of each feature, shape (F,), float64.
        largest: largest magnitude of each feature, shape (F,), float64.
    """

    count: int
    mean: Tensor
    variance: Tensor
    largest: Tensor

    @classmethod
    def none(cls, in_features: int) -> "Moments":
        """Moments of no samples."""
        return cls(0, *(torch.zeros(in_features, dtype=torch.float64) for _ in range(3)))

    def add(self, features: Tensor) -> None:
        """Update with more samples, shape (M, F), M at least 1."""
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
        """Set the standardisation of a model from these moments."""
        model.standardize.mean.copy_(self.mean)
        model.standardize.scale.copy_(scale_of(self.variance.sqrt(), self.largest))


@dataclass
class OnlineTraining:
    """A model and its training state between two calls of `partial_fit`.

    Attributes:
        model: model in training, on the CPU.
        moments: running moments of the features; None to leave their scale unchanged.
        calls: number of calls so far.
        optimizer: state of the optimiser.
    """

    model: Model
    moments: Moments | None
    calls: int = 0
    optimizer: dict[str, Any] = field(default_factory=dict)

    def grown(self, taxonomy: Taxonomy, seed: int) -> "OnlineTraining":
        """The training of the model over a larger taxonomy, with a new state of the optimiser."""
        with random_state_kept():
            model = grown_model(self.model, taxonomy_change(self.model.taxonomy, taxonomy), seed)
        return OnlineTraining(model, self.moments, self.calls)

    def learn(self, data: LabelledArrays, config: TrainConfig, device: str) -> None:
        """Train for one pass over the samples, in batches of the configured size, at a constant learning rate."""
        fabric = launched(device)
        vectors = data.vectors(self.model.projection, raw_inputs=self.model.raw_inputs)
        if isinstance(vectors.features, Tensor):
            if self.moments is None:
                self.model.standardize.fit_unvaried(vectors.features)
            else:
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
