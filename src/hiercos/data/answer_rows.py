"""Answers as a table: one row per input and class named, one column per level."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hiercos.data.dataset import Inputs
from hiercos.data.images import Images
from hiercos.data.inputs import UnlabelledInputs
from hiercos.taxonomy import Taxonomy
from hiercos.taxonomy.tree import IntArray

Numbers = NDArray[np.floating[Any]]


def answer_rows(
    unlabelled: UnlabelledInputs,
    taxonomy: Taxonomy,
    classes: IntArray,
    scores: Numbers,
    *,
    ranked: bool = False,
    confidences: Numbers | None = None,
) -> list[dict[str, Any]]:
    """A row for each class named: number, input, a name for each level ("" beyond its depth), the class and its score.

    The input is the text or the name of the image, the id is there where the taxonomy has ids.

    Args:
        unlabelled: the inputs, M of them.
        taxonomy: the tree.
        classes: the best K for each, best first, shape (M, K).
        scores: of these classes, shape (M, K).
        ranked: with the place of each class, from 1, as `rank`.
        confidences: the probabilities of these classes, shape (M, K), as `confidence`.
    """
    places = [(index, rank) for index in range(len(classes)) for rank in range(classes.shape[1])]
    return [
        {
            "row": unlabelled.rows[index],
            **_shown(unlabelled.inputs, index),
            **({"rank": rank + 1} if ranked else {}),
            **_named(taxonomy, int(classes[index, rank])),
            "score": round(float(scores[index, rank]), 6),
            **({} if confidences is None else {"confidence": round(float(confidences[index, rank]), 6)}),
        }
        for index, rank in places
    ]


def _shown(inputs: Inputs, index: int) -> dict[str, str]:
    """The column that says which input it was."""
    if isinstance(inputs, Images):
        return {"image": inputs.name(index)}
    return {"text": inputs[index]} if isinstance(inputs, tuple) else {}


def _named(taxonomy: Taxonomy, label: int) -> dict[str, str]:
    """The names of a class and its ancestors, level by level, and its id if it has one."""
    leaf = int(taxonomy.leaves[label])
    names = [taxonomy.names[node] for node in taxonomy.path(leaf)]
    blanks = [""] * (taxonomy.height - len(names))
    levels = {f"level_{level}": name for level, name in enumerate(names + blanks, 1)}
    return {**levels, "class": taxonomy.class_names[label], **({"id": taxonomy.ids[leaf]} if taxonomy.ids else {})}
