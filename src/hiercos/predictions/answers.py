"""Answers of a model as columns of a table, and as dicts with class names and paths."""

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hiercos.data import InputBatch, Inputs
from hiercos.decisions import Decision, NodeRule, Posterior, Rule, ShortList
from hiercos.options import check_count
from hiercos.predictions.explanations import explanation_columns, explanations, nodes_down_to
from hiercos.taxonomy import IntArray, Taxonomy, best_children

Answer = dict[str, Any]
AnswerColumns = dict[str, list[Any]]


def answer_columns(
    batch: InputBatch, posterior: Posterior, rule: Rule, *, top: int | None = None, explain: bool = False
) -> AnswerColumns:
    """Answers to a batch of inputs as columns of a table.

    The columns are `row`, the row number of the input; `text` or `image`; `rank` with `top`; `level_1` and so on, the
    names on the path ("" beyond its end), or for a graph `ancestors`, their names as a list in JSON; `class`, "" for an
    inner node; `id` if the taxonomy has ids; `score`, the rule's value; `confidence`, the probability of the answer. A
    rule that answers with nodes of any depth adds `level`, where it stopped (0 for the root), `next`, the likeliest
    node below, and `next_confidence`.

    Args:
        batch: B inputs.
        posterior: probabilities of the inputs.
        rule: decision rule that chooses the answers.
        top: number of classes for each input; None for the answer alone, without the column `rank`.
        explain: whether to add the columns of `explanation_columns`; only without `top`.
    """
    if top is not None:
        return _listed_columns(batch, posterior, rule.short_list(posterior, top))
    decision = rule(posterior)
    return {
        "row": list(batch.numbers),
        **_shown(batch.inputs, np.arange(len(batch))),
        **_named(posterior.taxonomy, decision.nodes),
        "score": _rounded(decision.values),
        "confidence": _rounded(decision.probabilities),
        **(_stop_columns(posterior, decision) if isinstance(rule, NodeRule) else {}),
        **(explanation_columns(posterior, decision) if explain else {}),
    }


def _listed_columns(batch: InputBatch, posterior: Posterior, listed: ShortList) -> AnswerColumns:
    """Columns of short lists, one row for each listed class."""
    rows, ranks = np.nonzero(listed.classes >= 0)
    return {
        "row": [batch.numbers[row] for row in rows.tolist()],
        **_shown(batch.inputs, rows),
        "rank": (ranks + 1).tolist(),
        **_named(posterior.taxonomy, posterior.taxonomy.leaves[listed.classes[rows, ranks]]),
        "score": _rounded(listed.values[rows, ranks]),
        "confidence": _rounded(listed.probabilities[rows, ranks]),
    }


def _stop_columns(posterior: Posterior, decision: Decision) -> AnswerColumns:
    """Level at which each answer stopped, and the likeliest node below it with its probability."""
    below = next_nodes(posterior, decision)
    names = np.array([*posterior.taxonomy.names, ""], dtype=object)
    confidence = np.where(below < 0, np.nan, posterior.of_nodes(below))
    return {
        "level": decision.levels.tolist(),
        "next": names[below].tolist(),
        "next_confidence": [None if np.isnan(value) else round(value, 6) for value in confidence.tolist()],
    }


def next_nodes(posterior: Posterior, decision: Decision) -> IntArray:
    """The likeliest child of each answer, shape (M,); -1 for a class."""
    children = best_children(posterior.nodes, posterior.taxonomy)
    found: IntArray = np.take_along_axis(children, decision.nodes[:, None], axis=1)[:, 0]
    return found


def _shown(inputs: Inputs, rows: IntArray) -> AnswerColumns:
    """Column that identifies the inputs of the given rows; none for vectors."""
    shown = [inputs.shown(row) for row in range(len(inputs))] if inputs.kind != "vectors" else []
    return {name: [shown[row][name] for row in rows] for name in shown[0]} if shown else {}


