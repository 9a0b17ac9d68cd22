"""`hiercos train`: train one model."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hiercos.cli.display.output import TableFormat, check_format
from hiercos.cli.options import common as options
from hiercos.cli.options.backbones import FineTuningOptions
from hiercos.cli.options.groups import DataOptions, DeviceOptions, OptionError, grouped, say
from hiercos.cli.options.training import ModelOptions
from hiercos.decisions import rule
from hiercos.methods import DEFAULT
from hiercos.metrics import AVERAGE_PRECISION, OF_SETS, metric_spec
from hiercos.records import refuse_finished_run

if TYPE_CHECKING:
    from hiercos.data import Dataset
    from hiercos.records import Record
    from hiercos.training import AnyFeatures


@grouped
def train(
    *,
    data: options.Data,
    out: Annotated[Path, typer.Option(help="Folder for the model and its record.")],
    training: ModelOptions,
    columns: DataOptions,
    device_options: DeviceOptions,
    inputs: FineTuningOptions,
    format: TableFormat = "table",
    no_test: Annotated[
        bool,
        typer.Option("--no-test", help="Without a split in DATA, learn from 90% of it and set aside no test rows."),
    ] = False,
    corrections: options.Corrections = None,
    time: Annotated[
        str | None,
        typer.Option(help="Time such as 60s or 5m: the effort that is expected to end in it.", show_default=False),
    ] = None,
    no_inputs: Annotated[
        bool, typer.Option("--no-inputs", help="Keep no text, image or remembered sample in --out, for private data.")
    ] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Resume an unfinished run in --out.")] = False,
) -> None:
    """Train one model, test it once if the data have test rows, and write it to a folder."""
    check_format(format, None)
    columns.check(data)
    options.check_out(out)
    if not resume:
        refuse_finished_run(out)  # before the data are read
    device_options.check_names()
    training.check(trains_backbone=inputs.unfreeze)
    rule(training.rule or "none")  # raises for an unknown rule
    inputs.check_name()
    if time is not None and (training.effort is not None or training.method not in {None, DEFAULT} or inputs.unfreeze):
        raise OptionError("--time: expected the default method, and no --effort or --unfreeze with it")
    others = {"keep_inputs": False} if no_inputs else {}
    settings = training.settings(
        device_options.precision, backbone=inputs.backbone, trains_backbone=inputs.unfreeze, **others
    )
    chosen = {"test": not no_test, "targets": settings.targets, "corrections": corrections}
    dataset = columns.read(data, purpose="train", **chosen)
    from hiercos.cli.display.progress import training_callback
    from hiercos.training import learnable_notes, planned
    from hiercos.training import train as train_model

    say(*learnable_notes(dataset, [settings.method]))
    with device_options.processes() as fabric:
        features: AnyFeatures
        if inputs.unfreeze:
            features = inputs.raw_features(fabric, dataset, training.backbone, from_scratch=training.from_scratch)
        else:
            features = inputs.features(fabric, dataset, training.backbone)
            settings, lines = planned(features, settings, time)
            say(*lines)
        callback = training_callback(settings)
        trained = train_model(features, settings, fabric=fabric, folder=out, resume=resume, callback=callback)
        if fabric.is_global_zero:
            _show(trained.records[trained.classifier.rule.name], out, format, dataset)


def _show(record: "Record", out: Path, format: str, dataset: "Dataset") -> None:
    """Print the results of the run, a note on few test rows, and what the method chose."""
    from hiercos.cli.display.tables import print_records
    from hiercos.report import few_rows

    tested = dataset.is_class[dataset.rows("test")]
    if tested.any() or format != "table":
        print_records([record], format)
    for statement in few_rows(record.metrics["top1"], int(tested.sum())):
        say(str(statement))
    if not len(tested):
        say("Not measured: there are no test rows. hiercos evaluate measures the model on other data.")
    if AVERAGE_PRECISION in record.metrics:
        measured = ((metric_spec(name), record.metrics[name]) for name in OF_SETS if name in record.metrics)
        figures = (f"{spec.heading} {spec.text(value)}" for spec, value in measured)
        say(f"Samples with several labels: {', '.join(figures)}.")
    if record.choice:
        say(f"{record.method}: {record.choice}.")
    say(f"The model is in {out}.")
