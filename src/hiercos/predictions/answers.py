"""Answers of a model as columns of a table, and as dicts with class names and paths."""

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hiercos.data import InputBatch, Inputs
from hiercos.decisions import Posterior, Rule, ShortList
from hiercos.options import check_count
from hiercos.taxonomy import Taxonomy

Answer = dict[str, Any]
AnswerColumns = dict[str, list[Any]]


def answer_columns(batch: InputBatch, posterior: Posterior, rule: Rule, *, top: int | None = None) -> AnswerColumns:
    """Answers to a batch of inputs as columns of a table.

    The columns are `row`, the row number of the input; `text` or `image`; `rank` with `top`; `level_1` and so on, the
    names on the path ("" beyond its end), or for a graph `ancestors`, their names as a list in JSON; `class`; `id` if
    the taxonomy has ids; `score`, the rule's value; `confidence`, the probability of the class.

    Args:
        batch: B inputs.
        posterior: probabilities of the inputs.
        rule: decision rule that chooses the classes.
        top: number of classes for each input; None for the answer alone, without the column `rank`.
    """
    listed = rule.short_list(posterior, top or 1)
    count = listed.classes.shape[1]
    return {
        "row": [number for number in batch.numbers for _ in range(count)],
        **_shown(batch.inputs, count),
        **({} if top is None else {"rank": list(range(1, count + 1)) * len(posterior)}),
        **_named(posterior.taxonomy, listed.classes.reshape(-1)),
        "score": _rounded(listed.values),
        "confidence": _rounded(listed.probabilities),
    }


def _shown(inputs: Inputs, count: int) -> AnswerColumns:
    """Column that identifies the input of each row, repeated `count` times; none for vectors."""
    shown = [inputs.shown(row) for row in range(len(inputs))] if inputs.kind != "vectors" else []
    return {name: [cells[name] for cells in shown for _ in range(count)] for name in shown[0]} if shown else {}


def _named(taxonomy: Taxonomy, classes: NDArray[np.int64]) -> AnswerColumns:
    """Names of classes and their ancestors, level by level, and the ids of classes if the taxonomy has ids."""
    leaves = taxonomy.leaves[classes]
    names = np.array([*taxonomy.names, ""], dtype=object)  # index -1 gives ""
    if taxonomy.is_tree:
        paths = names[taxonomy.path_table(taxonomy.leaves)][classes]  # (M, H)
        columns: AnswerColumns = {
            f"level_{level}": paths[:, level - 1].tolist() for level in range(1, taxonomy.height + 1)
        }
    else:
        listed = {leaf: json.dumps(_ancestor_names(taxonomy, leaf), ensure_ascii=False) for leaf in {*leaves.tolist()}}
        columns = {"ancestors": [listed[leaf] for leaf in leaves.tolist()]}
    columns["class"] = names[leaves].tolist()
    if taxonomy.ids:
        columns["id"] = np.array(taxonomy.ids, dtype=object)[leaves].tolist()
    return columns


def _ancestor_names(taxonomy: Taxonomy, node: int) -> list[str]:
    """Names of a node's ancestors, the shallowest first, without its own."""
    return [taxonomy.names[above] for above in taxonomy.ancestors.list(node)[:-1].tolist()]


def _rounded(values: NDArray[np.floating[Any]]) -> list[float]:
    return [round(value, 6) for value in values.reshape(-1).tolist()]


def named_answers(posterior: Posterior, rule: Rule, *, top_k: int | None = None) -> list[Answer]:
    """Answer to each of M samples as a dict, with the probabilities of its path and an optional short list.

    Args:
        posterior: probabilities of the samples.
        rule: decision rule that chooses the classes.
        top_k: number of classes to list as `top_k`, the answer first; None for no list.
    """
    listed = rule.short_list(posterior, top_k or 1)
    every = [_named_classes(posterior, listed, row) for row in range(len(posterior))]
    return [best[0] if top_k is None else {**best[0], "top_k": best} for best in every]


def _named_classes(posterior: Posterior, listed: ShortList, row: int) -> list[Answer]:
    """Listed classes of one sample: name, id, path, score and the probabilities of the path.

    In a graph `path` and `path_probabilities` are those of the ancestors, the shallowest first and the class last.
    """
    taxonomy, answers = posterior.taxonomy, []
    for label, value in zip(listed.classes[row].tolist(), listed.values[row].tolist(), strict=True):
        leaf = int(taxonomy.leaves[label])
        path = list(taxonomy.path(leaf)) if taxonomy.is_tree else taxonomy.ancestors.list(leaf).tolist()
        along = np.minimum(posterior.nodes[row, path], 1).tolist()  # sums can exceed 1 by rounding
        answers.append(
            {
                "label": taxonomy.class_names[label],
                **({"id": taxonomy.ids[path[-1]]} if taxonomy.ids else {}),
                "path": [taxonomy.names[node] for node in path],
                "score": value,
                "probability": along[-1],
                "path_probabilities": along,
            }
        )
    return answers


def check_top_k(top_k: int | None) -> None:
    """Raise a ValueError for a `top_k` below 1."""
    if top_k is not None:
        check_count("top_k", top_k)
