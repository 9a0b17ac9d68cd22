"""Options of the output of commands that compare runs, and its printing."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hiercos.cli.display.output import check_format

if TYPE_CHECKING:
    from hiercos.evaluation import Analysis
    from hiercos.report import Results


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
