"""From arrays to a trained model: a part held out, the others trained on, a temperature from the part held out."""

import math
import sys
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from hiercos.decisions import fit_temperature
from hiercos.engine import Model, RunProgress, TrainConfig, Watcher, array_scores, fit, launched, random_state_kept
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
    watcher: Watcher | None = None,
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
        watcher: is told how it goes.

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
        progress = fit(fabric, model, vectors, val, config, weights=learned.weight_tensor(), watcher=watcher)
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
