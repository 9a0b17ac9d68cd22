"""`hiercos report`: one HTML file from a finished run or comparison, or its tables in Markdown or LaTeX."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hiercos.cli.options.common import check_out, check_target
from hiercos.cli.options.groups import check_option, grouped, say
from hiercos.storage import write

if TYPE_CHECKING:
    from hiercos.benchmark import ReportSource
    from hiercos.report import Results

TABLES = {"md": "markdown", "tex": "latex"}  # formats of the tables alone


@grouped
def report(
    *,
    folder: Annotated[Path, typer.Argument(help="Folder of hiercos train or hiercos compare.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="File to write.", show_default="FOLDER/report.html, or FOLDER/results.md or .tex"
        ),
    ] = None,
    format: Annotated[str, typer.Option(help="html, or the tables alone as md (Markdown) or tex (LaTeX).")] = "html",
    variant: Annotated[
        str,
        typer.Option(
            help="Variant whose answers are analysed: a method, or 'method + rule'.",
            show_default="the recommended one",
        ),
    ] = "",
    no_inputs: Annotated[
        bool, typer.Option("--no-inputs", help="Leave out the texts and images of the test samples, for private data.")
    ] = False,
    figures: Annotated[bool, typer.Option("--figures", help="Also write every figure as an SVG file.")] = False,
) -> None:
    """Write the report of a finished run or comparison: one HTML file that works offline, or its tables."""
    check_option("--format", format, ("html", *TABLES))
    path = output or folder / ("report.html" if format == "html" else f"results.{format}")
    figure_folder = path.with_name(f"{path.stem}-figures")
    if output is not None or folder.is_dir():
        check_target("--output", path)
        if figures:
            check_out(figure_folder, "--figures")
    from hiercos.benchmark import ReportSource
    from hiercos.report import report_figures, results_text, write_figures, write_report

    source = ReportSource.read(folder)
    results = _results(source)
    analysis = source.analysis(variant, with_inputs=not no_inputs) if format == "html" or figures else None
    if figures:
        drawings = {name: figure.drawing for name, figure in report_figures(results, analysis).items()}
        written = write_figures(drawings, figure_folder)
        say(f"{len(written)} figures are in {figure_folder}.")
    if format == "html":
        say(write_report(results, path, analysis))
    else:
        write(path, results_text(results, TABLES[format]))
        say(f"The tables are in {path}.")


def _results(source: "ReportSource") -> "Results":
    """The tables of a source."""
    from hiercos.report import Statement, comparison_results, learning_curve_results, run_results

    if source.has_curves:
        return learning_curve_results(source.records)
    if not source.statements:
        return run_results(source.records, source.recommended)
    found = [Statement.from_dict(values) for values in source.statements]
    return comparison_results(
        source.records,
        reference=source.reference or None,
        advice=[statement for statement in found if statement.kind != "gain"],  # which is made anew from the records
        recommended=source.recommended,
        recommended_seed=source.recommended_seed,
        row_spread=source.row_spread,
    )
