"""Answers of a stored model for inputs without labels."""

from typing import Any

import torch

from hiercos.data import DataError
from hiercos.data.dataset import Inputs, kind_of
from hiercos.data.images import Images
from hiercos.data.inputs import UnlabelledInputs
from hiercos.decisions import predicted_classes, predicted_paths
from hiercos.engine.batches import VECTORS_AT_ONCE, LabelledVectors, Samples
from hiercos.engine.folder import StoredModel
from hiercos.engine.readers import Reading
from hiercos.engine.rules import decided_scores
from hiercos.taxonomy.tree import IntArray


def model_samples(stored: StoredModel, inputs: Inputs, how: Reading, labels: IntArray | None = None) -> Samples:
    """Inputs as the samples a model takes.

    Args:
        stored: the model.
        inputs: M of them.
        how: to read them.
        labels: their classes, shape (M,), where they are known.

    Raises:
        DataError: if the inputs are of another kind or width than the model takes.
    """
    known = torch.full((len(inputs),), -1) if labels is None else torch.tensor(labels)
    if kind_of(inputs) != stored.kind:
        raise DataError(f"this model takes {stored.kind}, got {kind_of(inputs)}")
    if stored.reader is not None:
        return how.watched(stored.reader.samples(inputs, known, how))
    features = torch.tensor(inputs)
    if features.shape[1] != stored.model.in_features:
        raise DataError(f"this model takes vectors of {stored.model.in_features} features, got {features.shape[1]}")
    return LabelledVectors(features, known, how.batch_size or VECTORS_AT_ONCE)


def prediction_rows(stored: StoredModel, unlabelled: UnlabelledInputs, how: Reading) -> list[dict[str, Any]]:
    """One row per input: number, input, a name for each level ("" beyond the class's depth), the class and its score.

    The input is the text or the name of the image, the id is there where the taxonomy has ids. The score is the one the
    classes are ranked by: higher is better, comparable between classes of one row, and no probability.
    """
    taxonomy, inputs = stored.model.taxonomy, unlabelled.inputs
    scores = decided_scores(how.fabric, stored, model_samples(stored, inputs, how))
    classes, paths = predicted_classes(scores), predicted_paths(scores, taxonomy)
    best = scores.gather(1, classes[:, None]).squeeze(1)
    return [
        {
            "row": row,
            **_shown(inputs, index),
            **{
                f"level_{level}": taxonomy.names[node] if node >= 0 else ""
                for level, node in enumerate(path.tolist(), 1)
            },
            "class": taxonomy.class_names[int(label)],
            **({"id": taxonomy.ids[int(taxonomy.leaves[label])]} if taxonomy.ids else {}),
            "score": round(float(score), 6),
        }
        for index, (row, path, label, score) in enumerate(zip(unlabelled.rows, paths, classes, best, strict=True))
    ]


def _shown(inputs: Inputs, index: int) -> dict[str, str]:
    """The column that says which input it was."""
    if isinstance(inputs, Images):
        return {"image": inputs.name(index)}
    return {"text": inputs[index]} if isinstance(inputs, tuple) else {}
