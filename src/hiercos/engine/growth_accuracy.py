"""Accuracy of an extended model on its old and on its new classes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hiercos.decisions import Posterior, Rule
from hiercos.engine.batches import LabelledVectors
from hiercos.engine.growth import GrownData
from hiercos.engine.model_folder import load_model
from hiercos.engine.run import tested_posterior
from hiercos.engine.scoring import class_scores
from hiercos.taxonomy import IntArray

if TYPE_CHECKING:
    from lightning_fabric import Fabric


@dataclass(frozen=True)
class GrowthAccuracy:
    """Whether the first answer is right, for each sample that is labelled with a class.

    Attributes:
        new: test rows of classes that the old taxonomy has not, shape (M_new,).
        old: test rows of classes that the old taxonomy has, shape (M_old,).
        remembered: remembered samples of old classes that were kept for validation, shape (M_memory,).
    """

    new: NDArray[np.bool_]
    old: NDArray[np.bool_]
    remembered: NDArray[np.bool_]

    def lines(self) -> list[str]:
        """Sentences on the new and on the old classes, and on what cannot be measured."""
        lines = [f"New classes: {_share(self.new, 'test row')}."] if len(self.new) else []
        if len(self.old):
            lines.append(f"Old classes: {_share(self.old, 'test row')}.")
        if len(self.remembered):
            found = _share(self.remembered, "remembered sample")
            lines.append(f"Old classes: {found} kept for validation; the old model was trained on them.")
        if not len(self.new):
            lines.append("New classes: not measured, the data have no test rows of them.")
        if not len(self.old) and not len(self.remembered):
            lines.append(
                "Old classes: not measured, there are no test rows or remembered samples of them; hiercos evaluate "
                "measures the model on other data."
            )
        return lines


def _share(right: NDArray[np.bool_], noun: str) -> str:
    return f"top-1 {100 * right.mean():.2f}% of {len(right)} {noun}{'s' * (len(right) != 1)}"


def growth_accuracy(fabric: Fabric, data: GrownData, folder: Path) -> GrowthAccuracy:
    """Measure the extended model of a folder under its own rule.

    Args:
        fabric: launched Fabric with the device and precision.
        data: new data and the memory that the model was trained on.
        folder: folder of the extended model.
    """
    stored = load_model(folder)
    posterior, labels = tested_posterior(folder)
    is_old = data.change.old_nodes[data.taxonomy.leaves] >= 0  # (C,)
    known = labels < data.taxonomy.num_classes
    right = _right_answers(stored.rule, posterior, labels)
    test_old = np.zeros(len(labels), dtype=bool)
    test_old[known] = is_old[labels[known]]
    kept = data.remembered("val")
    remembered = np.zeros(0, dtype=bool)
    if kept is not None:
        kept = kept.rows(kept.labels < data.taxonomy.num_classes)
        scores = class_scores(fabric, stored.model, LabelledVectors(kept.features, kept.labels))
        remembered = _right_answers(stored.rule, stored.posterior(scores), kept.labels.numpy())
    return GrowthAccuracy(right[known & ~test_old], right[test_old], remembered)


def _right_answers(rule: Rule, posterior: Posterior, labels: IntArray) -> NDArray[np.bool_]:
    """Whether the class that a rule answers with is the label, shape (M,); never for an answer at an inner node."""
    if not len(labels):
        return np.zeros(0, dtype=bool)
    right: NDArray[np.bool_] = rule(posterior).classes == labels
    return right


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
