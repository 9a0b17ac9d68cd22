"""Answers of a model, and their explanations, as columns of a table and as dicts with class names and paths."""

import json
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hiercos.data import InputBatch, Inputs
from hiercos.decisions import Decision, NodeRule, Posterior, Rule, RuleError, Several, ShortList
from hiercos.model.explain import Answer, Explainer, explanations
from hiercos.taxonomy import SET_SIGN, Floats, IntArray, Taxonomy

AnswerColumns = dict[str, list[Any]]
# Columns of a table of answers other than the levels and the explanations: of every answer, and of rules that stop.
IDENTIFYING_COLUMNS = ("row", "text", "image")  # of the input, not of its answer
ANSWER_COLUMNS = (*IDENTIFYING_COLUMNS, "rank", "ancestors", "class", "id", "score", "confidence")
EXPLANATION = ("criterion", "runner_up", "runner_up_confidence", "because", "reasons")  # see `explanations`
PROBABILITY = "probability"  # criterion of rules whose value of an answer is its probability
LEVEL_CONFIDENCE = "_confidence"  # end of the name of a level's column of probabilities
STOP_COLUMNS = ("level", "next", "next_confidence")
IN_JSON_ALONE = ("reasons", "answers")  # columns of lists, which do not fit a cell


def answer_columns(
    batch: InputBatch,
    posterior: Posterior,
    rule: Rule,
    *,
    top: int | None = None,
    explainer: Explainer | None = None,
    level_confidences: bool = False,
) -> AnswerColumns:
    """Answers to a batch of inputs as columns of a table.

    The columns are `row`, the row number of the input; `text` or `image`; `rank` with `top`; one for each level, see
    `level_columns`, with the names on the path ("" beyond its end), or for a graph `ancestors`, their names as a list
    in JSON; `class`, "" for an inner node; `id` if the taxonomy has ids; `score`, the rule's value; `confidence`, the
    probability of the answer, None for the root, "cannot say" (and so is a score that is a probability). A rule that
    answers with nodes of any depth adds `level`, where it stopped (0 for the root), `next`, the likeliest node below,
    and `next_confidence`.

    The rule for several labels has the columns `labels`, the paths of the deepest nodes as `a > b | c`, `confidence`,
    their probabilities in the same form, and `answers`, both as a list of dicts, the most probable first.

    Args:
        batch: B inputs.
        posterior: probabilities of the inputs.
        rule: decision rule that chooses the answers.
        top: number of classes for each input; None for the answer alone, without the column `rank`.
        explainer: adds the columns of `explanations`, from these contributions; only without `top`. None for none.
        level_confidences: whether to add a column `LEVEL_confidence` for each level of a tree: the probability of the
            node that is named there, None beyond the end of the path.
    """
    if isinstance(rule, Several):
        if top is not None or explainer is not None or level_confidences:
            raise RuleError("the model answers with several labels: expected no top, explain or level_confidences")
        return _several_columns(batch, posterior, rule)
    if top is not None:
        listed = rule.short_list(posterior, top)
        return _listed_columns(batch, posterior, listed, level_confidences=level_confidences)
    decision = rule(posterior)
    return {
        "row": list(batch.numbers),
        **_shown(batch.inputs, np.arange(len(batch))),
        **_named(posterior, np.arange(len(batch)), decision.nodes, level_confidences=level_confidences),
        "score": rounded_values(decision.values, decision.nodes >= 0 if decision.criterion == PROBABILITY else None),
        "confidence": rounded_values(decision.probabilities, decision.nodes >= 0),
        **(_stop_columns(posterior, decision) if isinstance(rule, NodeRule) else {}),
        **({} if explainer is None else _columns(explanations(batch.inputs, posterior, decision, explainer))),
    }


def _several_columns(batch: InputBatch, posterior: Posterior, rule: Several) -> AnswerColumns:
    """Sets of nodes as columns; see `answer_columns`."""
    taxonomy = posterior.taxonomy
    answers: list[list[Answer]] = []
    for row, nodes in enumerate(rule.sets(posterior)):
        values = rounded_values(posterior.each_node[row, nodes])
        answers.append([_set_entry(taxonomy, node, value) for node, value in zip(nodes, values, strict=True)])
    return {
        "row": list(batch.numbers),
        **_shown(batch.inputs, np.arange(len(batch))),
        "labels": [f" {SET_SIGN} ".join(each["path"] for each in found) for found in answers],
        "confidence": [f" {SET_SIGN} ".join(str(each["confidence"]) for each in found) for found in answers],
        "answers": answers,
    }


