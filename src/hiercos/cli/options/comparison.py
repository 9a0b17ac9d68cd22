"""Options of the output of commands that compare runs, its printing, and the recommended variant."""

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hiercos.cli.display.output import check_format
from hiercos.cli.options.groups import option_words, say
from hiercos.cli.options.training import OF_BACKBONE, record_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hiercos.data import Dataset
    from hiercos.evaluation import Analysis
    from hiercos.records import Record
    from hiercos.report import Recommendation, Results, Statement

FLATTERED = "the test rows themselves, which flatters it, because a run has stored no others"
FEW_ROWS = 300  # validation rows, with fewer of which cross-fitting is worth its time
SLOW_ENTRIES = 5_000_000  # ranked classes of a variant's rows and seeds that take some seconds


def print_tuning(records: "Sequence[Record]") -> None:
    """Print to stderr the settings that the search chose for each method, with their validation result."""
    for method, tuning in {record.method: record.tuning for record in records if record.tuning}.items():
        best, given = (tuning["trials"][number] for number in (tuning["chosen"], 0))
        settings = ", ".join(f"{name} {value}" for name, value in best["settings"].items())
        values = f"{_value(best, tuning['criterion'])}; as given {_value(given, tuning['criterion'])}"
        say(
            f"{method}: of {tuning['budget']} trials, number {tuning['chosen']} is best on validation "
            f"({tuning['criterion']} {values}): {settings}"
        )


def _value(trial: dict[str, float | None], criterion: str) -> str:
    value = trial[criterion]
    return "failed" if value is None else f"{value:.4f}"


@dataclass(frozen=True)
class ResultOptions:
    """Options of the output of results."""

    format: Annotated[
        str, typer.Option(help="table, markdown, latex, csv or json to standard output, or parquet to --out.")
    ] = "table"

    def check(self) -> None:
        """Raise an `OptionError` for an invalid option, before any work is done."""
        check_format(self.format, Path("results.parquet"))

    def show(self, results: "Results", out: Path, analysis: "Analysis | None" = None) -> None:
        """Write results.csv, results.json and report.html to a folder, and print the results in `format`."""
        from hiercos.cli.display.output import emit
        from hiercos.cli.display.tables import print_results
        from hiercos.report import results_text, write_results

        report = write_results(results, out, analysis)
        if self.format == "table":
            print_results(results, str(out / "report.html"))
        elif self.format == "parquet":
            emit(results.rows, "parquet", out / "results.parquet")
        else:
            typer.echo(results_text(results, self.format), nl=False)
        typer.echo(str(results.verdict), err=self.format != "table")
        say(report)


def recommended(
    records: "Sequence[Record]", dataset: "Dataset", out: Path, purpose: str
) -> "tuple[Recommendation, dict[str, dict[str, float]]]":
    """The recommended variant, from the answers of all variants, and the intervals over the test rows.

    The rows that were held out in training decide; test rows where a run has not stored any.
    """
    from hiercos.evaluation import AnswerTable
    from hiercos.records import RUNS
    from hiercos.report import Evidence, recommend, summarize
    from hiercos.storage import opened
    from hiercos.training import HELD_OUT

    classes = dataset.taxonomy.num_classes
    tests = int((dataset.labels[dataset.rows("test")] < classes).sum())
    held_out = all(HELD_OUT in opened(out / RUNS / each.method / f"seed-{each.seed}") for each in records)
    deciding = AnswerTable.of(records, out, held_out=held_out)
    tested = AnswerTable.of(records, out) if held_out else deciding
    seeds, count = deciding.values(records[0].name, "top1").shape
    if seeds * count * classes >= SLOW_ENTRIES:
        say("Comparing the variants row by row, by HOPS and log loss too: with this many classes it takes a while.")
    kind = "validation" if records[0].data["sizes"]["val"] else "held-out training"
    rows = f"{count} {kind} rows" if held_out else FLATTERED
    if held_out and kind == "validation" and count < FEW_ROWS:
        rows += " (few; --folds 5 lets all training rows choose)"
    variants = summarize(tested.answered(records))
    evidence = Evidence(deciding.values, rows, held_out)
    advised = recommend(variants, evidence, tested.difference, tests=tests, purpose=purpose)
    return advised, tested.spread()


def command_statement(record: "Record", data: str, backbone: Mapping[str, Any], *others: Any) -> "Statement":
    """The statement with the command that trains the model of a record.

    Args:
        record: record of a run and rule.
        data: data argument of the comparison.
        backbone: options of the backbone by name.
        *others: the other option groups that `compare` and `train` share.
    """
    from hiercos.report import Statement

    words = option_words(*others)
    for name, value in backbone.items():
        words += ["--set", f"{OF_BACKBONE}{name}={value if isinstance(value, str) else json.dumps(value)}"]
    command = shlex.join(["hiercos", "train", data, *words, *record_words(record), "--out", "MODEL"])
    return Statement("command", command, subject="To train it")
