"""Options of the commands that compare runs, and how their results are told."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hiercos.cli.display.output import check_format
from hiercos.cli.options.groups import check_option

if TYPE_CHECKING:
    from hiercos.benchmark import Tuning
    from hiercos.records import Record
if TYPE_CHECKING:
    from hiercos.report import Interval, Results


@dataclass(frozen=True)
class TuneOptions:
    """How long to search each method's settings, and for what."""

    tune: Annotated[
        int, typer.Option(min=0, help="Trials of each method's settings, on validation alone; those given are one.")
    ] = 0
    tune_for: Annotated[str, typer.Option(help="What the best trial is highest in: top1 or hops.")] = "top1"

    def tuning(self) -> "Tuning | None":
        """The search asked for, if any."""
        from hiercos.benchmark import Tuning

        check_option("--tune-for", self.tune_for, ("top1", "hops"))
        return Tuning(self.tune, "hops" if self.tune_for == "hops" else "top1") if self.tune else None


def tell_tuning(records: "Sequence[Record]") -> None:
    """Say on stderr for each method which settings a search chose, and what they reached on validation."""
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
    """How results are shown."""

    format: Annotated[
        str, typer.Option(help="table, markdown, latex, csv or json to standard output, or parquet into --out.")
    ] = "table"
    interval: Annotated[
        str, typer.Option(help="sample: intervals from the sample deviation; published: as in the published tables.")
    ] = "sample"

    @property
    def convention(self) -> "Interval":
        """The interval asked for, which must be known."""
        from hiercos.report import INTERVALS

        check_option("--interval", self.interval, INTERVALS)
        return next(known for known in INTERVALS if known == self.interval)

    def check(self) -> None:
        """Raise an `OptionError` for what cannot be used, before any work is done."""
        check_format(self.format, Path("results.parquet"))
        self.convention  # noqa: B018  # an unknown one is an error

    def tell(self, results: "Results", out: Path) -> None:
        """Leave results.csv, .md, .tex, .json and report.html in a folder, and print the form that was asked for."""
        from hiercos.cli.display.output import emit
        from hiercos.cli.display.tables import print_results
        from hiercos.report import results_text, write_results

        report = write_results(results, out)
        if self.format == "table":
            print_results(results)
        elif self.format == "parquet":
            emit(results.rows, "parquet", out / "results.parquet")
        else:
            typer.echo(results_text(results, self.format), nl=False)
        typer.echo(results.verdict, err=self.format != "table")
        typer.echo(report, err=True)


@dataclass(frozen=True)
class ComparisonOptions(ResultOptions):
    """How a comparison is shown."""

    reference: Annotated[
        str | None,
        typer.Option(
            help="Line the others are set against: a method, or 'method + rule'; by default the best flat one."
        ),
    ] = None

    def named_reference(self, names: Collection[str]) -> str | None:
        """The reference as tables will call it, or none; one that is not among these names is an error."""
        from hiercos.methods import DEFAULT, DEFAULT_RULE, METHODS
        from hiercos.records import line_name
        from hiercos.report import checked_reference

        if self.reference is None:
            return None
        method, _, rule = (part.strip() for part in self.reference.partition("+"))
        if method == DEFAULT:
            return checked_reference(line_name(METHODS.canonical(DEFAULT), rule or DEFAULT_RULE), names)
        return checked_reference(self.reference, names)
