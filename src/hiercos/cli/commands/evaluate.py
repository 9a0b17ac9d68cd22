"""`hiercos evaluate`: metrics of a model, or of predictions in a file."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hiercos.cli.display.metric_tables import MetricChoice, difference_rows, write_rows
from hiercos.cli.display.output import FORMATS, Row, check_format, chosen_format, emit, file_format
from hiercos.cli.labelled_predictions import (
    ERROR_COLUMNS,
    LabelledPredictions,
    breakdown_rows,
    changed_answers,
    check_levels,
    file_predictions,
    model_predictions,
    read_predictions,
)
from hiercos.cli.options import common as options
from hiercos.cli.options.answers import AnswerOptions
from hiercos.cli.options.common import LoadOptions, check_target, opened_model_folder
from hiercos.cli.options.groups import ColumnOptions, DeviceOptions, OptionError, grouped, say

if TYPE_CHECKING:
    from hiercos.evaluation import LabelledImages, SampleMetrics
    from hiercos.taxonomy import Taxonomy


@dataclass(frozen=True)
class ScoreFiles:
    """Options for prediction files of other programs."""

    scores: Annotated[
        Path | None,
        typer.Option(
            help="Scores or ranked class names (.npz, .csv, .parquet), or answers by image (.csv, .json). Options for "
            "answers need probabilities."
        ),
    ] = None
    taxonomy: Annotated[Path | None, typer.Option(help="File with the label tree; only with --scores.")] = None
    labels: Annotated[
        Path | None, typer.Option(help="Table of paths and labels; only with --scores of answers by image.")
    ] = None
    against: Annotated[
        Path | None,
        typer.Option(
            help="Another file of the same samples: differences with a paired test; or with MODEL an older model: the "
            "answers that change."
        ),
    ] = None

    def read(self, columns: ColumnOptions) -> tuple["Taxonomy", "LabelledImages | None"]:
        """The label tree, and the labels if they are in a separate file."""
        from hiercos.data import PATH_COLUMN
        from hiercos.evaluation import read_labelled_images
        from hiercos.taxonomy import open_taxonomy

        if self.taxonomy is None:
            raise OptionError("--scores: expected --taxonomy FILE with it")
        tree = open_taxonomy(self.taxonomy)
        if self.labels is None:
            return tree, None
        names = {"input_column": columns.input_column or PATH_COLUMN, "label_column": columns.label_column}
        return tree, read_labelled_images(self.labels, tree, **names)


@dataclass(frozen=True)
class BreakdownOptions:
    """Options for breakdowns of the metrics by class, level or confidence, and for the operating curve."""

    by: Annotated[
        Literal["level", "class", "confidence"] | None,
        typer.Option(
            help="A row for each level and node, or for each class; confidence: for each level, how often answers "
            "of some probability are right.",
            show_default="a row for each metric",
        ),
    ] = None
    curve: Annotated[
        Path | None,
        typer.Option(help="File (.csv) for precision against coverage of every rule; a figure beside it."),
    ] = None

    errors: Annotated[
        Path | None, typer.Option(help="File (.csv, .json, .parquet) for the wrong answers, the farthest ones first.")
    ] = None

    def check(self, files: ScoreFiles, answers: AnswerOptions) -> None:
        """Raise for files that cannot be written, and for options that exclude each other."""
        if self.errors is not None:
            file_format("--errors", self.errors)
        check_target("--errors", self.errors)
        for written in () if self.curve is None else (self.curve, self.curve.with_suffix(".html")):
            check_target("--curve", written)
        if files.against is not None and self.by is not None:
            raise OptionError("expected at most one of --against and --by")
        for option, given in (("--taxonomy", files.taxonomy), ("--labels", files.labels)):
            if files.scores is None and given is not None:
                raise OptionError(f"{option}: expected --scores with it; a model and its data have their own")
        if files.against is not None and self.needs_probabilities(answers):
            raise OptionError("--against: expected no --rule, --curve or other option for answers with it")
        if files.scores is not None and answers.has_target:
            raise OptionError(
                "--scores: expected --confidence in place of a target: a file has no held-out samples to reach it on"
            )

    def needs_probabilities(self, answers: AnswerOptions) -> bool:
        """Whether scores must be probabilities, because answers are chosen or their confidence is measured."""
        return answers != AnswerOptions() or self.by == "confidence" or bool(self.curve or self.errors)


@grouped
def evaluate(
    *,
    model: Annotated[Path | None, typer.Argument(help="Folder that hiercos train wrote.", show_default=False)] = None,
    data: Annotated[str | None, typer.Argument(help="Labelled data, as for hiercos train.", show_default=False)] = None,
    files: ScoreFiles,
    columns: ColumnOptions,
    device_options: DeviceOptions,
    answers: AnswerOptions,
    loading: LoadOptions,
    choice: MetricChoice,
    breakdown: BreakdownOptions,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the bootstrap and the paired test.")] = 0,
    format: Annotated[
        str | None,
        typer.Option(help=f"{', '.join(FORMATS)}; by default the extension of --output."),
    ] = None,
    workers: options.Workers = 0,
    batch_size: options.BatchSize = None,
    output: options.Output = None,
    csv_safe: options.CsvSafe = False,
) -> None:
    """Metrics with 95% intervals of a MODEL on the test rows of DATA, or of the predictions in a file (--scores).

    All rows of data without splits are used, unless the model was trained on them.
    """
    chosen = chosen_format(format, output, "table")
    check_format(chosen, output)
    choice.check(of_metrics=breakdown.by is None)
    breakdown.check(files, answers)
    answers.check(model)  # before torch is imported
    if files.scores is not None and model is not None:
        raise OptionError(
            f"unexpected argument {model}: --scores goes without MODEL and DATA, and --output names the file to write"
        )
    check_target("--output", output)
    if files.scores is not None and not breakdown.needs_probabilities(answers):
        rows = _file_rows(files, columns, breakdown.by, seed)
    elif files.against is not None and model is not None and data is not None:
        read_config = partial(device_options.read_config, batch_size, workers)
        folders = (opened_model_folder(model), opened_model_folder(files.against))
        rows = changed_answers(*folders, loading, data, columns, read_config)
    else:
        opened: LabelledPredictions
        if files.scores is not None:
            opened = file_predictions(files.scores, *files.read(columns), answers)
        elif files.against is None and model is not None and data is not None:
            read_config = partial(device_options.read_config, batch_size, workers)
            opened = model_predictions(opened_model_folder(model), loading, data, columns, answers, read_config)
        else:
            raise OptionError("expected MODEL and DATA, or --scores and --taxonomy (with or without --against)")
        rows = opened.rows(breakdown.by, seed)
        if breakdown.curve is not None:
            _write_curve(opened, breakdown.curve, seed)
        if breakdown.errors is not None:
            form = file_format("--errors", breakdown.errors)
            emit(opened.errors(), form, breakdown.errors, csv_safe=csv_safe, columns=ERROR_COLUMNS)
    write_rows(
        rows if breakdown.by or (files.against and model) else choice.rows(rows, chosen),
        chosen,
        output,
        csv_safe=csv_safe,
    )


def _file_rows(files: ScoreFiles, columns: ColumnOptions, breakdown: str | None, seed: int) -> "Sequence[Row]":
    """Rows of the metrics of a prediction file, or of its differences to another one."""
    from hiercos.evaluation import sample_metrics

    assert files.scores is not None
    tree, labels = files.read(columns)
    check_levels(tree, breakdown)
    samples = sample_metrics(read_predictions(files.scores, tree, labels), tree)
    if files.against is None:
        return breakdown_rows(samples, tree, breakdown, seed)
    other = sample_metrics(read_predictions(files.against, tree, labels), tree)
    _check_same_samples(samples, other, files.scores, files.against, tree)
    return difference_rows(samples, other, seed=seed)


def _check_same_samples(
    samples: "SampleMetrics", other: "SampleMetrics", scores: Path, against: Path, taxonomy: "Taxonomy"
) -> None:
    """Raise a `DataError` unless two files hold the same labels in the same order."""
    from hiercos.errors import DataError
    from hiercos.taxonomy import nodes_of_labels

    if len(samples.labels) != len(other.labels):
        raise DataError(f"{against}: expected the {len(samples.labels)} samples of {scores}, got {len(other.labels)}")
    differing = (samples.labels != other.labels).nonzero()[0]
    if len(differing):
        row = int(differing[0])
        nodes = (int(nodes_of_labels(each.labels, taxonomy)[row]) for each in (samples, other))
        mine, theirs = ("root" if node < 0 else taxonomy.short_text(node) for node in nodes)
        raise DataError(f"{against}: sample {row + 1}: expected the label {mine!r} as in {scores}, got {theirs!r}")


def _write_curve(opened: LabelledPredictions, path: Path, seed: int) -> None:
    """Write the operating points of every rule as a table, the areas to stderr, and a figure beside the table."""
    from hiercos.evaluation import curve_areas, curve_rows
    from hiercos.report import write_curve_figure

    rows = curve_rows(opened.posterior(), seed=seed)
    emit(rows, "csv", path)
    areas = ", ".join(f"{name} {area:.4f}" for name, area in curve_areas(rows).items())
    say(f"Area under containment against coverage: {areas}.")
    say(write_curve_figure(rows, path.with_suffix(".html")))
