"""A run as JSON records, one for each decision rule: settings, data, taxonomy and results. Plain Python."""

import dataclasses
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_type_hints

from hiercos import storage
from hiercos.checks import json_object, schema_faults
from hiercos.errors import FaultsError

RECORD_FILE = "record.json"  # of all rules
CHECKPOINT = "checkpoint"  # of an unfinished run
RESULTS_TABLE, RUNS = "results.csv", "runs"  # table and folder of runs of a comparison
MEMBERS = "members"  # folder of the inner models of an unfinished run


def variant_name(method: str, rule: str) -> str:
    """Name of a method with a rule in tables and figures."""
    return method if rule == "none" else f"{method} + {rule}"


class RecordError(FaultsError):
    """A record that cannot be read."""


class RunError(FaultsError):
    """A folder that a run cannot be written to."""


def holds_finished_run(folder: Path) -> bool:
    """Whether a folder holds the records of a run and its model."""
    return (folder / storage.CONFIG).exists() and RECORD_FILE in storage.opened(folder)


def refuse_finished_run(folder: Path) -> None:
    """Raise a `RunError` if a folder holds a finished run."""
    if holds_finished_run(folder):
        raise RunError(f"{folder}: already holds a finished run; choose another folder")


@dataclass(frozen=True)
class Record:
    """One finished run under one decision rule."""

    method: str  # name of the method in the registry
    uses_tree: bool  # whether the method learns from the taxonomy, or only its classes
    rule: str  # decision rule on the scores; "none" for the method's own order
    seed: int  # seed of the run
    config: Mapping[str, Any]  # training settings as JSON values
    data: Mapping[str, Any]  # name, source, fingerprint and sizes of the data
    taxonomy: Mapping[str, Any]  # fingerprint and shape of the taxonomy
    metrics: Mapping[str, float]  # metrics of the test split by name; nan where a metric is undefined
    history: list[Mapping[str, float]]  # number, loss, top1, hops, seconds and log_loss of each epoch
    best_epoch: int  # number of the epoch whose weights were kept
    train_seconds: float  # seconds spent in training and validation
    versions: Mapping[str, str]  # versions of Python and of the packages that a result depends on
    temperature: float | None = None  # temperature of the posterior, fitted on validation; None without a rule
    # threads, processes, device and numerical libraries, which can change the last bits of a result; None if it is not
    # known
    environment: Mapping[str, Any] | None = None
    # search on validation data that chose the settings: its budget, criterion, seed, the chosen trial and all trials
    # with their settings and values; None without a search
    tuning: Mapping[str, Any] | None = None
    choice: str = ""  # what the method's solver chose and why, as a sentence; "" without one
    # the rule with its fitted parameters, see `Rule.to_dict`; None without one
    fitted_rule: Mapping[str, Any] | None = None
    # number of rows that the final model learned from, where its settings and its temperature come from, the options
    # of its method as they were chosen, and how much of the data is in the folder, see `Classifier.kept`
    learned: Mapping[str, Any] | None = None

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

    def write(self, folder: Path) -> None:
        """Add the record to those of a finished run, or replace the one under its rule."""
        storage.update(folder, {RECORD_FILE: records_json([*read_records(folder).values(), self])})

    @classmethod
    def read(cls, folder: Path | storage.Folder, rule: str = "none") -> "Record":
        """Read the record of a folder under a rule; see `read_records`."""
        found = read_records(folder)
        if rule not in found:
            raise RecordError(
                f"{storage.opened(folder).path / RECORD_FILE}: there is no record under the rule {rule!r}"
            )
        return found[rule]

    @classmethod
    def find(cls, folder: Path | storage.Folder, rule: str) -> "Record | None":
        """Record of a folder under a rule, see `read_records`; None if the folder has none."""
        files = storage.opened(folder)
        return read_records(files).get(rule) if RECORD_FILE in files else None


RULES = "rules"  # key of the values that differ between the rules
OF_RULE = ("metrics", "temperature", "fitted_rule")  # the values that differ
SCHEMA = {name: kind for name, kind in get_type_hints(Record).items() if name not in (*OF_RULE, "rule")}
RULE_SCHEMA = {name: get_type_hints(Record)[name] for name in OF_RULE}


def records_json(records: Iterable[Record]) -> str:
    """Records of one run as JSON text; of two under one rule the later counts, nan becomes null.

    What does not depend on the rule is that of the last record.
    """
    values = [record._values() for record in records]
    rules = {each["rule"]: {name: each[name] for name in RULE_SCHEMA} for each in values}
    return json.dumps({**{name: values[-1][name] for name in SCHEMA}, RULES: rules}, indent=2) + "\n"


def read_records(folder: Path | storage.Folder) -> dict[str, Record]:
    """Records of a finished run by rule, "none" first."""
    files = storage.opened(folder)
    path = files.path / RECORD_FILE
    if RECORD_FILE not in files:
        raise storage.StorageError(f"{path}: there is no record of a run in this folder")
    values = json_object(path, files.content(RECORD_FILE), RecordError, finite=False)
    if faults := record_faults(values):
        raise RecordError(f"{path}: not a record of a run: {fault}" for fault in faults)
    rules = values.pop(RULES)
    found = {}
    for rule in sorted(rules, key=lambda name: (name != "none", name)):
        metrics = {name: math.nan if value is None else value for name, value in rules[rule]["metrics"].items()}
        found[rule] = Record(**{**values, **rules[rule], "rule": rule, "metrics": metrics})
    return found


def record_faults(values: Mapping[str, Any]) -> list[str]:
    """Faults of the JSON values of a file of records: unknown or missing keys and wrong types."""
    faults = [f"unknown key {key!r}" for key in values if key not in (*SCHEMA, RULES)]
    faults += schema_faults(values, {**SCHEMA, RULES: dict})
    for rule, own in {} if faults else values[RULES].items():
        faults += [f"{RULES}.{rule}.{fault}" for fault in schema_faults(own, RULE_SCHEMA)]
    return faults


def run_identity(config: Mapping[str, Any], data: Mapping[str, Any], taxonomy: Mapping[str, Any]) -> dict[str, Any]:
    """Settings, data and taxonomy as flat JSON values that can be compared one by one."""
    flat = {
        **config,
        "data": data["fingerprint"],
        **({"features": data["features"]} if "features" in data else {}),
        "taxonomy": taxonomy["fingerprint"],
        **({"backbone": data["backbone"]} if "backbone" in data else {}),
    }
    return dict(json.loads(json.dumps(flat)))


def _null_for_nan(value: float) -> float | None:
    return None if math.isnan(value) else value
