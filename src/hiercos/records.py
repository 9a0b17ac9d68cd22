"""A run as a JSON record: settings, data, taxonomy and results. Plain Python."""

import dataclasses
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hiercos.errors import FaultsError
from hiercos.manifest import MANIFEST, Manifest, replace_file
from hiercos.options import fits, json_object, positive_fault, schema_faults

RECORD_FILE = "record.json"
CONFIG = "config.json"  # of the model
MANIFEST_VERSION = 5  # first version of model folders with a manifest
CHECKPOINT, PREVIOUS_CHECKPOINT = "checkpoint.safetensors", "checkpoint-previous.safetensors"
RESULTS_TABLE, RUNS = "results.csv", "runs"  # table and folder of runs of a comparison
MEMBERS = "members"  # folder of the inner models of an unfinished run


def record_file(rule: str) -> str:
    """File name of a run's record under a decision rule."""
    return RECORD_FILE if rule == "none" else f"record-{rule}.json"


def variant_name(method: str, rule: str) -> str:
    """Name of a method with a rule in tables and figures."""
    return method if rule == "none" else f"{method} + {rule}"


class RecordError(FaultsError):
    """A record that cannot be read."""


class RunError(FaultsError):
    """A folder that a run cannot be written to."""


def holds_finished_run(folder: Path) -> bool:
    """Whether a folder holds the record of a run and its complete model."""
    if (folder / MANIFEST).exists() or not (folder / CONFIG).exists():
        return RECORD_FILE in Manifest.of(folder) and (folder / MANIFEST).exists()
    version = json_object(folder / CONFIG, (folder / CONFIG).read_bytes(), RunError).get("version")
    return (folder / RECORD_FILE).exists() and isinstance(version, int) and version < MANIFEST_VERSION


def can_resume(folder: Path) -> bool:
    """Whether a folder holds a run that `resume` continues: a checkpoint of it or of an inner model, or all of it."""
    own = [folder / name for name in (CHECKPOINT, PREVIOUS_CHECKPOINT, MANIFEST)]
    return any(path.is_file() for path in (*own, *(folder / MEMBERS).glob(f"*/{CHECKPOINT}")))


def refuse_finished_run(folder: Path) -> None:
    """Raise a `RunError` if a folder holds a finished run."""
    if holds_finished_run(folder):
        raise RunError(f"{folder}: already holds a finished run; choose another folder")


