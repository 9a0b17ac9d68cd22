"""Features of rows of columns, whose blocks are weighed by held-out loss."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from hiercos.data import IMAGE, TEXT, ColumnInputs, Dataset
from hiercos.encoders import (
    BESIDE,
    DEFAULT_ENCODERS,
    TFIDF,
    ColumnFeatures,
    FrozenEncoder,
    ReadConfig,
    embed,
    embedded_features_of,
    frozen_encoder,
    mapped_features,
    usual_scale,
)
from hiercos.errors import DataError
from hiercos.methods import LabelledFeatures, Model
from hiercos.taxonomy import IntArray

FACTORS = (0.5, 2.0)  # of what a unit usually has, tried one unit after the other
DROPPED = 0.0  # of the n-grams of all texts together, which repeat those of each
LEAST_HELD_OUT = 100  # rows to weigh by; with fewer, all units weigh the same
MOST_LEARNED, MOST_HELD_OUT = 2000, 1000  # rows to weigh by
STRENGTH = 2.0  # of the linear models
LEAST_GAIN = 0.002  # share of the loss that a factor must save


def column_backbone(
    dataset: Dataset, reading: ReadConfig, name: str | None, options: Mapping[str, Any]
) -> tuple[FrozenEncoder | None, dict[str, Any]]:
    """The backbone for columns of images or texts, and its features of all rows; without such columns none.

    Args:
        dataset: data set of columns.
        reading: settings for reading inputs.
        name: name of the backbone; None for the usual one of images.
        options: options of the backbone by name.
    """
    inputs = dataset.inputs
    assert isinstance(inputs, ColumnInputs)
    has_images = bool(inputs.of_kind(IMAGE))
    if name in (None, TFIDF) and not has_images:
        return None, {}
    frozen = frozen_encoder((name or DEFAULT_ENCODERS["images"]).removeprefix(BESIDE), options)
    if (frozen.kind == "images") != has_images or not inputs.of_kind(TEXT, IMAGE):
        wanted = "images" if has_images else "texts"
        raise DataError(f"{name}: expected a backbone of {wanted} for the columns of {dataset.source}")

    def compute(given: Any) -> Any:
        return np.asarray(mapped_features(embed(reading, frozen.backbone, given).path))

    return frozen, embedded_features_of(inputs, frozen, compute)


def fitted_columns(
    dataset: Dataset, embedded: Mapping[str, Any], scales: Mapping[str, float] | None = None
) -> ColumnFeatures:
    """The map from rows of columns to features that the training rows tell, and the validation rows weigh.

    Args:
        dataset: data set of columns, whose split is complete.
        embedded: features of a backbone by column, shape (M, F).
        scales: factor of each unit of blocks; None to weigh them.
    """
    inputs, rows = dataset.inputs, dataset.rows("train")
    assert isinstance(inputs, ColumnInputs)
    own = {name: vectors[rows] for name, vectors in embedded.items()}
    found = ColumnFeatures.fit(inputs.take(rows), own, scales)
    if scales is not None or found.is_dense or dataset.label_sets is not None or not dataset.taxonomy.is_tree:
        return found
    chosen = _Weighing(dataset, found, embedded).scales()
    blocks = tuple(block for block in found.blocks if chosen.get(block.unit, 1))
    return replace(found, blocks=blocks, scales=chosen)


class _Weighing:
    """Losses of linear models on held-out rows with the units of features scaled.

    Args:
        dataset: data set of columns.
        features: features with the usual factors.
        embedded: features of a backbone by column.
    """

    def __init__(self, dataset: Dataset, features: ColumnFeatures, embedded: Mapping[str, Any]) -> None:
        self.features, self.taxonomy = features, dataset.taxonomy
        learned, held_out = (_some(dataset, split, most) for split, most in _MOST.items())
        held_out = held_out[np.isin(dataset.labels[held_out], dataset.labels[learned])]
        parts = []
        for rows in (learned, held_out):
            inputs = dataset.inputs.take(rows)
            assert isinstance(inputs, ColumnInputs)
            matrix = features.transform(inputs, {name: each[rows] for name, each in embedded.items()})
            weights = None if dataset.weights is None else dataset.weights[rows]
            parts.append(LabelledFeatures(matrix, dataset.labels[rows], weights))
        self.learned, self.held_out = parts

    def scales(self) -> dict[str, float]:
        """Factors of the units other than the usual ones: of each in turn the one of least loss beside those chosen."""
        units = list(dict.fromkeys(block.unit for block in self.features.blocks))
        chosen: dict[str, float] = {}
        if len(units) < 2 or len(self.held_out) < LEAST_HELD_OUT:
            return chosen
        least = self.loss(chosen)
        for unit in units:
            together = any(len(block.columns) > 1 for block in self.features.blocks if block.unit == unit)
            tried = [usual_scale(unit) * factor for factor in (*FACTORS, *[DROPPED] * together)]
            losses = [self.loss({**chosen, unit: scale}) for scale in tried]
            if min(losses) < least * (1 - LEAST_GAIN):
                least, chosen = min(losses), {**chosen, unit: tried[losses.index(min(losses))]}
        return chosen

    def loss(self, scales: Mapping[str, float]) -> float:
        """Log-loss of a model of the scaled features on the held-out rows."""
        factors = replace(self.features, scales=dict(scales)).factors / self.features.factors
        learned, held_out = (_scaled(part, factors) for part in (self.learned, self.held_out))
        model = Model(self.taxonomy, self.features.width, "siblings", {"strength": STRENGTH})
        model.solve(learned, held_out, seed=0)
        scores = torch.from_numpy(model.array_scores(held_out.features))
        return float(cross_entropy(scores, torch.from_numpy(held_out.labels)))


_MOST = {"train": MOST_LEARNED, "val": MOST_HELD_OUT}


def _some(dataset: Dataset, split: str, most: int) -> IntArray:
    """At most so many rows of a split that are labelled with a class, the same each time."""
    rows = dataset.rows(split)
    rows = rows[dataset.is_class[rows]]
    return np.sort(np.random.default_rng(0).permutation(rows)[:most])


def _scaled(data: LabelledFeatures, factors: Any) -> LabelledFeatures:
    features: Any = data.features.copy()
    features.data *= factors[features.indices]
    return replace(data, features=features)
