"""`hiercos ablate`: the contribution of each part of Hier-COS on the user's data."""

from pathlib import Path
from typing import Annotated

import typer

from hiercos.cli.options import common as options
from hiercos.cli.options.common import AXIS_NAMES, check_axis_names
from hiercos.cli.options.comparison import ResultOptions
from hiercos.cli.options.groups import DataOptions, DeviceOptions, TrainingOptions, grouped


@grouped
def ablate(
    *,
    data: options.Data,
    out: Annotated[Path, typer.Option(help="Folder for the runs, results.csv, .md, .tex, .json and report.html.")],
    training: TrainingOptions,
    columns: DataOptions,
    device_options: DeviceOptions,
    shown: ResultOptions,
    axes: Annotated[str, typer.Option(help="Axes of the ablation, separated by commas.")] = ",".join(AXIS_NAMES),
    seeds: Annotated[int, typer.Option(min=1, help="Runs of each setting.")] = 3,
    jobs: Annotated[int, typer.Option(min=1, help="Parallel runs, each in its own process; on a CPU only.")] = 1,
    dim: options.Dim = 256,
) -> None:
    """Change one part of Hier-COS at a time, as in the paper's ablations, and print a table for each axis.

    An interrupted ablation resumes with the same --out: finished runs are not repeated.
    """
    shown.check()
    options.check_out(out)
    columns.check(data)
    device_options.check_names()
    training.check_names()
    wanted = list(dict.fromkeys(axis.strip() for axis in axes.split(",")))
    check_axis_names(wanted)
    from hiercos.benchmark import AXIS_DESCRIPTIONS, METHOD, axis_settings
    from hiercos.benchmark import ablate as run_settings
    from hiercos.cli.display.training import observer
    from hiercos.engine import prepare
    from hiercos.methods import METHODS
    from hiercos.report import AblationGroup, ablation_results

    settings = axis_settings(wanted)
    training.check_effort([METHOD])
    dataset = columns.read(data)
    published = {"alpha": METHODS.options(METHOD)["alpha"]}  # the setting that the tables compare with
    config = training.config(METHOD, published, precision=device_options.precision, samples=len(dataset.rows("train")))
    seed_range = range(training.seed, training.seed + seeds)
    methods = list(dict.fromkeys(setting.method for setting in settings))
    with device_options.processes() as fabric:
        prepared = prepare(dataset, dim=dim)
        with observer(methods, seeds=seeds, trials=0, jobs=jobs) as display:
            records = run_settings(
                fabric, prepared, config, settings, seed_range, folder=out, jobs=jobs, observer=display
            )
        if fabric.is_global_zero:
            named = zip(settings, records, strict=True)
            groups = [
                AblationGroup(each.axis, AXIS_DESCRIPTIONS[each.axis], each.name, not each.changes, group)
                for each, group in named
            ]
            shown.show(ablation_results(groups, interval=shown.convention), out)
