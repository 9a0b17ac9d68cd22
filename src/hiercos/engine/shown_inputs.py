"""Inputs of the worst test samples of a run, stored as texts or thumbnails for its report."""

import base64
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hiercos.data import Inputs
from hiercos.decisions import Posterior
from hiercos.manifest import Manifest
from hiercos.options import json_object, schema_faults
from hiercos.records import RunError
from hiercos.taxonomy import IntArray

if TYPE_CHECKING:
    from PIL.Image import Image

INPUTS = "inputs.json"
WORST, PAIRS, OF_PAIR = 200, 20, 5  # worst mistakes; most confused pairs of classes, and samples of each
LONGEST_TEXT, SIDE = 500, 72  # characters of a text, pixels of a thumbnail
THUMBNAIL = "data:image/jpeg;base64,"  # begin of every stored image, so that a report loads nothing from elsewhere
_SCHEMA: dict[str, Any] = {"row": int, "name": str, "text": str | None, "image": str | None}


def telling_rows(posterior: Posterior, labels: IntArray) -> IntArray:
    """Rows of the mistakes that a report shows: the worst, and some of each of the most confused pairs of classes.

    A mistake is worse the farther the likeliest class is from the true one, then the more probable it is.

    Args:
        posterior: posterior of M samples.
        labels: class of each sample, shape (M,); samples labelled with an inner node are left out.

    Returns:
        Rows in ascending order, at most WORST + PAIRS * OF_PAIR; none for a graph that is not a tree.
    """
    taxonomy, answers = posterior.taxonomy, posterior.scores.argmax(axis=1)
    if not taxonomy.is_tree:
        return np.empty(0, dtype=np.int64)
    wrong = np.flatnonzero((answers != labels) & (labels < taxonomy.num_classes))
    true, answered = (taxonomy.path_table(taxonomy.leaves[each[wrong]]) for each in (labels, answers))
    common = ((true == answered) & (true >= 0)).sum(axis=1)
    worst = wrong[np.lexsort((-posterior.classes[wrong, answers[wrong]], common))][:WORST]
    pairs, members, counts = np.unique(
        np.stack([labels[wrong], answers[wrong]], axis=1), axis=0, return_inverse=True, return_counts=True
    )
    frequent = np.argsort(-counts, kind="stable")[: min(PAIRS, len(pairs))]
    confused = [wrong[np.flatnonzero(members.reshape(-1) == pair)[:OF_PAIR]] for pair in frequent]
    found: IntArray = np.unique(np.concatenate([worst, *confused]))
    return found


def shown_inputs(inputs: Inputs, rows: IntArray) -> dict[str, str]:
    """The file INPUTS with the inputs of the given rows, by its name; none for vectors, which nobody can look at."""
    if inputs.kind == "vectors":
        return {}
    shown = [{"row": row, "name": inputs.name(row), **_shown(inputs, row)} for row in rows.tolist()]
    return {INPUTS: json.dumps({"inputs": shown}, ensure_ascii=False) + "\n"}


def read_shown_inputs(folder: Path) -> dict[int, dict[str, Any]]:
    """Stored inputs of a run by row of the test split, each with its name and a "text" or an "image"; may be empty."""
    path, files = folder / INPUTS, Manifest.of(folder)
    if INPUTS not in files or files.is_removed(INPUTS):  # removed to keep the inputs private
        return {}
    stored = json_object(path, files.content(INPUTS), RunError).get("inputs")
    if not isinstance(stored, list) or any(not isinstance(each, dict) for each in stored):
        raise RunError(f"{path}: expected a list of inputs")
    faults = [f"{path}: {fault}" for each in stored for fault in schema_faults(each, _SCHEMA)]
    if not faults and not all((each.get("image") or THUMBNAIL).startswith(THUMBNAIL) for each in stored):
        faults = [f"{path}: image: expected a text that begins with {THUMBNAIL}"]
    if faults:
        raise RunError(faults)
    return {each["row"]: each for each in stored}


def _shown(inputs: Inputs, row: int) -> dict[str, str]:
    [value] = inputs.values([row])
    if inputs.kind == "images":
        return {"image": thumbnail(value)}
    return {"text": value if len(value) <= LONGEST_TEXT else value[: LONGEST_TEXT - 1] + "…"}


def thumbnail(image: "Image") -> str:
    """An image as a small JPEG in a data URI, at most SIDE pixels wide and high."""
    small, stream = image.convert("RGB"), io.BytesIO()
    small.thumbnail((SIDE, SIDE))
    small.save(stream, "JPEG", quality=70)
    return THUMBNAIL + base64.b64encode(stream.getvalue()).decode("ascii")
