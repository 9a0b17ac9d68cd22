"""Folder of a finished run: its record, the scores of its test and held-out samples, and the inputs of the worst."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hiercos import storage
from hiercos.checks import json_object, schema_faults
from hiercos.data import ColumnInputs, Inputs, read_npz
from hiercos.decisions import Posterior, Rule
from hiercos.model import TAXONOMY, ClassScores, read_model_json, stored_calibration, stored_rule
from hiercos.records import CHECKPOINT, MEMBERS, Record, RunError, holds_finished_run, refuse_finished_run
from hiercos.taxonomy import AnyArray, Floats, IntArray, Taxonomy
from hiercos.taxonomy.formats import taxonomy_from_dict
from hiercos.training.checkpoint import remove_checkpoints

if TYPE_CHECKING:
    from PIL.Image import Image

SCORES, INPUTS = "test/scores.npz", "test/inputs.json"
HELD_OUT = "held-out/scores.npz"  # of validation or out-of-fold samples of a class
WORST, PAIRS, OF_PAIR = 200, 20, 5  # worst mistakes; most confused pairs of classes, and samples of each
LONGEST_TEXT, SIDE = 500, 72  # characters of a text, pixels of a thumbnail
THUMBNAIL = "data:image/jpeg;base64,"  # begin of every stored image, so that a report loads nothing from elsewhere
_SCHEMA: dict[str, Any] = {"row": int, "name": str, "text": str | None, "image": str | None}


def rows_for_report(posterior: Posterior, labels: IntArray) -> IntArray:
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
    if isinstance(inputs, ColumnInputs):
        value = inputs.sentence(row)
    return {"text": value if len(value) <= LONGEST_TEXT else value[: LONGEST_TEXT - 1] + "…"}


def thumbnail(image: Image) -> str:
    """An image as a small JPEG in a data URI, at most SIDE pixels wide and high."""
    small, stream = image.convert("RGB"), io.BytesIO()
    small.thumbnail((SIDE, SIDE))
    small.save(stream, "JPEG", quality=70)
    return THUMBNAIL + base64.b64encode(stream.getvalue()).decode("ascii")


@dataclass(frozen=True, eq=False)
class TestedRun:
    """Test samples of a finished run, from its stored scores."""

    posterior: Posterior  # posterior of M test samples
    labels: IntArray  # label of each, a class index or C + node, shape (M,)
    stored_hops: Mapping[str, Floats]  # HOPS of each, shape (M,), by `rule_key`

    def hops(self, rule: Rule) -> Floats | None:
        """HOPS of each sample under a rule, shape (M,), nan where it does not count; None if it is not stored.

        It is stored for the rules that were measured when the run ended.
        """
        return self.stored_hops.get(rule_key(rule))


def tested_run(folder: Path | storage.Folder, *, held_out: bool) -> TestedRun:
    """The test samples of the run in a folder, or those that were held out while it was trained."""
    files = storage.opened(folder)
    temperature, weights = stored_calibration(files)
    taxonomy = taxonomy_from_dict(read_model_json(files, TAXONOMY))
    scores, labels, hops = stored_scores(files, taxonomy, HELD_OUT if held_out else SCORES)
    posterior = scores.posterior(taxonomy, temperature, weights)
    return TestedRun(posterior, labels, hops)


class StoredScores(NamedTuple):
    """Content of a file of scores of a run."""

    scores: ClassScores  # class scores of the M samples
    labels: IntArray  # their labels, shape (M,)
    hops: Mapping[str, Floats]  # HOPS of each sample, shape (M,), by `rule_key`; empty if they are not stored


def stored_scores(files: storage.Folder, taxonomy: Taxonomy, name: str = SCORES) -> StoredScores:
    """Read the file SCORES or HELD_OUT of a finished run."""
    path, optional = files.path / name, ("evidence", "rules", "hops")
    arrays = read_npz(path, arrays=("scores", "labels"), optional=optional, content=files.content(name))
    scores, labels = arrays["scores"], arrays["labels"]
    if scores.dtype.kind != "f" or scores.ndim != 2 or scores.shape[1] != taxonomy.num_classes:
        shape = f"(samples, {taxonomy.num_classes})"
        raise RunError(f"{path}: expected scores of shape {shape}, got {scores.dtype} of {scores.shape}")
    evidence = arrays.get("evidence")
    if evidence is not None and (evidence.dtype.kind != "f" or evidence.shape != scores.shape):
        raise RunError(f"{path}: expected evidence of shape {scores.shape}, got {evidence.dtype} of {evidence.shape}")
    if labels.dtype.kind not in "iu" or labels.shape != scores.shape[:1]:
        raise RunError(f"{path}: expected {len(scores)} labels, got {labels.dtype} of shape {labels.shape}")
    if len(labels) and not 0 <= labels.min() <= labels.max() <= taxonomy.num_classes + taxonomy.num_nodes:
        raise RunError(f"{path}: expected labels of the taxonomy, got {labels.min()} to {labels.max()}")
    hops = _hops_by_rule(arrays.get("rules", np.empty(0)), arrays.get("hops", np.empty(0)), len(labels))
    return StoredScores(ClassScores(scores, evidence), labels.astype(np.int64, copy=False), hops)


def _hops_by_rule(rules: AnyArray, hops: AnyArray, samples: int) -> dict[str, Floats]:
    """HOPS of the samples by the key of each rule; none if the arrays do not fit each other."""
    if rules.ndim != 1 or hops.dtype != np.float64 or hops.shape != (len(rules), samples):
        return {}
    return dict(zip(map(str, rules), hops, strict=True))


def scores_file(scores: ClassScores, labels: IntArray, hops: Sequence[tuple[Rule, Floats]] = ()) -> bytes:
    """Content of the file SCORES or HELD_OUT of a run.

    Args:
        scores: class scores of the M samples.
        labels: their labels, shape (M,).
        hops: rules with the HOPS of each sample under them, shape (M,); see `TestedRun.hops`.
    """
    stream = io.BytesIO()
    arrays: dict[str, Any] = {"scores": scores.classes, "labels": labels}
    arrays |= {
        "rules": np.array([rule_key(rule) for rule, _ in hops]),
        "hops": np.array([values for _, values in hops]),
    }
    if scores.evidence is not None:
        arrays["evidence"] = scores.evidence
    np.savez(stream, **arrays)
    return stream.getvalue()


def rule_key(rule: Rule) -> str:
    """SHA-256 of a rule with its parameters and what was fitted."""
    return hashlib.sha256(json.dumps(rule.to_dict(), sort_keys=True).encode()).hexdigest()


def earlier_record(record: Record, folder: Path, rule: str, temperature: float | None) -> Record | None:
    """Stored record under a rule, if it is of the same run (and of the given temperature); None otherwise."""
    found = Record.find(folder, rule)
    same = found is not None and found.identity == record.identity and temperature in (None, found.temperature)
    return found if same else None


def finished_record(folder: Path, identity: dict[str, object], rule: Rule, *, resume: bool) -> Record | None:
    """Record of a finished run of these settings, if the folder has one; None otherwise."""
    if not resume:
        refuse_finished_run(folder)
    if not resume and ((folder / CHECKPOINT).exists() or (folder / MEMBERS).exists()):
        raise RunError(
            f"{folder}: already holds an unfinished run; continue it with --resume, or choose another folder"
        )
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
    """Remove what only an unfinished run needs: checkpoints and inner models."""
    remove_checkpoints(folder)
    shutil.rmtree(folder / MEMBERS, ignore_errors=True)
