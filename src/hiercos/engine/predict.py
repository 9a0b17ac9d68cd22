"""Answers of a stored model for inputs without labels."""

from typing import Any

import torch
from lightning_fabric import Fabric

from hiercos.data import DataError
from hiercos.data.dataset import Inputs
from hiercos.data.inputs import UnlabelledInputs
from hiercos.decisions import predicted_classes, predicted_paths
from hiercos.engine.batches import LabelledVectors
from hiercos.engine.evaluate import EVALUATION_BATCH
from hiercos.engine.folder import StoredModel
from hiercos.engine.rules import decided_scores
from hiercos.taxonomy.tree import IntArray


def model_features(stored: StoredModel, inputs: Inputs) -> torch.Tensor:
    """The features a model reads, shape (M, F), made of texts where it takes texts.

    Raises:
        DataError: if the inputs are of another kind or width than the model takes.
    """
    if isinstance(inputs, tuple) != (stored.text_features is not None):
        raise DataError(f"this model takes {stored.kind}, got {'texts' if isinstance(inputs, tuple) else 'vectors'}")
    if stored.text_features is not None and isinstance(inputs, tuple):
        return torch.tensor(stored.text_features.transform(inputs))
    features = torch.tensor(inputs)
    if features.shape[1] != stored.model.in_features:
        raise DataError(f"this model takes vectors of {stored.model.in_features} features, got {features.shape[1]}")
    return features


def labelled_vectors(stored: StoredModel, inputs: Inputs, labels: IntArray) -> LabelledVectors:
    """Inputs as the features a model reads, with their classes (M,)."""
    return LabelledVectors(model_features(stored, inputs), torch.tensor(labels))


def prediction_rows(
    fabric: Fabric, stored: StoredModel, unlabelled: UnlabelledInputs, *, batch_size: int = EVALUATION_BATCH
) -> list[dict[str, Any]]:
    """One row per input: number, text, a name for each level ("" beyond the class's depth), the class and its score.

    The text is there for models of texts, the id where the taxonomy has ids. The score is the one the classes are
    ranked by: higher is better, comparable between classes of one row, and no probability.
    """
    taxonomy = stored.model.taxonomy
    scores = decided_scores(fabric, stored, model_features(stored, unlabelled.inputs), batch_size=batch_size)
    classes, paths = predicted_classes(scores), predicted_paths(scores, taxonomy)
    best = scores.gather(1, classes[:, None]).squeeze(1)
    return [
        {
            "row": row,
            **({"text": unlabelled.inputs[index]} if isinstance(unlabelled.inputs, tuple) else {}),
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
