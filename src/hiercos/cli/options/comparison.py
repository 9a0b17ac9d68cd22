"""Options of the commands that compare runs (search, results, model to ship), and the printing of their results."""

import json
import shlex
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hiercos.cli.display.output import check_format
from hiercos.cli.options.groups import OptionError, option_words
from hiercos.cli.options.training import OF_BACKBONE, record_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hiercos.benchmark import Tuning
    from hiercos.data import Dataset
    from hiercos.evaluation import Analysis
    from hiercos.records import Record
    from hiercos.report import Recommendation, Results, Statement

SLOW_ENTRIES = 5_000_000  # ranked classes of a variant's test rows and seeds that take some seconds


@dataclass(frozen=True)
class TuneOptions:
    """Options of the search of each method's settings."""

    tune: Annotated[
        int,
        typer.Option(min=0, help="Trials in the search of each method's settings, including the given ones."),
    ] = 0

    def tuning(self) -> "Tuning | None":
        """The search, or None if there is none."""
        from hiercos.benchmark import Tuning

        return Tuning(self.tune) if self.tune else None


@dataclass(frozen=True)
class CurveOptions:
    """Options of learning curves."""

    shots: Annotated[
        str | None,
        typer.Option(
            help="Learning curves: training samples of a class, as 1,2,5,all; each seed draws its own.",
            show_default="all, no curves",
        ),
    ] = None

    def check(self) -> None:
        """Raise an `OptionError` for shots that are neither numbers above 0 nor all."""
        for text in self._texts:
            if text != "all" and not (text.isdecimal() and int(text) > 0):
                raise OptionError(f"--shots {self.shots}: expected numbers of at least 1, or all, got {text!r}")

    @property
    def _texts(self) -> list[str]:
        return [] if self.shots is None else [part.strip() for part in self.shots.split(",")]

    def points(self) -> list[int | None]:
        """The numbers of samples in ascending order, None (all) last."""
        texts = self._texts
        numbers: list[int | None] = [*sorted({int(text) for text in texts if text != "all"})]
        return numbers + [None] * ("all" in texts)


def print_tuning(records: "Sequence[Record]") -> None:
    """Print to stderr the settings that the search chose for each method, with their validation result."""
    for method, tuning in {record.method: record.tuning for record in records if record.tuning}.items():
        best, given = (tuning["trials"][number] for number in (tuning["chosen"], 0))
        settings = ", ".join(f"{name} {value}" for name, value in best["settings"].items())
        values = f"{_value(best, tuning['criterion'])}; as given {_value(given, tuning['criterion'])}"
        typer.echo(
            f"{method}: of {tuning['budget']} trials, number {tuning['chosen']} is best on validation "
            f"({tuning['criterion']} {values}): {settings}",
            err=True,
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
        typer.echo(report, err=True)


@dataclass(frozen=True)
class ComparisonOptions(ResultOptions):
    """Options of the output of a comparison."""

    reference: Annotated[
        str | None,
        typer.Option(
            help="Variant to compare the others with: a method, or 'method + rule'; by default the best flat one."
        ),
    ] = None

    def named_reference(self, names: Collection[str]) -> str | None:
        """The name of the reference in tables, or None; a reference that is not among `names` is an error."""
        from hiercos.decisions import RULES
        from hiercos.methods import DEFAULT, DEFAULT_RULE, METHODS
        from hiercos.records import variant_name
        from hiercos.report import checked_reference

        if self.reference is None:
            return None
        method, _, rule = (part.strip() for part in self.reference.partition("+"))
        method, rule = METHODS.real_name(method), RULES.real_name(rule)
        if method == DEFAULT:
            return checked_reference(variant_name(DEFAULT, rule or DEFAULT_RULE), names)
        return checked_reference(variant_name(method, rule) if rule else method, names)


@dataclass(frozen=True)
class ShipOptions:
    """Option for a copy of the recommended model."""

    ship: Annotated[
        Path | None, typer.Option(help="New folder for the recommended model, with its rule.", show_default=False)
    ] = None

    def check(self) -> None:
        """Raise for a folder that exists, before any work is done."""
        if self.ship is not None:
            from hiercos.benchmark import check_shipping

            check_shipping(self.ship)

    def copy(self, record: "Record", out: Path) -> None:
        """Copy the model of a record from the folder of a comparison, if a folder was given."""
        if self.ship is None:
            return
        from hiercos.benchmark import ship_model

        ship_model(record, out, self.ship)
        typer.echo(f"The model {record.name} of seed {record.seed} is in {self.ship}.", err=True)


def recommended(
    records: "Sequence[Record]", dataset: "Dataset", out: Path
) -> "tuple[Recommendation, dict[str, dict[str, float]]]":
    """The recommended variant, from the answers of all variants to the test rows, and the intervals over these rows."""
    import numpy as np

    from hiercos.evaluation import AnswerTable
    from hiercos.report import recommend, summarize

    trained, tested = (dataset.labels[dataset.rows(split)] for split in ("train", "test"))
    tested = tested[tested < dataset.taxonomy.num_classes]  # top-1 is of the rows labelled with a class
    counts = np.bincount(trained[trained < dataset.taxonomy.num_classes], minlength=1)
    share = float((tested == counts.argmax()).mean())
    entries = len(tested) * dataset.taxonomy.num_classes * len({record.seed for record in records})
    announce = _announce_ranking if entries >= SLOW_ENTRIES else None
    answers = AnswerTable.of(records, out, announce=announce)
    variants = summarize(answers.answered(records))
    found = recommend(variants, answers.difference, most_frequent=share, tests=len(tested))
    return found, answers.spread()


def _announce_ranking(variant: str) -> None:
    typer.echo(f"Computing HOPS and log loss of each test row under {variant}.", err=True)


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
