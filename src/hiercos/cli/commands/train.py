"""`hiercos train`: train one model."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hiercos.cli.display.output import TableFormat, check_format
from hiercos.cli.options import common as options
from hiercos.cli.options.backbones import FineTuningOptions
from hiercos.cli.options.common import check_method_names
from hiercos.cli.options.groups import (
    DataOptions,
    DeviceOptions,
    PriorOptions,
    TrainingOptions,
    grouped,
    is_first_process,
)
from hiercos.metric_table import AVERAGE_PRECISION
from hiercos.records import refuse_finished_run

if TYPE_CHECKING:
    from hiercos.data import Dataset
    from hiercos.decisions import Rule
    from hiercos.records import Record


@grouped
def train(
    *,
    data: options.Data,
    out: Annotated[Path, typer.Option(help="Folder for the model and its record.")],
    training: TrainingOptions,
    columns: DataOptions,
    device_options: DeviceOptions,
    inputs: FineTuningOptions,
    prior: PriorOptions,
    method: Annotated[str, typer.Option(help="Method to train (see hiercos methods).")] = "default",
    rule: Annotated[
        str | None,
        typer.Option(
            help="Decision rule: none, crm, hops or default.",
            show_default="default for the default method, else none",
        ),
    ] = None,
    set_: options.Set = None,
    dim: options.Dim = 256,
    format: TableFormat = "table",
    memory: Annotated[
        int, typer.Option(min=0, help="Training samples of each label kept in the model, for hiercos extend.")
    ] = 0,
    no_test: Annotated[
        bool,
        typer.Option("--no-test", help="Without a split in DATA, learn from 90% of it and set aside no test rows."),
    ] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Resume an unfinished run in --out.")] = False,
) -> None:
    """Train one model, test it once if the data have test rows, and write it to a folder."""
    check_format(format, None)
    columns.check(data)
    options.check_out(out)
    prior.check()
    if not resume:
        refuse_finished_run(out)  # before the data are read
    device_options.check_names()
    training.check_names()
    method_options = options.method_options(set_)
    _check_names(method, method_options, inputs, rule)
    if training.effort is not None:
        training.check_effort([_trained_method(method, inputs)])
    dataset = columns.read(data, purpose="train", test=not no_test)
    _note_targets(dataset)
    from hiercos.cli.display.training import training_callback
    from hiercos.engine import train_run

    chosen = _chosen_rule(rule, method)
    config = training.config(
        _trained_method(method, inputs),
        method_options,
        precision=device_options.precision,
        samples=len(dataset.rows("train")),
        max_batch_size=64 if inputs.fine_tunes else 256,
        class_prior=prior.read(dataset.taxonomy),
        **inputs.settings(dataset),
    )
    with device_options.processes() as fabric:
        prepared = inputs.run_data(fabric, dataset, dim=dim)
        records = train_run(
            fabric,
            prepared,
            config,
            out,
            rule=chosen,
            memory=memory,
            resume=resume,
            callback=training_callback(config, chosen.name),
        )
        if fabric.is_global_zero:
            _show(records[chosen.name], out, format, dataset)


def _note_targets(dataset: "Dataset") -> None:
    """Say on stderr if too few rows are set aside for the usual targets of back-off."""
    from hiercos.data import LEAST_CALIBRATION
    from hiercos.decisions import target_note

    aside, val = len(dataset.run_rows("calibration")), len(dataset.rows("val"))
    note = target_note(aside, LEAST_CALIBRATION)
    if note and is_first_process():
        part = f"{aside} of the {val} validation rows calibrate targets, such as predict --target-containment: {note}"
        if not aside:
            part = (
                f"{val} validation rows are too few to calibrate targets, such as predict --target-containment: from "
                f"about {3 * LEAST_CALIBRATION} on a third is set aside for them"
            )
        typer.echo(f"{part}. predict --confidence needs none.", err=True)


def _trained_method(method: str, inputs: FineTuningOptions) -> str:
    """The method to train: the default has another name where the backbone is trained too."""
    from hiercos.methods import DEFAULT, FINE_TUNED_DEFAULT

    return FINE_TUNED_DEFAULT if inputs.fine_tunes and method == DEFAULT else method


def _check_names(method: str, method_options: dict[str, Any], inputs: FineTuningOptions, rule: str | None) -> None:
    """Raise for an unknown rule, backbone or method, or an option that it lacks, before the data are read."""
    options.check_rules([rule or "none"])
    inputs.check_name()
    check_method_names([method])
    if not method_options:
        return  # nothing else to check, so torch is not imported yet
    from hiercos.methods import METHODS

    METHODS.check_options(_trained_method(method, inputs), method_options)


def _chosen_rule(name: str | None, method: str) -> "Rule":
    """The decision rule of this name; without one, that of the default method, and none for other methods."""
    from hiercos.decisions import rule
    from hiercos.methods import DEFAULT, DEFAULT_RULE

    return rule(name or (DEFAULT_RULE if method == DEFAULT else "none"))


def _show(record: "Record", out: Path, format: str, dataset: "Dataset") -> None:
    """Print the results of the run, a note on few test rows, and what the method chose."""
    from hiercos.cli.display.result_tables import print_records
    from hiercos.report import few_rows

    tested = dataset.labels[dataset.rows("test")]
    if len(tested) or format != "table":
        print_records([record], format)
    for statement in few_rows(record.metrics["top1"], int((tested < dataset.taxonomy.num_classes).sum())):
        typer.echo(str(statement), err=True)
    if not len(tested):
        typer.echo("Not measured: there are no test rows. hiercos evaluate measures the model on other data.", err=True)
    if AVERAGE_PRECISION in record.metrics:
        typer.echo(f"Average precision of the nodes: {record.metrics[AVERAGE_PRECISION]:.4f}.", err=True)
    if record.choice:
        typer.echo(f"{record.method}: {record.choice}.", err=True)
    typer.echo(f"The model is in {out}.", err=True)
