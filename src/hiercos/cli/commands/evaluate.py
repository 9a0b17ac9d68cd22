"""`hiercos evaluate`: metrics of a model, or of predictions in a file."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hiercos.cli.display.metric_tables import (
    MetricChoice,
    check_same_samples,
    difference_rows,
    metric_rows,
    read_predictions,
    read_sample_metrics,
    write_rows,
)
from hiercos.cli.display.output import Row, check_format, chosen_format
from hiercos.cli.model_loading import held_out_samples
from hiercos.cli.options import common as options
from hiercos.cli.options.answers import AnswerOptions, BoundRequest
from hiercos.cli.options.common import LoadOptions, check_target, opened_model_folder
from hiercos.cli.options.groups import ColumnOptions, DeviceOptions, OptionError, grouped
from hiercos.manifest import Manifest
from hiercos.metric_table import AVERAGE_PRECISION

if TYPE_CHECKING:
    from hiercos.benchmark import LabelledPosterior, SampleMetrics
    from hiercos.decisions import Posterior
    from hiercos.engine import DeviceContext, LabelledSamples, ReadConfig, StoredModel
    from hiercos.predictions import LabelledImages
    from hiercos.taxonomy import IntArray, Taxonomy


LEVEL_OPTIONS = {"level": "--per-level", "reliability": "--reliability"}


@dataclass(frozen=True)
class ScoreFiles:
    """Options for prediction files of other programs."""

    scores: Annotated[
        Path | None,
        typer.Option(help="Scores or ranked class names (.npz, .csv, .parquet), or answers by image (.csv, .json)."),
    ] = None
    taxonomy: Annotated[Path | None, typer.Option(help="File with the label tree; only with --scores.")] = None
    labels: Annotated[
        Path | None, typer.Option(help="Table of paths and labels; only with --scores of answers by image.")
    ] = None
    against: Annotated[
        Path | None, typer.Option(help="Another file of the same samples: differences with a paired test.")
    ] = None

    def read(self, columns: ColumnOptions) -> tuple["Taxonomy", "LabelledImages | None"]:
        """The label tree, and the labels if they are in a separate file."""
        from hiercos.data import PATH_COLUMN
        from hiercos.predictions import read_labelled_images
        from hiercos.taxonomy import open_taxonomy

        if self.taxonomy is None:
            raise OptionError("--scores: expected --taxonomy FILE with it")
        tree = open_taxonomy(self.taxonomy)
        if self.labels is None:
            return tree, None
        names = {"path_column": columns.path_column or PATH_COLUMN, "label_column": columns.label_column}
        return tree, read_labelled_images(self.labels, tree, **names)


@dataclass(frozen=True)
class BreakdownOptions:
    """Options for breakdowns of the metrics by class, level or confidence, and for the operating curve."""

    per_class: Annotated[bool, typer.Option("--per-class", help="A row for each class.")] = False
    per_level: Annotated[bool, typer.Option("--per-level", help="A row for each level and node.")] = False
    reliability: Annotated[
        bool, typer.Option("--reliability", help="For each level, how often answers of some probability are right.")
    ] = False
    curve: Annotated[
        Path | None,
        typer.Option(help="File (.csv) for precision against coverage of every rule; a figure beside it."),
    ] = None

    @property
    def name(self) -> str | None:
        """Name of the breakdown: "class", "level" or "reliability"; None for the table of metrics."""
        named = {"class": self.per_class, "level": self.per_level, "reliability": self.reliability}
        return next((name for name, given in named.items() if given), None)

    def check(self, files: ScoreFiles, answers: AnswerOptions) -> None:
        """Raise for files that cannot be written, and for options that exclude each other."""
        for written in () if self.curve is None else (self.curve, self.curve.with_suffix(".html")):
            check_target("--curve", written)
        if sum((files.against is not None, self.per_class, self.per_level, self.reliability)) > 1:
            raise OptionError("expected at most one of --against, --per-class, --per-level and --reliability")
        for option, given in (("--taxonomy", files.taxonomy), ("--labels", files.labels)):
            if files.scores is None and given is not None:
                raise OptionError(f"{option}: expected --scores with it; a model and its data have their own")
        if files.against is not None and self.needs_probabilities(answers):
            raise OptionError("--against: expected no --rule, --curve or other option for answers with it")
        if files.scores is not None and answers.has_target:
            raise OptionError("--scores: a file has no held-out samples to reach a target on; expected a --confidence")

    def needs_probabilities(self, answers: AnswerOptions) -> bool:
        """Whether scores must be probabilities, because answers are chosen or their confidence is measured."""
        return answers != AnswerOptions() or self.reliability or self.curve is not None


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
        typer.Option(help="table, csv, json, parquet, latex or markdown; by default the extension of --output."),
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
    choice.check(of_metrics=breakdown.name is None)
    breakdown.check(files, answers)
    answers.check(model)  # before torch is imported
    if files.scores is not None and model is not None:
        raise OptionError(
            f"unexpected argument {model}: --scores goes without MODEL and DATA, --per-class and --per-level take no "
            "value, and --output names the file to write"
        )
    check_target("--output", output)
    if files.scores is not None and not breakdown.needs_probabilities(answers):
        rows = _file_rows(files, columns, breakdown.name, seed)
    else:
        if files.scores is not None:
            opened: OpenedPredictor = _open_probabilities(files, columns, answers)
        elif files.against is None and model is not None and data is not None:
            read_config = partial(device_options.read_config, batch_size, workers)
            opened = _open(opened_model_folder(model), loading, data, columns, answers, read_config)
        else:
            raise OptionError("expected MODEL and DATA, or --scores and --taxonomy (with or without --against)")
        rows = opened.rows(breakdown.name, seed)
        if breakdown.curve is not None:
            _write_curve(opened, breakdown.curve, seed)
    write_rows(rows if breakdown.name else choice.rows(rows, chosen), chosen, output, csv_safe=csv_safe)


def _file_rows(files: ScoreFiles, columns: ColumnOptions, breakdown: str | None, seed: int) -> "Sequence[Row]":
    """Rows of the metrics of a prediction file, or of its differences to another one."""
    assert files.scores is not None
    tree, labels = files.read(columns)
    _check_levels(tree, breakdown)
    samples = read_sample_metrics(files.scores, tree, labels)
    if files.against is None:
        return _metric_rows(samples, tree, breakdown, seed)
    other = read_sample_metrics(files.against, tree, labels)
    check_same_samples(samples, other, files.scores, files.against, tree)
    return difference_rows(samples, other, seed=seed)


def _check_levels(taxonomy: "Taxonomy", breakdown: str | None) -> None:
    """Raise a `TaxonomyError` for rows about levels if the taxonomy is a graph."""
    from hiercos.taxonomy import check_tree

    if breakdown in LEVEL_OPTIONS:
        check_tree(taxonomy, LEVEL_OPTIONS[breakdown])


def _metric_rows(samples: "SampleMetrics", tree: "Taxonomy", breakdown: str | None, seed: int) -> "Sequence[Row]":
    from hiercos.benchmark import class_rows, node_rows

    if breakdown == "class":
        return class_rows(samples, tree)
    return node_rows(samples, tree) if breakdown == "level" else metric_rows(samples, seed=seed)


class OpenedPredictor(ABC):
    """Predictions for labelled samples, and how they are to be answered."""

    bound: BoundRequest

    def rows(self, breakdown: str | None, seed: int) -> "Sequence[Row]":
        """Rows of its metrics: of the ranking of the classes, or of its answers under a rule of any level."""
        from hiercos.benchmark import node_answer_rows, reliability_rows
        from hiercos.decisions import NodeRule

        _check_levels(self.taxonomy, breakdown)
        if breakdown == "reliability":
            return reliability_rows(self.tested())
        if isinstance(self.bound.rule, NodeRule) and breakdown is None:
            return node_answer_rows(self.tested(), self.bound.rule, seed=seed)
        return _metric_rows(self.metrics(), self.taxonomy, breakdown, seed)

    @property
    @abstractmethod
    def taxonomy(self) -> "Taxonomy":
        """The label tree."""

    @abstractmethod
    def tested(self) -> "LabelledPosterior":
        """Probabilities of the samples."""

    @abstractmethod
    def metrics(self) -> "SampleMetrics":
        """The metrics of each sample under a rule that orders the classes."""


@dataclass(frozen=True)
class OpenedModel(OpenedPredictor):
    """A model with the samples to test it on, and how it is to answer."""

    context: "DeviceContext"
    stored: "StoredModel"
    data: "LabelledSamples"
    bound: BoundRequest

    def rows(self, breakdown: str | None, seed: int) -> "Sequence[Row]":
        """See `OpenedPredictor`; with several labels of a sample, also the average precision of the nodes."""
        from hiercos.decisions import NodeRule

        rows = super().rows(breakdown, seed)
        if breakdown or self.data.label_sets is None or isinstance(self.bound.rule, NodeRule):
            return rows
        return [*rows, self.average_precision()]

    @property
    def taxonomy(self) -> "Taxonomy":
        """The label tree."""
        return self.stored.model.taxonomy

    def average_precision(self) -> "Row":
        """Row of the average precision of the nodes, over the samples with one or several labels."""
        from hiercos.engine import node_average_precision

        assert self.data.label_sets is not None
        count = int((self.data.label_sets >= 0).any(dim=1).sum())
        value = node_average_precision(self.context, self.stored.model, self.data)
        unknown = float("nan")  # no interval
        return {"metric": AVERAGE_PRECISION, "value": value, "low": unknown, "high": unknown, "samples": count}

    def tested(self) -> "LabelledPosterior":
        """Probabilities of the samples."""
        from hiercos.benchmark import labelled_posterior

        return labelled_posterior(self.context, self.stored, self.data, self.bound.request)

    def metrics(self) -> "SampleMetrics":
        """The metrics of each sample under the rule."""
        from hiercos.benchmark import model_metrics

        return model_metrics(self.context, self.stored, self.data, self.bound.request)


@dataclass(frozen=True)
class OpenedProbabilities(OpenedPredictor):
    """Probabilities of labelled samples in a file, and how they are to be answered."""

    posterior: "Posterior"
    labels: "IntArray"
    bound: BoundRequest

    @property
    def taxonomy(self) -> "Taxonomy":
        """The label tree."""
        return self.posterior.taxonomy

    def tested(self) -> "LabelledPosterior":
        """Probabilities of the samples."""
        from hiercos.benchmark import LabelledPosterior
        from hiercos.taxonomy import nodes_of_labels

        return LabelledPosterior(self.posterior, nodes_of_labels(self.labels, self.taxonomy))

    def metrics(self) -> "SampleMetrics":
        """The metrics of each sample under the rule."""
        from hiercos.benchmark import posterior_metrics

        return posterior_metrics(self.posterior, self.labels, self.bound.rule)


def _open_probabilities(files: ScoreFiles, columns: ColumnOptions, answers: AnswerOptions) -> OpenedProbabilities:
    """The probabilities in a file of predictions, over the classes that the options allow."""
    from hiercos.decisions import rule

    assert files.scores is not None
    tree, labels = files.read(columns)
    bound = BoundRequest.of(answers.request(tree), rule("none"), None)
    found = read_predictions(files.scores, tree, labels)
    posterior = bound.request.restricted(found.posterior(tree, str(files.scores)))
    return OpenedProbabilities(posterior, found.labels, bound)


def _open(  # noqa: PLR0917  # all are needed, and it is called once
    files: Manifest,
    loading: LoadOptions,
    data: str,
    columns: ColumnOptions,
    answers: AnswerOptions,
    read_config: Callable[..., "ReadConfig"],
) -> OpenedModel:
    import torch

    from hiercos.engine import LabelledInputs, model_samples

    stored = loading.load(files)
    samples = held_out_samples(files, stored, data, columns)
    config = read_config(kind=stored.kind, doing="evaluating")
    sets = None if samples.label_sets is None else torch.tensor(samples.label_sets)
    tested = LabelledInputs(model_samples(stored, samples.inputs, config), torch.tensor(samples.labels), sets)
    bound = BoundRequest.of(answers.request(stored.model.taxonomy), stored.rule, stored.calibration)
    return OpenedModel(config.context, replace(stored, rule=bound.rule), tested, bound)


def _write_curve(opened: OpenedPredictor, path: Path, seed: int) -> None:
    """Write the operating points of every rule as a table, the areas to stderr, and a figure beside the table."""
    from hiercos.benchmark import curve_areas, curve_rows
    from hiercos.cli.display.output import emit
    from hiercos.report import write_curve_figure

    rows = curve_rows(opened.tested(), seed=seed)
    emit(rows, "csv", path)
    areas = ", ".join(f"{name} {area:.4f}" for name, area in curve_areas(rows).items())
    typer.echo(f"Area under containment against coverage: {areas}.", err=True)
    typer.echo(write_curve_figure(rows, path.with_suffix(".html")), err=True)
