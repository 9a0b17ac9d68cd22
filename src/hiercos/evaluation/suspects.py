"""Labels of training data that the model contradicts, each judged by a model that has not learned from its row."""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from hiercos.data import Dataset
from hiercos.methods import folds
from hiercos.model import Classifier
from hiercos.training import Settings, train

FOLDS = 5


class Suspect(NamedTuple):
    """A row whose label is contradicted."""

    row: int  # index of the row
    label: int  # node of its label
    answer: int  # node of the likeliest class
    of_label: float  # probability of the label
    of_answer: float  # probability of the likeliest class


def suspects(stored: Classifier, dataset: Dataset, config: dict[str, Any], rows: int) -> list[Suspect]:
    """The most contradicted labels, the worst first: those whose model gives them the least probability.

    Each fold of the rows that are not test is judged by a model of the same settings that learned from the others.
    """
    settings = replace(Settings(**{**config, "memory": 0, "targets": False}), refit=False)
    learned = np.flatnonzero((dataset.split != "test") & (dataset.nodes >= 0))
    found: list[Suspect] = []
    for mask in folds(dataset.labels[learned], FOLDS, settings.seed):
        split = np.where(np.isin(np.arange(len(dataset)), learned), "train", "left out")
        split[learned[mask]] = "test"
        kept = np.flatnonzero(split != "left out")
        part = replace(dataset.take(kept), split=split[kept], purpose="compare")
        own = learned[mask]
        posterior = train(part, settings).classifier.posterior(dataset.inputs.take(own))
        labels, likeliest = dataset.nodes[own], posterior.classes.argmax(axis=1)
        of_label = posterior.of_nodes(labels)
        answers = stored.taxonomy.leaves[likeliest]
        for place in np.flatnonzero(of_label < 0.5):
            if answers[place] != labels[place]:
                values = float(of_label[place]), float(posterior.classes[place, likeliest[place]])
                found.append(Suspect(int(own[place]), int(labels[place]), int(answers[place]), *values))
    return sorted(found, key=lambda each: each.of_label)[:rows]
