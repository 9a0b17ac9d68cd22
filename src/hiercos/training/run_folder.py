"""Folder of a finished run: its record, the scores of its test and held-out samples, and the inputs of the worst."""

from __future__ import annotations

import base64
import io
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hiercos import storage
from hiercos.checks import json_object
from hiercos.data import ColumnInputs, Inputs, read_npz
from hiercos.decisions import Posterior, Rule, SearchedPosterior
from hiercos.methods import MANY_CLASSES
from hiercos.model import TAXONOMY, ClassScores, read_model_json, stored_calibration, stored_rule
from hiercos.records import CHECKPOINT, MEMBERS, Record, RunError, holds_finished_run, refuse_finished_run
from hiercos.taxonomy import Floats, IntArray
from hiercos.taxonomy.formats import taxonomy_from_dict

if TYPE_CHECKING:
    from PIL.Image import Image

SCORES, INPUTS = "test/scores.npz", "test/inputs.json"
HELD_OUT = "held-out/scores.npz"  # of validation or out-of-fold samples of a class
OTHER_SCORES = ("evidence", "marginals")  # tables of `ClassScores` that are stored beside the classes, if there are any
WORST, PAIRS, OF_PAIR = 200, 20, 5  # worst mistakes; most confused pairs of classes, and samples of each
LONGEST_TEXT, SIDE = 500, 72  # characters of a text, pixels of a thumbnail
THUMBNAIL = "data:image/jpeg;base64,"  # begin of every stored image, so that a report loads nothing from elsewhere


def rows_for_report(posterior: Posterior, labels: IntArray) -> IntArray:
    """Rows of the mistakes that a report shows: the worst, and some of each of the most confused pairs of classes.

    A mistake is worse the farther the likeliest class is from the true one, then the more probable it is.

    Args:
        posterior: posterior of M samples.
        labels: class of each sample, shape (M,); samples labelled with an inner node are left out.

    Returns:
        Rows in ascending order, at most WORST + PAIRS * OF_PAIR; none for a graph that is not a tree, or many classes.
    """
    taxonomy = posterior.taxonomy
    if not taxonomy.is_tree or isinstance(posterior, SearchedPosterior):
        return np.empty(0, dtype=np.int64)
    answers = posterior.scores.argmax(axis=1)
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


def report_inputs_file(inputs: Inputs, rows: IntArray) -> dict[str, str]:
    """The file INPUTS with the inputs of the given rows, by its name; none for vectors, and without rows."""
    if inputs.kind == "vectors" or not len(rows):
        return {}
    shown = [{"row": row, "name": inputs.name(row), **_shown(inputs, row)} for row in rows.tolist()]
    return {INPUTS: json.dumps({"inputs": shown}, ensure_ascii=False) + "\n"}


def read_report_inputs(folder: Path | storage.Folder) -> dict[int, dict[str, Any]]:
    """Stored inputs of a run by row of the test split, each with its name and a "text" or an "image"; may be empty."""
    files = storage.opened(folder)
    path = files.path / INPUTS
    if INPUTS not in files or not path.exists():  # removed to keep the inputs private
        return {}
    stored = json_object(path, files.content(INPUTS), RunError)["inputs"]
    if not all(each.get("image", THUMBNAIL).startswith(THUMBNAIL) for each in stored):
        raise RunError(f"{path}: image: expected a text that begins with {THUMBNAIL}")
    return {each["row"]: each for each in stored}


def _shown(inputs: Inputs, row: int) -> dict[str, str]:
    [value] = inputs.values([row])
    if inputs.kind == "images":
        return {"image": thumbnail(value)}
    if isinstance(inputs, ColumnInputs):
        value = inputs.sentence(row)
    return {"text": value if len(value) <= LONGEST_TEXT else value[: LONGEST_TEXT - 1] + "…"}


