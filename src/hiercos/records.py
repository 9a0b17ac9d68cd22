"""A run as a JSON record: settings, data, taxonomy and results. Plain Python."""

import dataclasses
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hiercos.errors import FaultsError
from hiercos.files import write_atomically

RECORD_FILE = "record.json"
CONFIG = "config.json"  # of the model; written last, so that it marks a complete folder


def record_file(rule: str) -> str:
    """File name of a run's record under a decision rule."""
    return RECORD_FILE if rule == "none" else f"record-{rule}.json"


def line_name(method: str, rule: str) -> str:
    """Name of a method with a rule in tables and figures."""
    return method if rule == "none" else f"{method} + {rule}"


class RecordError(FaultsError):
    """A record that cannot be read."""


class RunError(FaultsError):
    """A folder that a run cannot be written to."""


def holds_finished_run(folder: Path) -> bool:
    """Whether a folder holds the record of a run and its complete model."""
    return (folder / RECORD_FILE).exists() and (folder / CONFIG).exists()


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
        tuning: search on validation data that chose the settings: its budget, criterion, seed, the chosen trial and all
            trials with their settings and values; None without a search.
        choice: what the method's solver chose and why, as a sentence; "" without one.
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
    tuning: Mapping[str, Any] | None = None
    choice: str = ""

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
        return line_name(self.method, self.rule)

    @property
    def identity(self) -> dict[str, Any]:
        """Settings, data and taxonomy, equal for two runs that are the same run."""
        return run_identity(self.config, self.data, self.taxonomy)

    def write(self, folder: Path) -> None:
        """Write the record into a folder, atomically; nan becomes null."""
        write_atomically(folder / record_file(self.rule), json.dumps(self._values(), indent=2) + "\n")

    @classmethod
    def read(cls, folder: Path, rule: str = "none") -> "Record":
        """Read the record of a folder under a rule.

        Raises:
            RecordError: for a file that is not a record.
        """
        path = folder / record_file(rule)
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
            metrics = {name: math.nan if value is None else value for name, value in values["metrics"].items()}
            return cls(**{**values, "metrics": metrics})
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise RecordError(f"{path}: not a record of a run ({error})") from error

    @classmethod
    def find(cls, folder: Path, rule: str) -> "Record | None":
        """Record of a folder under a rule, see `read`; None if the folder has none."""
        return cls.read(folder, rule) if (folder / record_file(rule)).is_file() else None


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
