"""Answers of a stored model for inputs without labels."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from hiercos.data import Inputs, UnlabelledInputs
from hiercos.decisions import class_probabilities, predicted_classes
from hiercos.engine.batches import VECTORS_AT_ONCE, Samples, VectorSamples
from hiercos.engine.encoders import FrozenEncoder, ReadConfig
from hiercos.engine.evaluation import class_scores
from hiercos.engine.model_folder import StoredModel
from hiercos.engine.rules import ROWS_AT_ONCE, decided_scores
from hiercos.errors import DataError
from hiercos.predictions import answer_rows


def model_samples(stored: StoredModel, inputs: Inputs, config: ReadConfig) -> Samples:
    """Inputs as the samples a model takes; one with a frozen backbone takes the features of that, too.

    Args:
        stored: the model.
        inputs: M of them.
        config: how inputs are read.

    Raises:
        DataError: if the inputs are of another kind or width than the model takes.
    """
    is_features = inputs.kind == "vectors" and isinstance(stored.encoder, FrozenEncoder)
    if inputs.kind != stored.kind and not is_features:
        raise DataError(f"this model takes {stored.kind}, got {inputs.kind}")
    if stored.encoder is not None and not is_features:
        return config.reported(stored.encoder.samples(inputs, config))
    features = torch.tensor(np.asarray(inputs))
    if features.shape[1] != stored.model.in_features:
        raise DataError(f"this model takes vectors of {stored.model.in_features} features, got {features.shape[1]}")
    return VectorSamples(features, config.batch_size or VECTORS_AT_ONCE)


def prediction_rows(
    stored: StoredModel,
    unlabelled: UnlabelledInputs,
    config: ReadConfig,
    *,
    top: int | None = None,
    confidence: bool = False,
) -> list[dict[str, Any]]:
    """The `answer_rows` of a model.

    The score is the one the classes are ranked by: higher is better, comparable between classes of one row, and no
    probability.

    Args:
        stored: the model.
        unlabelled: what to predict.
        config: how inputs are read.
        top: so many rows per input, with a column `rank`; by default one, without it.
        confidence: with the probability of the class at the model's temperature, whatever its rule.
    """
    batch = unlabelled.whole()
    scores = class_scores(config.fabric, stored.model, model_samples(stored, batch.inputs, config))
    decided = decided_scores(scores, stored)
    classes = best_classes(decided, top or 1)
    return answer_rows(
        batch,
        stored.model.taxonomy,
        classes.numpy(),
        decided.gather(1, classes).numpy(),
        ranked=top is not None,
        confidences=class_shares(scores, classes, stored.temperature).numpy() if confidence else None,
    )


def best_classes(scores: Tensor, count: int) -> Tensor:
    """The classes with the highest scores, the lower index among equals; (B, C) to (B, count), at most all C.

    Raises:
        ValueError: naming the first row with a score that is not a number.
    """
    first = predicted_classes(scores)[:, None]
    return first if count == 1 else scores.sort(dim=1, descending=True, stable=True).indices[:, :count]


def class_shares(scores: Tensor, classes: Tensor, temperature: float) -> Tensor:
    """The probabilities of some classes, shape (B, K), by the scores of all, shape (B, C)."""
    parts = zip(torch.split(scores, ROWS_AT_ONCE), torch.split(classes, ROWS_AT_ONCE), strict=True)
    return torch.cat([class_probabilities(part, temperature).gather(1, own) for part, own in parts])
