"""A model behind a name: what the service knows about it besides its answers."""

import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from hiercos.data import INPUT_KINDS
from hiercos.decisions import AnswerRequest, BackOff, Posterior
from hiercos.model import BaseClassifier, level_columns
from hiercos.records import Record
from hiercos.storage import Folder, opened, sha256
from hiercos.taxonomy import IntArray, Taxonomy, is_at_or_above, nodes_of_labels

CONFIDENCES = tuple(np.round(np.arange(0.5, 0.995, 0.01), 2).tolist())  # of the curve, as on the page's slider
CURVE_NUMBERS = 4_000_000  # probabilities of nodes that a curve is measured on
EXAMPLES = 4


@dataclass(frozen=True, eq=False)
class ServedModel:
    """A loaded model with its name."""

    name: str  # name in requests
    path: Path | None  # folder or file that it was loaded from, which no answer shows
    model: BaseClassifier[Any]
    config: Any = None  # settings of a pass over inputs; None for the usual ones
    digest: str = ""  # SHA-256 of the model's files
    facts: dict[str, Any] = field(default_factory=dict)  # JSON values of `GET /model`

    @property
    def taxonomy(self) -> Taxonomy:
        """Taxonomy of the classes."""
        return self.model.taxonomy


def served_model(name: str, path: Path | Folder | None, model: BaseClassifier[Any], config: Any = None) -> ServedModel:
    """A loaded model with its facts: from its folder, if it has one, also the metrics, the curve and the examples."""
    files = opened(path) if isinstance(path, Folder) or (path is not None and path.is_dir()) else None
    path = path.path if isinstance(path, Folder) else path
    file = b"" if path is None or files is not None else path.read_bytes()
    digest = sha256(file if files is None else json.dumps(dict(files.sums), sort_keys=True).encode())
    taxonomy, facts = model.taxonomy, dict[str, Any]()
    record = None if files is None else Record.find(files, model.rule.name)
    if files is not None and record is not None:
        from hiercos.training import read_report_inputs

        metrics = {name: None if math.isnan(value) else value for name, value in record.metrics.items()}
        sizes = {"data": record.data["name"], "rows": record.data["sizes"], "learned": record.learned}
        facts = {**sizes, "method": record.method, "metrics": metrics, "curve": _curve(files)}
        stored = [*read_report_inputs(files).values()]
        some = stored[:: max(1, len(stored) // EXAMPLES)][:EXAMPLES]  # their names may be paths of this machine
        shown = ("text", "image") if model.columns is None else ()  # what a folder keeps of columns is no row
        facts["examples"] = [{kind: each[kind] for kind in shown if kind in each} for each in some]
    nothing = dict.fromkeys(("method", "data", "rows", "learned", "curve"))
    own = {
        "name": name,
        "hash": digest,
        "kind": model.kind,
        "kinds": list(model.kinds),
        "columns": {column: kind for column, kind in (model.columns or {}).items() if kind in INPUT_KINDS},
        "rule": model.rule.name,
        "classes": taxonomy.num_classes,
        "nodes": taxonomy.num_nodes,
        "levels": level_columns(taxonomy) if taxonomy.is_tree else ["ancestors"],
        "guarantee": AnswerRequest().guarantee(model.rule),
    }
    return ServedModel(name, path, model, config, digest, {**own, **nothing, "metrics": {}, "examples": [], **facts})


def _curve(files: Folder) -> list[dict[str, float]] | None:
    """Precision and coverage at each confidence, measured on held-out rows; None if there are none."""
    from hiercos.training import HELD_OUT, tested_run

    if HELD_OUT not in files:
        return None
    held_out = tested_run(files, held_out=True)
    most = max(1, CURVE_NUMBERS // held_out.posterior.taxonomy.num_nodes)
    rows = np.unique(np.linspace(0, len(held_out.labels) - 1, most).astype(np.int64))
    return measured_curve(held_out.posterior.rows(rows), held_out.labels[rows]) if len(held_out.labels) else None


def measured_curve(posterior: Posterior, labels: IntArray) -> list[dict[str, float]]:
    """Precision and coverage of answers by back-off at each of `CONFIDENCES`, on M rows with their labels (M,).

    `precision` is the share of the answers other than "cannot say" that contain the label, `coverage` the share of rows
    with such an answer, `classes` the share answered with a class.
    """
    taxonomy = posterior.taxonomy
    true, points = nodes_of_labels(labels, taxonomy), []
    for confidence in CONFIDENCES:
        nodes = BackOff(confidence=confidence)(posterior).nodes
        answered = nodes >= 0
        right = is_at_or_above(nodes[answered, None], true[answered], taxonomy)
        points.append(
            {
                "confidence": confidence,
                "precision": float(right.mean()) if len(right) else 1.0,
                "coverage": float(answered.mean()),
                "classes": float(np.isin(nodes, taxonomy.leaves).mean()),
                "rows": len(labels),
            }
        )
    return points
