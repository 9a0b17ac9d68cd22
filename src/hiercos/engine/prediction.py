"""Posteriors of a stored model for inputs without labels, streamed."""

from collections.abc import Iterator

import torch

from hiercos.data import InputBatch, Inputs, UnlabelledInputs, kind_of
from hiercos.decisions import Posterior
from hiercos.engine.batches import VECTORS_AT_ONCE, LabelledVectors, Samples
from hiercos.engine.encoders import ReadConfig
from hiercos.engine.evaluation import class_score_batches
from hiercos.engine.model_folder import StoredModel
from hiercos.errors import DataError
from hiercos.taxonomy import IntArray

VECTORS_READ, RAW_READ = 4096, 256  # inputs read at a time: vectors, and images or texts


def model_samples(stored: StoredModel, inputs: Inputs, config: ReadConfig, labels: IntArray | None = None) -> Samples:
    """Inputs as the samples a model takes.

    Args:
        stored: the model.
        inputs: M of them.
        config: how inputs are read.
        labels: their classes, shape (M,), where they are known.

    Raises:
        DataError: if the inputs are of another kind or width than the model takes.
    """
    known = torch.full((len(inputs),), -1) if labels is None else torch.tensor(labels)
    if kind_of(inputs) != stored.kind:
        raise DataError(f"this model takes {stored.kind}, got {kind_of(inputs)}")
    if stored.encoder is not None:
        return config.reported(stored.encoder.samples(inputs, known, config))
    features = torch.tensor(inputs)
    if features.shape[1] != stored.model.in_features:
        raise DataError(f"this model takes vectors of {stored.model.in_features} features, got {features.shape[1]}")
    return LabelledVectors(features, known, config.batch_size or VECTORS_AT_ONCE)


def posteriors(stored: StoredModel, samples: Samples, config: ReadConfig) -> Iterator[Posterior]:
    """The calibrated probabilities of samples, batch by batch in their order."""
    for scores in class_score_batches(config.fabric, stored.model, samples):
        yield stored.posterior(scores.numpy())


def posterior_batches(
    stored: StoredModel, unlabelled: UnlabelledInputs, config: ReadConfig
) -> Iterator[tuple[InputBatch, Posterior]]:
    """The inputs batch by batch, each with its calibrated probabilities; no more than a batch is in memory.

    Raises:
        DataError: if the inputs are of another kind or width than the model takes.
    """
    for batch in unlabelled.batches(VECTORS_READ if stored.kind == "vectors" else RAW_READ):
        samples = model_samples(stored, batch.inputs, config)
        scores = torch.cat(list(class_score_batches(config.fabric, stored.model, samples)))
        yield batch, stored.posterior(scores.numpy())
