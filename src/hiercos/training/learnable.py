"""The samples that a method can learn from: some need a class as the label of each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hiercos.data import Dataset
from hiercos.methods import METHODS, MethodError
from hiercos.taxonomy import IntArray
from hiercos.training.features import AnyFeatures
from hiercos.training.settings import Settings


def learnable_rows(dataset: Dataset, method: str) -> IntArray | None:
    """Rows without those of training and validation whose labels a method cannot learn from; None for all rows."""
    if METHODS.traits(method).inner_labels or dataset.label_sets is not None:
        return None
    left_out = ~dataset.is_class & (dataset.split != "test")
    return np.flatnonzero(~left_out) if left_out.any() else None


def learnable_features(features: AnyFeatures, settings: Settings) -> AnyFeatures:
    """The features of the `learnable_rows` of a method.

    Raises:
        MethodError: if these have fewer than two classes in training.
    """
    rows = learnable_rows(features.dataset, settings.method)
    if rows is None:
        return features
    labels = features.samples("train").labels
    if (count := len(np.unique(labels[labels < features.taxonomy.num_classes]))) < 2:
        raise MethodError(
            f"method {settings.method!r} learns from samples labelled with a class: expected at least two classes "
            f"among the training rows, got {count}; methods that learn from inner nodes: "
            f"{', '.join(METHODS.with_inner_labels())}"
        )
    return features.for_method(settings).take(rows)


def learnable_notes(dataset: Dataset, methods: Sequence[str]) -> list[str]:
    """A sentence about the methods that learn from a part of the training rows; none if all learn from all."""
    partly = [each for each in methods if learnable_rows(dataset, each) is not None]
    known = dataset.is_class[dataset.training_rows]
    if not partly or known.all():
        return []
    count = f"the {known.sum():,} of {len(known):,} training rows that are labelled with a class"
    return [f"Learned from {count} alone: {', '.join(partly)}."]
