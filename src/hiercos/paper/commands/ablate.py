"""`hiercos ablate`: the contribution of each part of Hier-COS on the user's data."""

from pathlib import Path
from typing import Annotated

import typer

from hiercos.cli.options import common as options
from hiercos.cli.options.comparison import ResultOptions
from hiercos.cli.options.groups import DataOptions, DeviceOptions, grouped
from hiercos.cli.options.training import TrainingOptions
from hiercos.paper.axes import AXES, METHOD, axis_settings


@grouped
def ablate(
    *,
    data: options.Data,
    out: Annotated[Path, typer.Option(help="Folder for the runs, results.csv, results.json and report.html.")],
    training: TrainingOptions,
    columns: DataOptions,
    device_options: DeviceOptions,
    shown: ResultOptions,
    axes: Annotated[str, typer.Option(help="Axes of the ablation, separated by commas.")] = ",".join(AXES),
    seeds: Annotated[int, typer.Option(min=1, help="Runs of each setting.")] = 3,
    jobs: Annotated[int, typer.Option(min=1, help="Parallel runs, each in its own process; on a CPU only.")] = 1,
) -> None:
    """Change one part of Hier-COS at a time, as in the paper's ablations, and print a table for each axis.

    An interrupted ablation resumes with the same --out: finished runs are not repeated.
    """
    shown.check()
    options.check_out(out)
    columns.check(data)
    device_options.check_names()
    training.check()
    settings = axis_settings(list(dict.fromkeys(axis.strip() for axis in axes.split(","))))
    from hiercos.cli.display.progress import observer
    from hiercos.methods import METHODS
    from hiercos.paper.ablation import ablate as run_settings
    from hiercos.paper.ablation import ablation_results
    from hiercos.training import features_of

    published = {name: METHODS.options(METHOD)[name] for name in METHODS.row(METHOD).recommended}
    config = training.settings(device_options.precision, method=METHOD, options=published)
    dataset = columns.read(data)
    seed_range = range(config.seed, config.seed + seeds)
    methods = list(dict.fromkeys(setting.method for setting in settings))
    with device_options.processes() as fabric:
        features = features_of(dataset)
        with observer(methods, seeds=seeds, trials=0) as display:
            records = run_settings(
                fabric, features, config, settings, seed_range, folder=out, jobs=jobs, observer=display
            )
        if fabric.is_global_zero:
            shown.show(ablation_results(list(zip(settings, records, strict=True))), out)
