"""`hiercos evaluate`: metrics of a model, or of predictions in a file."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hiercos.cli.display.metric_tables import (
    check_same_samples,
    difference_rows,
    metric_rows,
    read_sample_metrics,
    write_rows,
)
from hiercos.cli.display.output import check_format, chosen_format
from hiercos.cli.model_loading import held_out_samples
from hiercos.cli.options import common as options
from hiercos.cli.options.common import LoadOptions, check_target
from hiercos.cli.options.groups import ColumnOptions, DeviceOptions, OptionError, grouped

if TYPE_CHECKING:
    from hiercos.benchmark import SampleMetrics
    from hiercos.engine import ReadConfig, StoredModel
    from hiercos.predictions import LabelledImages
    from hiercos.taxonomy import Taxonomy


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


@grouped
def evaluate(
    *,
    model: Annotated[Path | None, typer.Argument(help="Folder that hiercos train wrote.", show_default=False)] = None,
    data: Annotated[str | None, typer.Argument(help="Labelled data, as for hiercos train.", show_default=False)] = None,
    files: ScoreFiles,
    columns: ColumnOptions,
    device_options: DeviceOptions,
    loading: LoadOptions,
    per_class: Annotated[bool, typer.Option("--per-class", help="A row for each class.")] = False,
    per_level: Annotated[bool, typer.Option("--per-level", help="A row for each level and node.")] = False,
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
    if sum((files.against is not None, per_class, per_level)) > 1:
        raise OptionError("expected at most one of --against, --per-class and --per-level")
    for name, given in (("--taxonomy", files.taxonomy), ("--labels", files.labels)):
        if files.scores is None and given is not None:
            raise OptionError(f"{name}: expected --scores with it; a model and its data have their own")
    if files.scores is not None and model is not None:
        raise OptionError(
            f"unexpected argument {model}: --scores goes without MODEL and DATA, --per-class and --per-level take no "
            "value, and --output names the file to write"
        )
    check_target("--output", output, [model, data, files.scores, files.taxonomy, files.labels, files.against])
    if files.scores is not None:
        tree, labels = files.read(columns)
        samples = read_sample_metrics(files.scores, tree, labels)
    elif files.against is None and model is not None and data is not None:
        stored = loading.load(model)
        read_config = partial(device_options.read_config, batch_size, workers)
        samples, tree = _model_metrics(model, stored, data, columns, read_config), stored.model.taxonomy
    else:
        raise OptionError("expected MODEL and DATA, or --scores and --taxonomy (with or without --against)")
    from hiercos.benchmark import class_rows, node_rows

    if files.scores is not None and files.against is not None:
        other = read_sample_metrics(files.against, tree, labels)
        check_same_samples(samples, other, files.scores, files.against, tree)
        rows = difference_rows(samples, other, seed=seed)
    elif per_class:
        rows = class_rows(samples, tree)
    else:
        rows = node_rows(samples, tree) if per_level else metric_rows(samples, seed=seed)
    write_rows(rows, chosen, output, csv_safe=csv_safe)


def _model_metrics(
    model: Path, stored: "StoredModel", data: str, columns: ColumnOptions, read_config: Callable[..., "ReadConfig"]
) -> "SampleMetrics":
    import torch

    from hiercos.benchmark import model_metrics
    from hiercos.engine import LabelledInputs, model_samples

    samples = held_out_samples(model, stored, data, columns)
    config = read_config(kind=stored.kind, doing="evaluating")
    tested = LabelledInputs(model_samples(stored, samples.inputs, config), torch.tensor(samples.labels))
    return model_metrics(config.fabric, stored, tested)
