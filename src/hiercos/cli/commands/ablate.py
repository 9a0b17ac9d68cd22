"""`hiercos ablate`: what each part of Hier-COS contributes on the user's own data."""

from pathlib import Path
from typing import Annotated

import typer

from hiercos.cli.options import common as options
from hiercos.cli.options.comparison import ResultOptions
from hiercos.cli.options.groups import DataOptions, DeviceOptions, TrainingOptions, grouped


@grouped
def ablate(
    *,
    data: options.Data,
    out: Annotated[Path, typer.Option(help="Folder for the runs, results.csv, .md, .tex, .json and report.html.")],
    training: TrainingOptions,
    columns: DataOptions,
    place: DeviceOptions,
    shown: ResultOptions,
    axes: Annotated[
        str, typer.Option(help="What to change, separated by commas.")
    ] = "alpha,direction,regulariser,span,exponent",
    seeds: Annotated[int, typer.Option(min=1, help="Runs of each setting.")] = 3,
    jobs: Annotated[int, typer.Option(min=1, help="Runs at once, in processes of their own; on a CPU.")] = 1,
    dim: options.Dim = 256,
) -> None:
    """Change one part of Hier-COS at a time, as the paper's ablations do: a table for each axis.

    What an earlier, interrupted call with the same --out finished is not run again.
    """
    shown.check()
    columns.check(data)
    place.check_names()
    training.check_names()
    from hiercos.benchmark import AXIS_DESCRIPTIONS, METHOD, axis_settings
    from hiercos.benchmark import ablate as run_settings
    from hiercos.cli.display.training import observer
    from hiercos.engine import prepare
    from hiercos.report import AblationGroup, ablation_results

    settings = axis_settings(list(dict.fromkeys(axis.strip() for axis in axes.split(","))))
    dataset = columns.read(data)
    config = training.config(METHOD, {}, precision=place.precision, samples=len(dataset.rows("train")))
    seed_range = range(training.seed, training.seed + seeds)
    lines = list(dict.fromkeys(setting.line for setting in settings))
    with place.processes() as fabric:
        prepared = prepare(dataset, dim=dim)
        with observer(lines, seeds=seeds, trials=0, jobs=jobs) as display:
            records = run_settings(
                fabric, prepared, config, settings, seed_range, folder=out, jobs=jobs, observer=display
            )
        if fabric.is_global_zero:
            named = zip(settings, records, strict=True)
            groups = [
                AblationGroup(each.axis, AXIS_DESCRIPTIONS[each.axis], each.name, not each.changes, group)
                for each, group in named
            ]
            shown.tell(ablation_results(groups, interval=shown.convention), out)