@dataclass(frozen=True)
class Record:
    """One finished run.

    Attributes:
        method: name of the method in the registry.
        uses_tree: whether the method learns from the taxonomy, or only its classes.
        rule: decision rule on the scores; "none" for the method's own order.
        temperature: temperature of the posterior, fitted on validation; None without a rule.
        seed: seed of the run.
        config: training settings as JSON values.
        data: name, source, fingerprint and sizes of the data.
        taxonomy: fingerprint and shape of the taxonomy.
        metrics: metrics of the test split by name; nan where a metric is undefined.
        history: number, loss, top1, hops, seconds and log_loss of each epoch.
        best_epoch: number of the epoch whose weights were kept.
        train_seconds: seconds spent in training and validation.
        versions: versions of Python and of the packages that a result depends on.
        environment: threads, processes, device and numerical libraries, which can change the last bits of a result;
            None in older records.
        tuning: search on validation data that chose the settings: its budget, criterion, seed, the chosen trial and all
            trials with their settings and values; None without a search.
        choice: what the method's solver chose and why, as a sentence; "" without one.
        fitted_rule: the rule with its fitted parameters, see `Rule.to_dict`; None without one and in older records.
    """

    method: str
    uses_tree: bool
    rule: str
    seed: int
    config: Mapping[str, Any]
    data: Mapping[str, Any]
    taxonomy: Mapping[str, Any]
    metrics: Mapping[str, float]
    history: list[Mapping[str, float]]
    best_epoch: int
    train_seconds: float
    versions: Mapping[str, str]
    temperature: float | None = None
    environment: Mapping[str, Any] | None = None
    tuning: Mapping[str, Any] | None = None
    choice: str = ""
    fitted_rule: Mapping[str, Any] | None = None

    def __eq__(self, other: object) -> bool:
        """Whether two records say the same; an undefined metric equals an undefined one."""
        return self._values() == other._values() if isinstance(other, Record) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.method, self.rule, self.seed))

    def _values(self) -> dict[str, Any]:
        """The fields as JSON writes them: nan becomes None."""
        metrics = {name: _null_for_nan(value) for name, value in self.metrics.items()}
        return {**dataclasses.asdict(self), "metrics": metrics}

    @property
    def name(self) -> str:
        """Name of a method with a rule in tables and figures."""
        return variant_name(self.method, self.rule)

    @property
    def validation_top1(self) -> float:
        """Top-1 accuracy on validation of the epoch whose weights were kept; minus infinity without epochs."""
        return self.history[self.best_epoch - 1]["top1"] if self.history else -math.inf

    @property
    def epochs(self) -> float:
        """Number of epochs trained; nan for a model whose weights a solver found, which leaves one entry."""
        planned = self.config.get("epochs")
        is_shorter = len(self.history) == 1 and isinstance(planned, int) and planned > 1
        return math.nan if self.choice or is_shorter else len(self.history)

    @property
    def identity(self) -> dict[str, Any]:
        """Settings, data and taxonomy, equal for two runs that are the same run."""
        return run_identity(self.config, self.data, self.taxonomy)

    def to_json(self) -> str:
        """The record as JSON text; nan becomes null."""
        return json.dumps(self._values(), indent=2) + "\n"

    def write(self, folder: Path) -> None:
        """Write the record into a folder, atomically, and list it in the folder's manifest if there is one."""
        replace_file(folder, record_file(self.rule), self.to_json())

    @classmethod
    def read(cls, folder: Path | Manifest, rule: str = "none") -> "Record":
        """Read the record of a folder under a rule.

        Raises:
            RecordError: for a file that is not a record.
            ManifestError: for a file that was changed after it was written.
        """
        files = Manifest.at(folder)
        path = files.folder / record_file(rule)
        values = json_object(path, files.content(path.name), RecordError, finite=False)
        if faults := record_faults(values):
            raise RecordError(f"{path}: not a record of a run: {fault}" for fault in faults)
        metrics = {name: math.nan if value is None else value for name, value in values["metrics"].items()}
        return cls(**{**values, "metrics": metrics})

    @classmethod
    def find(cls, folder: Path | Manifest, rule: str) -> "Record | None":
        """Record of a folder under a rule, see `read`; None if the folder has none."""
        files = Manifest.at(folder)
        return cls.read(files, rule) if record_file(rule) in files else None


SCHEMA: dict[str, Any] = {
    "method": str,
    "uses_tree": bool,
    "rule": str,
    "seed": int,
    "config": dict,
    "data": dict,
    "taxonomy": dict,
    "metrics": dict,
    "history": list,
    "best_epoch": int,
    "train_seconds": float,
    "versions": dict,
    "temperature": float | None,
    "environment": dict | None,
    "tuning": dict | None,
    "choice": str | None,
    "fitted_rule": dict | None,
}
FINGERPRINTED = ("data", "taxonomy")  # objects that a run is identified by


def record_faults(values: Mapping[str, Any]) -> list[str]:
    """Faults of the JSON values of a record: unknown or missing keys, wrong types, values out of range."""
    faults = [f"unknown key {key!r}" for key in values if key not in SCHEMA] + schema_faults(values, SCHEMA)
    if faults:
        return faults
    faults += [
        f"{owner}.fingerprint: expected a text, got {values[owner].get('fingerprint')!r}"
        for owner in FINGERPRINTED
        if not isinstance(values[owner].get("fingerprint"), str)
    ]
    faults += [
        f"metrics.{name}: expected a number or null, got {value!r}"
        for name, value in values["metrics"].items()
        if not fits(value, float | None)
    ]
    faults += [
        f"history[{index}]: expected an object, got {each!r}"
        for index, each in enumerate(values["history"])
        if not isinstance(each, dict)
    ]
    if values["best_epoch"] < 0 or (values["history"] and values["best_epoch"] > len(values["history"])):
        faults.append(f"best_epoch: expected at most {len(values['history'])}, got {values['best_epoch']}")
    if values.get("temperature") is not None:
        faults += positive_fault("temperature", values["temperature"])
    return faults


def run_identity(config: Mapping[str, Any], data: Mapping[str, Any], taxonomy: Mapping[str, Any]) -> dict[str, Any]:
    """Settings, data and taxonomy as flat JSON values that can be compared one by one."""
    flat = {
        **config,
        "data": data["fingerprint"],
        "features": data["features"],
        "taxonomy": taxonomy["fingerprint"],
        **({"backbone": data["backbone"]} if "backbone" in data else {}),
    }
    return dict(json.loads(json.dumps(flat)))


def _null_for_nan(value: float) -> float | None:
    return None if math.isnan(value) else value
