"""Labels of training data that the model contradicts, each judged by a model that has not learned from its row."""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from torch import Tensor

from hiercos.data import Dataset, as_inputs
from hiercos.encoders import FineTunedEncoder, ReadConfig, TfidfEncoder
from hiercos.methods import folds
from hiercos.model import Classifier, ModelError
from hiercos.training import Settings, train

FOLDS = 5


class Suspect(NamedTuple):
    """A row whose label is contradicted."""

    row: int  # index of the row
    label: int  # node of its label
    answer: int  # node of the likeliest class
    of_label: float  # probability of the label
    of_answer: float  # probability of the likeliest class


def suspects(
    stored: Classifier, dataset: Dataset, config: dict[str, Any], rows: int, reading: ReadConfig | None = None
) -> list[Suspect]:
    """The most contradicted labels, the worst first: those whose model gives them the least probability.

    Each fold of the rows that are not test is judged by a model of the same settings that learned from the others, on
    the features of the same backbone, if there is one.
    """
    if isinstance(stored.encoder, FineTunedEncoder):
        raise ModelError("a fine-tuned backbone has learned the labels: expected a model with frozen features")
    data = replace(dataset, purpose="train")
    if not isinstance(stored.encoder, TfidfEncoder | None):
        features = stored.features(dataset.inputs, reading)
        data = replace(
            data, inputs=as_inputs(features.numpy() if isinstance(features, Tensor) else features, "vectors")
        )
    settings = replace(Settings(**{**config, "memory": 0, "targets": False}), refit=False)
    learned = np.flatnonzero((data.split != "test") & (data.nodes >= 0))
    found: list[Suspect] = []
    groups = None if data.groups is None else data.groups[learned]
    for mask in folds(data.labels[learned], FOLDS, settings.seed, groups):
        own = learned[mask]
        part = replace(data.take(learned), split=np.where(mask, "test", "train"), purpose="compare")
        posterior = train(part, settings).classifier.posterior(data.inputs.take(own))
        labels, likeliest = data.nodes[own], posterior.classes.argmax(axis=1)
        of_label, answers = posterior.of_nodes(labels), stored.taxonomy.leaves[likeliest]
        for place in np.flatnonzero((of_label < 0.5) & (answers != labels)):
            values = float(of_label[place]), float(posterior.classes[place, likeliest[place]])
            found.append(Suspect(int(own[place]), int(labels[place]), int(answers[place]), *values))
    return sorted(found, key=lambda each: each.of_label)[:rows]
