"""Accuracy of an extended model on its new classes and, beside that of the old model, on its old ones."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hiercos.engine.batches import LabelledVectors
from hiercos.engine.growth import GrownData
from hiercos.engine.model_folder import StoredModel, load_model
from hiercos.engine.scoring import class_scores
from hiercos.taxonomy import IntArray

if TYPE_CHECKING:
    from lightning_fabric import Fabric


@dataclass(frozen=True)
class GrowthAccuracy:
    """Whether the first answer is right, for each sample that is labelled with a class.

    Attributes:
        new: test rows of classes that the old taxonomy has not, shape (M_new,).
        old: test rows of classes that the old taxonomy has, answered by the extended and by the old model, shape
            (2, M_old).
        remembered: remembered samples of old classes that were kept for validation, answered by the same two models,
            shape (2, M_memory).
    """

    new: NDArray[np.bool_]
    old: NDArray[np.bool_]
    remembered: NDArray[np.bool_]

    def lines(self) -> list[str]:
        """Sentences on the new and on the old classes, and on what cannot be measured."""
        lines = ["New classes: not measured, the data have no test rows of them."]
        if self.new.size:
            lines = [f"New classes: {_share(self.new, 'test row')}."]
        if self.old.size:
            lines.append(f"Old classes: {_share(self.old[0], 'test row')}; the old model: {_percent(self.old[1])}.")
        if self.remembered.size:
            found = _share(self.remembered[0], "remembered sample")
            lines.append(
                f"Old classes: {found} kept for validation; the old model, which was trained on them: "
                f"{_percent(self.remembered[1])}."
            )
        if not self.old.size and not self.remembered.size:
            lines.append(
                "Old classes: not measured, there are no test rows or remembered samples of them; hiercos evaluate "
                "measures the model on other data."
            )
        return lines


def _share(right: NDArray[np.bool_], noun: str) -> str:
    return f"top-1 {_percent(right)} of {len(right)} {noun}{'s' * (len(right) != 1)}"


def _percent(right: NDArray[np.bool_]) -> str:
    return f"{100 * right.mean():.2f}%"


def growth_accuracy(fabric: Fabric, data: GrownData, folder: Path) -> GrowthAccuracy:
    """Measure the extended model of a folder, and on old classes the old model, each under its own rule.

    Args:
        fabric: launched Fabric with the device and precision.
        data: new data and the memory that the model was trained on.
        folder: folder of the extended model.
    """
    extended, is_old = load_model(folder), data.change.old_nodes[data.taxonomy.leaves] >= 0  # (C,)
    right, labels = _right_answers(fabric, extended, data, data.samples("test"))
    kept, remembered = data.remembered("val"), np.zeros((2, 0), dtype=bool)
    if kept is not None:
        remembered, _ = _right_answers(fabric, extended, data, LabelledVectors(kept.features, kept.labels))
    return GrowthAccuracy(right[0, ~is_old[labels]], right[:, is_old[labels]], remembered)


def _right_answers(
    fabric: Fabric, extended: StoredModel, data: GrownData, samples: LabelledVectors
) -> tuple[NDArray[np.bool_], IntArray]:
    """Whether the extended and the old model are right, (2, M), on the M samples of a class, and their labels, (M,).

    A class of the old model stands for what became of it; an answer at an inner node is never right.
    """
    labels = samples.labels.numpy()
    rows = np.flatnonzero(labels < data.taxonomy.num_classes)
    known = LabelledVectors(samples.features[rows], samples.labels[rows])
    now, before = (_answered_classes(fabric, stored, known) for stored in (extended, data.stored))
    before = np.where(before < 0, -1, data.change.new_labels(np.maximum(before, 0)))
    return np.stack([now, before]) == labels[rows], labels[rows]


def _answered_classes(fabric: Fabric, stored: StoredModel, samples: LabelledVectors) -> IntArray:
    """Class that the rule of a model answers with, shape (M,); -1 for an inner node."""
    if not len(samples):
        return np.zeros(0, dtype=np.int64)
    return stored.rule(stored.posterior(class_scores(fabric, stored.model, samples))).classes


def forgetting_notes(data: GrownData) -> list[str]:
    """A sentence about data without training samples of old classes, remembered or new; none otherwise."""
    labels = data.dataset.labels[data.dataset.training_rows]
    classes = labels[labels < data.taxonomy.num_classes]
    is_old = data.change.old_nodes[data.taxonomy.leaves] >= 0
    kept = data.remembered("train")
    if is_old[classes].any() or (kept is not None and len(kept)):
        return []
    return [
        f"{data.dataset.source}: no sample of an old class is trained on, so the model will forget the old classes; "
        "hiercos train --memory keeps samples for this."
    ]
