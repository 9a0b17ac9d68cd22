"""Data of a report: the records of a finished run or comparison, and the folders of its runs."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hiercos.benchmark.learning_curves import CURVES
from hiercos.checks import fits, json_object, schema_faults
from hiercos.errors import FaultsError, suggestion
from hiercos.evaluation import Analysis, VariantAnswers, analyse
from hiercos.model import stored_rule
from hiercos.records import RECORD_FILE, RUNS, Record, holds_finished_run, read_records, variant_name
from hiercos.training import read_report_inputs

RESULTS = "results.json"
NAME = re.compile(r"\w[\w.+-]*")  # of methods, rules and shots
COMPARED = 3  # further variants whose orders of the classes are shown beside the analysed one


class ReportSourceError(FaultsError):
    """A folder that no report can be made of."""


@dataclass(frozen=True)
class ReportSource:
    """Records of a run, a comparison or learning curves, each with the folder of its run."""

    folder: Path  # folder of the run or comparison
    records: Sequence[Record]  # records in the order of the tables
    # name of the recommended variant, or of a single model under its own rule; "" if there is none
    recommended: str = ""
    recommended_seed: int | None = None  # seed of the run of the recommended variant to ship; None if it is not known
    reference: str = ""  # name of the variant that the others are compared with; "" for none
    # JSON values of the statements of the verdict of a comparison; empty for a run
    statements: Sequence[Mapping[str, Any]] = ()
    # half-widths of intervals over the test rows, see `AnswerTable.spread`; empty for a run
    row_spread: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path) -> "ReportSource":
        """The source in a folder of `hiercos train` or `hiercos compare`."""
        if (folder / RESULTS).is_file():
            return cls._of_comparison(folder, _results(folder / RESULTS))
        if holds_finished_run(folder):
            records = list(read_records(folder).values())
            return cls(folder, records, recommended=_own_variant(folder, records))
        raise ReportSourceError(
            f"{folder}: expected a folder of hiercos train or hiercos compare, with {RECORD_FILE} or {RESULTS}"
        )

    @classmethod
    def _of_comparison(cls, folder: Path, results: Mapping[str, Any]) -> "ReportSource":
        rows = results.get("rows", [])
        if (
            not rows
            or not isinstance(rows, list)
            or any(not isinstance(row, dict) or "method" not in row for row in rows)
        ):
            raise ReportSourceError(
                f"{folder / RESULTS}: expected results of hiercos compare; hiercos ablate writes its own report.html"
            )
        if faults := _result_faults(results):
            raise ReportSourceError(f"{folder / RESULTS}: {fault}" for fault in faults)
        for row in rows:
            if not holds_finished_run(_run_folder(folder, row)):
                raise ReportSourceError(f"{folder / RESULTS}: names a run without a record: {_run_folder(folder, row)}")
        records = [Record.read(_run_folder(folder, row), row["rule"]) for row in rows]
        tables = results.get("tables") or [{}]
        return cls(
            folder,
            records,
            recommended=results.get("recommended", ""),
            recommended_seed=results.get("recommended_seed"),
            reference=tables[0].get("reference") or "",
            statements=results.get("statements") or (),
            row_spread=results.get("row_spread") or {},
        )

    @property
    def has_curves(self) -> bool:
        """Whether the records are those of learning curves."""
        return "shots" in self.records[0].data

    def run_folder(self, record: Record) -> Path:
        """Folder of the run of a record."""
        if holds_finished_run(self.folder):
            return self.folder
        row = {"method": record.method, "seed": record.seed, **record.data}
        return _run_folder(self.folder, row)

    def analysis(self, variant: str = "", *, with_inputs: bool = True) -> Analysis | None:
        """Analysis of the answers of one variant, of the seed to ship, or that with the best top-1 on validation.

        There is none for learning curves, and for a graph that is not a tree.

        Args:
            variant: name of the variant; by default the recommended one, else the one nearest to the truth.
            with_inputs: whether to include stored inputs.
        """
        if self.has_curves:
            return None
        names = list(dict.fromkeys(record.name for record in self.records))
        if variant and variant not in names:
            raise ReportSourceError(
                f"--variant {variant}: not among the variants of {self.folder}{suggestion(variant, names)}"
            )
        nearest = min(self.records, key=lambda record: record.metrics["ahd_at_1"]).name
        chosen = variant or self.recommended or nearest
        seed = self.recommended_seed if chosen == self.recommended else None
        own = [each for each in self.records if each.name == chosen]
        record = max(own, key=lambda each: (each.seed == seed, each.validation_top1))
        folder = self.run_folder(record)
        answers = VariantAnswers.read(record, folder)
        if not answers.taxonomy.is_tree or not len(answers.labels):
            return None
        return analyse(
            answers,
            [VariantAnswers.read(each, self.run_folder(each)) for each in self._compared(record)],
            reference=self.reference,
            seed=record.seed,
            inputs=read_report_inputs(folder) if with_inputs else {},
        )

    def _compared(self, record: Record) -> list[Record]:
        """Records of other variants with the same seed, the reference first."""
        others = [each for each in self.records if each.seed == record.seed and each.name != record.name]
        return sorted(others, key=lambda each: each.name != self.reference)[:COMPARED]


def _own_variant(folder: Path, records: Sequence[Record]) -> str:
    """Name of the variant of a model under its own rule; "" without a record of it."""
    own = variant_name(records[0].method, stored_rule(folder).name)
    return own if any(record.name == own for record in records) else ""


def _run_folder(folder: Path, row: Mapping[str, Any]) -> Path:
    """Folder of the run that a row of results names."""
    place = folder / CURVES / str(row["shots"]) if "shots" in row else folder / RUNS
    return place / str(row["method"]) / f"seed-{row['seed']}"


def _results(path: Path) -> dict[str, Any]:
    return json_object(path, path.read_bytes(), ReportSourceError, finite=False)


_ROW_SCHEMA: dict[str, Any] = {"method": str, "rule": str, "seed": int, "shots": int | str | None}
_SCHEMA: dict[str, Any] = {
    "recommended": str | None,
    "tables": list | None,
    "statements": list | None,
    "recommended_seed": int | None,
    "row_spread": dict | None,
}


def _result_faults(results: Mapping[str, Any]) -> list[str]:
    """Faults of the parts of a file of results that are read."""
    rows: list[Any] = results["rows"]
    faults = [fault for row in rows for fault in schema_faults(row, _ROW_SCHEMA)] + schema_faults(results, _SCHEMA)
    if faults:
        return faults
    tables = results.get("tables") or [{}]
    if not isinstance(tables[0], dict) or not isinstance(tables[0].get("reference") or "", str):
        faults.append("tables: expected the table of a comparison")
    if not all(isinstance(each, dict) for each in results.get("statements") or ()):
        faults.append("statements: expected a list of objects")
    spreads = (results.get("row_spread") or {}).values()
    if not all(isinstance(each, dict) and all(fits(value, float) for value in each.values()) for each in spreads):
        faults.append("row_spread: expected numbers by variant and metric")
    names = [str(row[key]) for row in rows for key in ("method", "rule", "shots") if key in row]
    return faults + [f"expected names without folders, got {name!r}" for name in names if not NAME.fullmatch(name)]
