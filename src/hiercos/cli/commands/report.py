"""`hiercos report`: one HTML file from a finished run or comparison."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hiercos.cli.options.common import check_out, check_target
from hiercos.cli.options.groups import check_option, grouped

if TYPE_CHECKING:
    from hiercos.benchmark import ReportSource
    from hiercos.report import Results


@grouped
def report(
    *,
    folder: Annotated[Path, typer.Argument(help="Folder of hiercos train or hiercos compare.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write.", show_default="FOLDER/report.html")
    ] = None,
    variant: Annotated[
        str,
        typer.Option(
            "--variant",
            "--line",  # the older name
            help="Variant whose answers are analysed: a method, or 'method + rule'.",
            show_default="the recommended one",
        ),
    ] = "",
    no_inputs: Annotated[
        bool, typer.Option("--no-inputs", help="Leave out the texts and images of the test samples, for private data.")
    ] = False,
    figures: Annotated[
        str | None, typer.Option(help="Also write every figure as a file: svg, pdf or png.", show_default="no files")
    ] = None,
) -> None:
    """Write the report of a finished run or comparison: one HTML file that works offline."""
    if figures is not None:
        check_option("--figures", figures, ("svg", "pdf", "png"))
    path = output or folder / "report.html"
    figure_folder = path.with_name(f"{path.stem}-figures")
    if output is not None or folder.is_dir():
        check_target("--output", path)
        if figures is not None:
            check_out(figure_folder, "--figures")
    from hiercos.benchmark import ReportSource
    from hiercos.report import report_figures, write_figures, write_report

    source = ReportSource.read(folder)
    results, analysis = _results(source), source.analysis(variant, with_inputs=not no_inputs)
    if figures is not None:
        drawings = {name: figure.drawing for name, figure in report_figures(results, analysis).items()}
        written = write_figures(drawings, figure_folder, figures)
        typer.echo(f"{len(written)} figures are in {written[0].parent}.", err=True)
    typer.echo(write_report(results, path, analysis), err=True)


def _results(source: "ReportSource") -> "Results":
    """The tables of a source."""
    from hiercos.report import INTERVALS, comparison_results, learning_curve_results, read_statements, run_results

    interval = next((known for known in INTERVALS if known == source.interval), next(iter(INTERVALS)))
    if source.has_curves:
        return learning_curve_results(source.records, interval=interval)
    if not source.verdict:
        return run_results(source.records, source.recommended)
    found = read_statements(source.statements, source.verdict)
    advice = [statement for statement in found if statement.kind != "gain"]  # which is made anew from the records
    return comparison_results(
        source.records,
        reference=source.reference or None,
        interval=interval,
        advice=advice if source.statements else found[1:],
        recommended=source.recommended,
        row_spread=source.row_spread,
    )