def thumbnail(image: Image) -> str:
    """An image as a small JPEG in a data URI, at most SIDE pixels wide and high."""
    small, stream = image.convert("RGB"), io.BytesIO()
    small.thumbnail((SIDE, SIDE))
    small.save(stream, "JPEG", quality=70)
    return THUMBNAIL + base64.b64encode(stream.getvalue()).decode("ascii")


class StoredScores(NamedTuple):
    """Content of a file of scores of a run."""

    scores: ClassScores  # class scores of the M samples
    labels: IntArray  # their labels, shape (M,)
    hops: Mapping[str, Floats]  # HOPS of each sample, shape (M,), by name of the rule; nan where it does not count


class TestedRun(NamedTuple):
    """Samples of a finished run, from their stored scores."""

    posterior: Posterior  # posterior of M samples
    labels: IntArray  # label of each, a class index or C + node, shape (M,)
    hops: Mapping[str, Floats]  # HOPS of each, see `StoredScores`, under the rules that were measured at the end


def tested_run(folder: Path | storage.Folder, *, held_out: bool) -> TestedRun:
    """The test samples of the run in a folder, or those that were held out while it was trained."""
    files = storage.opened(folder)
    temperature, weights = stored_calibration(files)
    taxonomy = taxonomy_from_dict(read_model_json(files, TAXONOMY))
    scores, labels, hops = stored_scores(files, HELD_OUT if held_out else SCORES)
    return TestedRun(scores.posterior(taxonomy, temperature, weights), labels, hops)


def stored_scores(files: storage.Folder, name: str = SCORES) -> StoredScores:
    """Read the file SCORES or HELD_OUT of a finished run."""
    if name not in files:
        raise RunError(f"{files.path}: expected {name}, which runs of {MANY_CLASSES:,} classes have not: use evaluate")
    known, path = ("scores", "labels", "rules", "hops"), files.path / name
    arrays = read_npz(path, arrays=known, optional=OTHER_SCORES, content=files.content(name))
    hops = dict(zip(map(str, arrays["rules"]), arrays["hops"], strict=True))
    others = {name: arrays[name] for name in OTHER_SCORES if name in arrays}
    return StoredScores(ClassScores(arrays["scores"], **others), arrays["labels"], hops)


def scores_file(scores: ClassScores, labels: IntArray, hops: Mapping[str, Floats]) -> bytes:
    """Content of the file SCORES or HELD_OUT of a run; see `StoredScores`."""
    stream = io.BytesIO()
    arrays: dict[str, Any] = {"scores": scores.classes, "labels": labels}
    arrays |= {"rules": np.array([*hops], dtype=str), "hops": np.array([*hops.values()])}
    arrays |= {name: table for name in OTHER_SCORES if (table := getattr(scores, name)) is not None}
    np.savez(stream, **arrays)
    return stream.getvalue()


def refuse_run(folder: Path) -> None:
    """Raise a `RunError` if a folder holds a run, finished or not."""
    refuse_finished_run(folder)
    if (folder / CHECKPOINT).exists() or (folder / MEMBERS).exists():
        raise RunError(
            f"{folder}: already holds an unfinished run; continue it with --resume, or choose another folder"
        )


def finished_record(folder: Path, identity: dict[str, object], rule: Rule) -> Record | None:
    """Record of a finished run of these settings, if the folder has one; None otherwise."""
    if not holds_finished_run(folder):
        return None
    files = storage.opened(folder)
    files.check(optional=(INPUTS,))
    record = Record.read(files)
    found = record.identity
    changed = sorted(key for key in identity.keys() | found.keys() if found.get(key) != identity.get(key))
    if (earlier := stored_rule(files)).name != rule.name or earlier.parameters != rule.parameters:
        changed.append("rule")
    if changed:
        raise RunError(f"{folder}: holds a finished run with another {', '.join(changed)}; choose another folder")
    return record


def remove_unfinished(folder: Path) -> None:
    """Remove what only an unfinished run needs: its checkpoint and inner models."""
    (folder / CHECKPOINT).unlink(missing_ok=True)
    shutil.rmtree(folder / MEMBERS, ignore_errors=True)
