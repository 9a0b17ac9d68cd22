"""Label Studio: answers as its `taxonomy` results, tasks with predictions, and the routes of its ML backend."""

from collections.abc import Sequence
from typing import Any

from hiercos.evaluation import ReviewRow
from hiercos.taxonomy import Taxonomy

NAME = "taxonomy"  # of the tag that Label Studio's configuration has


def prediction(taxonomy: Taxonomy, node: int, score: float, *, to_name: str, version: str) -> dict[str, Any]:
    """A prediction of a task: a node as the names on its path; no result for the root."""
    path = [taxonomy.names[step] for step in (taxonomy.path(node) if taxonomy.is_tree else [node]) if step >= 0]
    result = {"from_name": NAME, "to_name": to_name, "type": "taxonomy", "value": {"taxonomy": [path]}}
    return {"model_version": version, "score": score, "result": [result] if node >= 0 else []}


def tasks(rows: Sequence[ReviewRow], taxonomy: Taxonomy, version: str) -> list[dict[str, Any]]:
    """Rows to review as tasks to import, with the node that the model is sure of, if any, as the prediction."""
    found = []
    for row in rows:
        kind = next(iter(row.shown))
        own = prediction(taxonomy, row.node, round(row.confidence, 6), to_name=kind, version=version)
        data: dict[str, Any] = {"row": row.number, **row.shown}
        found.append({"data": data, "predictions": [own] if row.node >= 0 else []})
    return found