def _set_entry(taxonomy: Taxonomy, node: int, confidence: float | None) -> Answer:
    """One node of a set."""
    name = taxonomy.names[node] if taxonomy.child_counts[node] == 0 else ""
    identified = {"id": taxonomy.ids[node]} if taxonomy.ids else {}
    return {"path": taxonomy.path_text(node), "class": name, **identified, "confidence": confidence}


def _columns(rows: Sequence[Answer]) -> AnswerColumns:
    """Explanations as columns."""
    return {name: [row[name] for row in rows] for name in EXPLANATION}


def with_kept_columns(columns: AnswerColumns, batch: InputBatch) -> AnswerColumns:
    """A table of answers to a batch, with the columns of the input table that are kept, after the row number.

    A kept column that has the name of another column is called `input_NAME`.

    Args:
        columns: columns of `answer_columns`, `probability_columns` or `node_value_columns`.
        batch: the inputs.
    """
    if not batch.kept:
        return columns
    places = {number: place for place, number in enumerate(batch.numbers)}
    rows = [places[number] for number in columns["row"]]
    names = kept_names(list(batch.kept), columns)
    kept = {names[name]: [cells[row] for row in rows] for name, cells in batch.kept.items()}
    return {"row": columns["row"], **kept, **columns}


def kept_names(kept: Sequence[str], others: Collection[str]) -> dict[str, str]:
    """Name of each kept column in a table of answers: its own, after `input_` if another column is called so.

    Args:
        kept: names of the columns in the input table.
        others: names of the columns of the answers.

    Example:
        >>> kept_names(["shop", "id"], ["row", "class", "id"])
        {'shop': 'shop', 'id': 'input_id'}
    """
    taken, names = {*others, *kept}, {}
    for name in kept:
        names[name] = name
        while names[name] in others or (names[name] != name and names[name] in taken):
            names[name] = f"input_{names[name]}"
        taken.add(names[name])
    return names


def level_columns(taxonomy: Taxonomy) -> list[str]:
    """Names of the columns of the levels: those of the taxonomy's levels, else level_1, level_2, ….

    A name that another column has is followed by the number of its level.

    Args:
        taxonomy: tree of the answers.

    Example:
        >>> tree = Taxonomy.from_paths([("mammals", "cats"), ("mammals", "dogs")])
        >>> level_columns(tree), level_columns(tree.with_ranks(["class", "family"]))
        (['level_1', 'level_2'], ['class_1', 'family'])
    """
    numbers = [f"level_{level}" for level in range(1, taxonomy.height + 1)]
    if not taxonomy.ranks:
        return numbers
    taken = {*ANSWER_COLUMNS, *STOP_COLUMNS, *EXPLANATION}
    pairs = enumerate(taxonomy.ranks, start=1)
    names = [
        f"{rank}_{level}" if rank.casefold() in taken or rank.endswith(LEVEL_CONFIDENCE) else rank
        for level, rank in pairs
    ]
    return names if len({*names}) == len(names) else numbers


def is_level_column(name: str) -> bool:
    """Whether a column of a table of answers is that of a level."""
    return name not in {*ANSWER_COLUMNS, *STOP_COLUMNS, *EXPLANATION} and not name.endswith(LEVEL_CONFIDENCE)


def _listed_columns(
    batch: InputBatch, posterior: Posterior, listed: ShortList, *, level_confidences: bool
) -> AnswerColumns:
    """Columns of short lists, one row for each listed class."""
    rows, ranks = np.nonzero(listed.classes >= 0)
    nodes = posterior.taxonomy.leaves[listed.classes[rows, ranks]]
    return {
        "row": [batch.numbers[row] for row in rows.tolist()],
        **_shown(batch.inputs, rows),
        "rank": (ranks + 1).tolist(),
        **_named(posterior, rows, nodes, level_confidences=level_confidences),
        "score": rounded_values(listed.values[rows, ranks]),
        "confidence": rounded_values(listed.probabilities[rows, ranks]),
    }


def _stop_columns(posterior: Posterior, decision: Decision) -> AnswerColumns:
    """Level at which each answer stopped, and the likeliest node below it with its probability."""
    below = next_nodes(posterior, decision)
    names = np.array([*posterior.taxonomy.names, ""], dtype=object)
    return {
        "level": decision.levels.tolist(),
        "next": names[below].tolist(),
        "next_confidence": rounded_values(posterior.of_nodes(below), below >= 0),
    }


