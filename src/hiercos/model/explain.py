"""Reasons for answers: what in an input speaks for each node of the answer's path against the likeliest other class."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from hiercos.data import Inputs
from hiercos.decisions import Decision, Posterior
from hiercos.taxonomy import Floats, IntArray, Taxonomy, is_at_or_above

Answer = dict[str, Any]
MOST_REASONS, MOST_SHOWN = 5, 3  # named for a node, and of them in a line
UNAVAILABLE = "unavailable"  # reasons of a method whose scores are no sums over what it reads


class Comparisons(NamedTuple):
    """Q nodes of the paths of answers, each with the likeliest class in it and the likeliest one outside."""

    rows: IntArray  # (Q,)
    nodes: IntArray  # (Q,)
    classes: IntArray  # (Q,)
    rivals: IntArray  # (Q,)


# From inputs and comparisons to the parts of an input, such as its words, and what each adds to the log-odds of the two
# classes, for each comparison; None if there are none.
Explainer: TypeAlias = Callable[[Inputs, Comparisons], list[tuple[Sequence[str], Floats]] | None]


def nodes_down_to(node: int, taxonomy: Taxonomy) -> Sequence[int]:
    """Nodes from level 1 down to a node; in a graph its ancestors, the shallowest first; none for the root."""
    if node < 0 or taxonomy.is_tree:
        return taxonomy.path(node)
    above: list[int] = taxonomy.ancestors.list(node).tolist()
    return above


def comparisons(posterior: Posterior, paths: Sequence[Sequence[int]]) -> Comparisons:
    """The comparisons for the nodes of M paths, row by row; without nodes that no other class stands beside."""
    taxonomy = posterior.taxonomy
    rows = np.repeat(np.arange(len(paths)), [len(path) for path in paths])
    nodes = np.array([node for path in paths for node in path], np.int64)
    own, rivals = np.empty_like(nodes), np.empty_like(nodes)
    for node in np.unique(nodes):
        inside = is_at_or_above(np.full((taxonomy.num_classes, 1), node), taxonomy.leaves, taxonomy)[:, 0]
        asked = np.flatnonzero(nodes == node)
        scores = posterior.scores[rows[asked]]
        others = np.where(inside, -np.inf, scores)
        own[asked] = np.where(inside, scores, -np.inf).argmax(axis=1)
        rivals[asked] = np.where(others.max(axis=1) == -np.inf, -1, others.argmax(axis=1))
    return Comparisons(*(each[rivals >= 0] for each in (rows, nodes, own, rivals)))


def explanations(
    inputs: Inputs, posterior: Posterior, decision: Decision, explainer: Explainer | None = None
) -> list[Answer]:
    """The reasons for each answer.

    Args:
        inputs: M inputs.
        posterior: their probabilities, and their energies for Hier-COS.
        decision: their answers.
        explainer: contributions of the inputs' parts; None where there are none.

    Returns:
        One dict per input: `criterion`, what the rule chose by; `runner_up` and `runner_up_confidence`, the likeliest
        class outside the answer and its probability; `because`, the reasons for the answer in one line; and `reasons`,
        a dict for each node of its path. The likeliest class in the node is compared with `against`, the likeliest one
        outside: `features` has the parts of the input that speak most for the node, with the `weight` that each adds
        to the logarithm of how much likelier the class is than the other one, and `rest` what all else adds. For
        Hier-COS the only feature is the energy, the share of the sample on the axis of the node.

    Example:
        >>> from hiercos.data import Texts
        >>> from hiercos.decisions import rule
        >>> from hiercos.taxonomy import Taxonomy
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> posterior = Posterior([[0.5, 0.125, 0.375]], t)
        >>> (found,) = explanations(Texts(["soft"]), posterior, rule("none")(posterior))
        >>> found["runner_up"], found["runner_up_confidence"], found["because"]
        ('car', 0.375, 'unavailable')
    """
    taxonomy = posterior.taxonomy
    compared = comparisons(posterior, [nodes_down_to(node, taxonomy) for node in decision.nodes.tolist()])
    reasons = _reasons(inputs, posterior, compared, explainer)
    steps: list[list[Answer]] = [[] for _ in range(len(decision))]
    for row, node, _, rival, reason in zip(*(each.tolist() for each in compared), reasons or (), strict=False):
        against = taxonomy.short_text(int(taxonomy.leaves[rival]))
        steps[row].append({"node": taxonomy.short_text(node), "against": against, **reason})
    runners_up = np.full(len(decision), -1)
    runners_up[compared.rows] = compared.rivals  # that of the last node
    return [
        {
            "criterion": decision.criterion,
            "runner_up": "" if rival < 0 else taxonomy.short_text(int(taxonomy.leaves[rival])),
            "runner_up_confidence": None if rival < 0 else round(float(posterior.classes[row, rival]), 6),
            "because": _line(steps[row], quoted=inputs.kind == "texts") if rival < 0 or reasons else UNAVAILABLE,
            "reasons": steps[row],
        }
        for row, rival in enumerate(runners_up.tolist())
    ]


def _reasons(
    inputs: Inputs, posterior: Posterior, compared: Comparisons, explainer: Explainer | None
) -> list[Answer] | None:
    """Features of each comparison, and the rest where they are contributions; None without any."""
    rows, nodes, own, rivals = compared
    if posterior.energies is not None:
        shares = posterior.energies[rows, nodes].tolist()
        return [{"features": [{"feature": "energy", "weight": round(share, 6)}]} for share in shares]
    if explainer is None or (contributed := explainer(inputs, compared)) is None:
        return None
    totals = posterior.logs[rows, own] - posterior.logs[rows, rivals]
    return [_reason(total, *each) for total, each in zip(totals, contributed, strict=True)]


def _reason(total: float, parts: Sequence[str], weights: Floats) -> Answer:
    most = [place for place in np.argsort(-weights, kind="stable")[:MOST_REASONS] if weights[place] > 0]
    features = [{"feature": parts[place], "weight": round(float(weights[place]), 6)} for place in most]
    return {"features": features, "rest": round(float(total - weights[most].sum()), 6)}


def _line(steps: Sequence[Answer], *, quoted: bool) -> str:
    """The reasons for the last node, or the energies on all of them, as one line; "" without any."""
    if not steps:
        return ""
    features, sign = steps[-1]["features"], '"' if quoted else ""
    named = [f"{sign}{each['feature']}{sign} {each['weight']:+.1f}" for each in features[:MOST_SHOWN]]
    if "rest" not in steps[-1]:
        named = [f"energy on {step['node']} {step['features'][0]['weight']:.2f}" for step in steps]
    return f"{', '.join(named) or 'nothing'} (against {steps[-1]['against']})"
