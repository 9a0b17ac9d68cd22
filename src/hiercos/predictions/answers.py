"""Answers in Python: dicts that name classes and their ancestors. Nothing here imports torch."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hiercos.data import InputBatch
from hiercos.options import check_count
from hiercos.taxonomy import IntArray, Taxonomy

Numbers = NDArray[np.floating[Any]]


def answer_rows(
    batch: InputBatch,
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
        batch: M inputs with their row numbers.
        taxonomy: the tree.
        classes: the best K for each, best first, shape (M, K).
        scores: of these classes, shape (M, K).
        ranked: with the place of each class, from 1, as `rank`.
        confidences: the probabilities of these classes, shape (M, K), as `confidence`.
    """
    places = [(index, rank) for index in range(len(classes)) for rank in range(classes.shape[1])]
    return [
        {
            "row": batch.numbers[index],
            **batch.inputs.shown(index),
            **({"rank": rank + 1} if ranked else {}),
            **_named(taxonomy, int(classes[index, rank])),
            "score": round(float(scores[index, rank]), 6),
            **({} if confidences is None else {"confidence": round(float(confidences[index, rank]), 6)}),
        }
        for index, rank in places
    ]


def _named(taxonomy: Taxonomy, label: int) -> dict[str, str]:
    """The names of a class and its ancestors, level by level, and its id if it has one."""
    leaf = int(taxonomy.leaves[label])
    names = [taxonomy.names[node] for node in taxonomy.path(leaf)]
    blanks = [""] * (taxonomy.height - len(names))
    levels = {f"level_{level}": name for level, name in enumerate(names + blanks, 1)}
    return {**levels, "class": taxonomy.class_names[label], **({"id": taxonomy.ids[leaf]} if taxonomy.ids else {})}


Answer = dict[str, Any]


def named_answers(
    taxonomy: Taxonomy, classes: NDArray[np.integer[Any]], scores: Numbers, probabilities: Numbers
) -> Iterator[list[Answer]]:
    """For each of B samples an answer for each class: name, id, path, score and the probabilities of the path.

    Args:
        taxonomy: the tree.
        classes: the best K, best first, shape (B, K).
        scores: that all classes are ranked by, shape (B, C).
        probabilities: of all nodes, shape (B, N).
    """
    for labels, ranked, nodes in zip(classes.tolist(), scores, probabilities, strict=True):
        yield [_answer(taxonomy, label, ranked, nodes) for label in labels]


def _answer(taxonomy: Taxonomy, label: int, scores: Numbers, probabilities: Numbers) -> Answer:
    """A class of one sample, from the scores of all classes (C,) and the probabilities of all nodes (N,)."""
    path = list(taxonomy.path(int(taxonomy.leaves[label])))
    along = np.minimum(probabilities[path], 1).tolist()  # sums can exceed 1 by rounding
    return {
        "label": taxonomy.class_names[label],
        **({"id": taxonomy.ids[path[-1]]} if taxonomy.ids else {}),
        "path": [taxonomy.names[node] for node in path],
        "score": float(scores[label]),
        "probability": along[-1],
        "path_probabilities": along,
    }


def best_columns(scores: Numbers, count: int) -> NDArray[np.intp]:
    """The classes with the highest scores, the lower index among equals; (B, C) to (B, count), at most all C."""
    return np.argsort(-scores, axis=1, kind="stable")[:, :count]


def summed_probabilities(probabilities: Numbers, taxonomy: Taxonomy) -> Numbers:
    """Probabilities of all nodes, shape (B, N): the sums over the classes at or below them, shape (B, C)."""
    nodes = np.zeros((taxonomy.num_nodes, len(probabilities)))
    nodes[taxonomy.leaves] = probabilities.T
    for level in range(taxonomy.height, 1, -1):
        rows = taxonomy.level(level)
        np.add.at(nodes, taxonomy.parents[rows], nodes[rows])
    return nodes.T


def check_top_k(top_k: int | None) -> None:
    """Raise a ValueError for fewer than one class."""
    if top_k is not None:
        check_count("top_k", top_k)


def with_top_k(best: list[Answer], top_k: int | None) -> Answer:
    """The best answer of a sample, with all of them as `top_k` where that was asked for."""
    return best[0] if top_k is None else {**best[0], "top_k": best}