def next_nodes(posterior: Posterior, decision: Decision) -> IntArray:
    """The likeliest child of each answer, shape (M,); -1 for a class."""
    return posterior.best_child(decision.nodes)


def _shown(inputs: Inputs, rows: IntArray) -> AnswerColumns:
    """Column that identifies the inputs of the given rows; none for vectors."""
    shown = [inputs.shown(row) for row in range(len(inputs))] if inputs.kind != "vectors" else []
    return {name: [shown[row][name] for row in rows] for name in shown[0]} if shown else {}


def _named(posterior: Posterior, rows: IntArray, nodes: IntArray, *, level_confidences: bool) -> AnswerColumns:
    """Names of nodes and their ancestors, one column a level; the class, if it is one; ids if the taxonomy has ids."""
    taxonomy = posterior.taxonomy
    names = np.array([*taxonomy.names, ""], dtype=object)  # index -1 gives ""
    if taxonomy.is_tree:
        paths = dict(zip(level_columns(taxonomy), taxonomy.path_table(nodes).T, strict=True))
        columns: AnswerColumns = {column: names[path].tolist() for column, path in paths.items()}
        if level_confidences:
            own = posterior.rows(rows)
            probabilities = {column: own.of_nodes(path) for column, path in paths.items()}
            columns |= {
                column + LEVEL_CONFIDENCE: rounded_values(values, paths[column] >= 0)
                for column, values in probabilities.items()
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


def rounded_values(values: NDArray[np.floating], shown: NDArray[np.bool_] | None = None) -> list[float | None]:
    """Each value with at most six decimals, the same float as from `round`; None where it is not shown.

    The nearest multiple of a millionth is that of the product with a million, unless the product is so close to the
    middle between two integers that its own rounding could matter.

    Args:
        values: values, shape (M,).
        shown: whether each value is shown, shape (M,); all by default.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # infinity, which is rounded below
        scaled = np.asarray(values, dtype=np.float64) * 1e6
        whole = np.rint(scaled)
        is_clear = (np.abs(np.abs(scaled - whole) - 0.5) > 1e-3) & (np.abs(scaled) < 2.0**40)  # false for nan
    rounded: list[float | None] = (whole / 1e6).tolist()
    for row in np.flatnonzero(~is_clear).tolist():
        rounded[row] = round(float(values[row]), 6)
    if shown is not None:
        for row in np.flatnonzero(~shown).tolist():
            rounded[row] = None
    return rounded


def answer_rows(
    batch: InputBatch, posterior: Posterior, rule: Rule, *, top: int | None = None, **shown: Any
) -> list[Answer]:
    """The answer to each input of a batch as a dict, a row of `answer_columns`, as in the JSON of `hiercos predict`.

    Args:
        batch: B inputs.
        posterior: probabilities of the inputs.
        rule: decision rule that chooses the answers.
        top: number of classes to list as `top`, a list of dicts, the answer of rules for classes first; None for none.
        **shown: further arguments of `answer_columns`.
    """
    answers = _table_rows(answer_columns(batch, posterior, rule, **shown))
    if top is None:
        return answers
    listed: dict[int, list[Answer]] = {answer["row"]: [] for answer in answers}
    for each in _table_rows(answer_columns(batch, posterior, rule, top=top, **shown)):
        listed[each["row"]].append({name: value for name, value in each.items() if name not in IDENTIFYING_COLUMNS})
    return [{**answer, "top": listed[answer["row"]]} for answer in answers]


def _table_rows(columns: AnswerColumns) -> list[Answer]:
    """Rows of a table as dicts."""
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def probability_columns(batch: InputBatch, posterior: Posterior) -> AnswerColumns:
    """Probabilities of a batch of inputs, one column for each node, level by level; its heading is the path.

    Args:
        batch: B inputs.
        posterior: probabilities of the inputs.
    """
    return node_value_columns(batch, np.minimum(posterior.nodes, 1.0), posterior.taxonomy)


def node_value_columns(batch: InputBatch, values: Floats, taxonomy: Taxonomy) -> AnswerColumns:
    """Values of all nodes for a batch of inputs, shape (B, N), as columns; see `probability_columns`."""
    nodes = {taxonomy.path_text(node): values[:, node].tolist() for node in range(taxonomy.num_nodes)}
    return {"row": list(batch.numbers), **nodes}