def _named(taxonomy: Taxonomy, nodes: IntArray) -> AnswerColumns:
    """Names of nodes and their ancestors, level by level; the class, if it is one; ids if the taxonomy has ids."""
    names = np.array([*taxonomy.names, ""], dtype=object)  # index -1 gives ""
    if taxonomy.is_tree:
        paths = np.full((len(nodes), taxonomy.height), -1)
        paths[nodes >= 0] = taxonomy.path_table(nodes[nodes >= 0])
        columns: AnswerColumns = {
            f"level_{level}": names[paths[:, level - 1]].tolist() for level in range(1, taxonomy.height + 1)
        }
    else:
        listed = {node: json.dumps(_ancestor_names(taxonomy, node), ensure_ascii=False) for node in {*nodes.tolist()}}
        columns = {"ancestors": [listed[node] for node in nodes.tolist()]}
    columns["class"] = names[np.where(np.isin(nodes, taxonomy.leaves), nodes, -1)].tolist()
    if taxonomy.ids:
        columns["id"] = np.array([*taxonomy.ids, ""], dtype=object)[nodes].tolist()
    return columns


def _ancestor_names(taxonomy: Taxonomy, node: int) -> list[str]:
    """Names of a node's ancestors, the shallowest first, without its own."""
    return [taxonomy.names[above] for above in taxonomy.ancestors.list(node)[:-1].tolist()]


def _rounded(values: NDArray[np.floating[Any]]) -> list[float]:
    return [round(value, 6) for value in values.reshape(-1).tolist()]


def named_answers(posterior: Posterior, rule: Rule, *, top_k: int | None = None, explain: bool = False) -> list[Answer]:
    """Answer to each of M samples as a dict, with the probabilities of its path and an optional short list.

    Args:
        posterior: probabilities of the samples.
        rule: decision rule that chooses the answers.
        top_k: number of classes to list as `top_k`, the answer first; None for no list.
        explain: whether to add the explanation as `explanation`; see `explanations`.
    """
    decision = rule(posterior)
    answers = [
        _named_node(posterior, row, *pair)
        for row, pair in enumerate(zip(decision.nodes.tolist(), decision.values.tolist(), strict=True))
    ]
    if isinstance(rule, NodeRule):
        below = next_nodes(posterior, decision)
        for row, (answer, node) in enumerate(zip(answers, below.tolist(), strict=True)):
            answer["level"] = int(decision.levels[row])
            answer["next"] = posterior.taxonomy.names[node] if node >= 0 else None
            answer["next_probability"] = min(float(posterior.nodes[row, node]), 1.0) if node >= 0 else None
    if explain:
        for answer, explanation in zip(answers, explanations(posterior, decision), strict=True):
            answer["explanation"] = explanation
    if top_k is None:
        return answers
    listed = rule.short_list(posterior, top_k)
    return [{**answer, "top_k": _named_list(posterior, listed, row)} for row, answer in enumerate(answers)]


def _named_list(posterior: Posterior, listed: ShortList, row: int) -> list[Answer]:
    """Listed classes of one sample."""
    pairs = zip(listed.classes[row].tolist(), listed.values[row].tolist(), strict=True)
    return [
        _named_node(posterior, row, int(posterior.taxonomy.leaves[label]), value)
        for label, value in pairs
        if label >= 0
    ]


def _named_node(posterior: Posterior, row: int, node: int, value: float) -> Answer:
    """One answer: name, id, path, score and the probabilities of the path; the root has no name and no path.

    In a graph `path` and `path_probabilities` are those of the ancestors, the shallowest first and the node last.
    """
    taxonomy = posterior.taxonomy
    path = list(nodes_down_to(node, taxonomy))
    along = np.minimum(posterior.nodes[row, path], 1).tolist()  # sums can exceed 1 by rounding
    return {
        "label": taxonomy.names[node] if path else None,
        **({"id": taxonomy.ids[node] if path else None} if taxonomy.ids else {}),
        "path": [taxonomy.names[step] for step in path],
        "score": value,
        "probability": along[-1] if path else 1.0,
        "path_probabilities": along,
    }


def check_top_k(top_k: int | None) -> None:
    """Raise a ValueError for a `top_k` below 1."""
    if top_k is not None:
        check_count("top_k", top_k)


def probability_columns(batch: InputBatch, posterior: Posterior) -> AnswerColumns:
    """Probabilities of a batch of inputs, one column for each node, level by level; its heading is the path.

    Args:
        batch: B inputs.
        posterior: probabilities of the inputs.
    """
    taxonomy, values = posterior.taxonomy, np.minimum(posterior.nodes, 1.0)
    nodes = {taxonomy.path_text(node): values[:, node].tolist() for node in range(taxonomy.num_nodes)}
    return {"row": list(batch.numbers), **nodes}
