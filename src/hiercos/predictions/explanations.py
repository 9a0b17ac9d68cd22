"""Explanations of answers: probabilities and energies along the path of the answer and of its runner-up."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from hiercos.decisions import Decision, Posterior
from hiercos.taxonomy import IntArray, Taxonomy, is_at_or_above


def runner_up_classes(posterior: Posterior, decision: Decision) -> IntArray:
    """The likeliest class that is not at or below each answer, shape (M,); -1 if there is none, as for the root."""
    taxonomy, scores = posterior.taxonomy, np.array(posterior.scores, dtype=np.float64)
    for node in np.unique(decision.nodes):
        inside = is_at_or_above(np.full((taxonomy.num_classes, 1), node), taxonomy.leaves, taxonomy)[:, 0]
        scores[np.ix_(decision.nodes == node, inside)] = -np.inf
    best = scores.argmax(axis=1)
    return np.where(np.take_along_axis(scores, best[:, None], axis=1)[:, 0] == -np.inf, -1, best)


def nodes_down_to(node: int, taxonomy: Taxonomy) -> Sequence[int]:
    """Nodes from level 1 down to a node; in a graph its ancestors, the shallowest first; none for the root."""
    if node < 0 or taxonomy.is_tree:
        return taxonomy.path(node)
    above: list[int] = taxonomy.ancestors.list(node).tolist()
    return above


def explanations(posterior: Posterior, decision: Decision) -> list[dict[str, Any]]:
    """The reason for each answer: what the rule chose it by, and the probabilities along its path and the runner-up's.

    Args:
        posterior: probabilities of M samples, and their energies for Hier-COS.
        decision: their answers.

    Returns:
        One dict per sample: `criterion` and `value` of the answer; `path` and `runner_up`, lists of `node`,
        `probability` and, for Hier-COS, `energy` (its share on the axis of the node) from level 1 down. The runner-up
        is the likeliest class that is not at or below the answer.

    Example:
        >>> from hiercos.decisions import rule
        >>> from hiercos.taxonomy import Taxonomy
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> posterior = Posterior([[0.5, 0.125, 0.375]], t)
        >>> explanations(posterior, rule("none")(posterior))[0]["runner_up"]
        [{'node': 'vehicle', 'probability': 0.375}, {'node': 'car', 'probability': 0.375}]
    """
    rivals = runner_up_classes(posterior, decision)
    return [
        {
            "criterion": decision.criterion,
            "value": float(decision.values[row]),
            "path": _steps(posterior, row, node),
            "runner_up": _steps(posterior, row, int(posterior.taxonomy.leaves[rival]) if rival >= 0 else -1),
        }
        for row, (node, rival) in enumerate(zip(decision.nodes.tolist(), rivals.tolist(), strict=True))
    ]


def _steps(posterior: Posterior, row: int, node: int) -> list[dict[str, Any]]:
    taxonomy, energies = posterior.taxonomy, posterior.energies
    return [
        {
            "node": taxonomy.names[step],
            "probability": min(float(posterior.nodes[row, step]), 1.0),
            **({} if energies is None else {"energy": float(energies[row, step])}),
        }
        for step in nodes_down_to(node, taxonomy)
    ]


def explanation_columns(posterior: Posterior, decision: Decision) -> dict[str, list[Any]]:
    """The explanations as columns: `criterion`, `probability_1` …, `runner_up_1` … and `runner_up_probability_1` …

    Energies are `energy_1` … and `runner_up_energy_1` …. The numbers are levels, in a graph places among the ancestors;
    "" and None beyond the end of a path.
    """
    found, levels = explanations(posterior, decision), range(int(posterior.taxonomy.ancestor_counts.max()))
    columns: dict[str, list[Any]] = {"criterion": [decision.criterion] * len(found)}
    keys = ("probability",) if posterior.energies is None else ("probability", "energy")
    for key in keys:
        columns |= {f"{key}_{level + 1}": [_cell(each["path"], level, key) for each in found] for level in levels}
    for level in levels:
        columns[f"runner_up_{level + 1}"] = [_cell(each["runner_up"], level, "node") or "" for each in found]
    for key in keys:
        name = f"runner_up_{key}_"
        columns |= {f"{name}{level + 1}": [_cell(each["runner_up"], level, key) for each in found] for level in levels}
    return columns


def _cell(steps: list[dict[str, Any]], level: int, key: str) -> Any:
    if level >= len(steps):
        return None
    value = steps[level][key]
    return round(value, 6) if isinstance(value, float) else value
