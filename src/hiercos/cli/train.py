"""`hiercos train`: one model."""

from pathlib import Path
from typing import Annotated

import typer

from hiercos.cli import options
from hiercos.cli.groups import DataOptions, DeviceOptions, TrainingOptions, grouped


@grouped
def train(
    *,
    data: options.Data,
    out: Annotated[Path, typer.Option(help="Folder for the model and its record.")],
    training: TrainingOptions,
    columns: DataOptions,
    place: DeviceOptions,
    method: Annotated[str, typer.Option(help="Method to train (see hiercos methods).")] = "hier-cos",
    set_: options.Set = None,
    dim: options.Dim = 256,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with an unfinished run in --out.")] = False,
) -> None:
    """Train one model, test it once, and leave it in a folder."""
    from hiercos.cli.display import watcher
    from hiercos.cli.tables import print_records
    from hiercos.engine import prepare, train_run

    config = training.config(method, options.method_options(set_), precision=place.precision)
    dataset = columns.read(data)
    fabric = place.fabric()
    record = train_run(fabric, prepare(dataset, dim=dim), config, out, resume=resume, watcher=watcher(config))
    print_records([record])
    typer.echo(f"The model is in {out}.", err=True)
