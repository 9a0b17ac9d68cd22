"""`hiercos reproduce`: run the recipes of a published table and compare the figures."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hiercos.cli.display.output import TableFormat, check_format
from hiercos.cli.options import common as options
from hiercos.cli.options.groups import DeviceOptions, grouped

if TYPE_CHECKING:
    from hiercos.benchmark import Attempt
    from hiercos.benchmark.published import PublishedTable


@grouped
def reproduce(
    *,
    device_options: DeviceOptions,
    table: Annotated[
        str | None, typer.Argument(help="Name or number of a table of the paper; without it, all are listed.")
    ] = None,
    dataset: Annotated[str | None, typer.Option(help="Only this data set, of a table that has several.")] = None,
    methods: Annotated[str | None, typer.Option(help="Only these recipes, separated by commas.")] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="Runs of each recipe; by default as many as published.")
    ] = None,
    epochs: Annotated[int | None, typer.Option(min=1, help="Epochs, instead of the recipe's.")] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Images of each class in each split; all by default.")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="Setting to change in the recipe, such as backbone.width=1; repeatable."),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the runs and the results.")] = Path("reproduced"),
    root: Annotated[Path | None, typer.Option(help="Folder of built-in data.", show_default=False)] = None,
    workers: options.Workers = 0,
    format: TableFormat = "table",
    only_published: Annotated[
        bool, typer.Option("--published", help="Show the published figures with their notes without running anything.")
    ] = False,
) -> None:
    """Run the recipes of a published table whose data are present, and print our figures beside the published ones.

    An interrupted call resumes with the same --out: finished runs are not repeated.
    """
    check_format(format, None)
    from hiercos.benchmark import Attempt, RecipeError, ReproductionConfig, load_recipes, table_recipes
    from hiercos.benchmark import reproduce as run_recipes
    from hiercos.benchmark.published import published_table
    from hiercos.cli.display.result_tables import published_json
    from hiercos.cli.display.training import training_callback
    from hiercos.files import write_atomically

    if table is None:
        _list_tables(root, format)
        return
    chosen = published_table(table)
    names = [name.strip() for name in methods.split(",")] if methods else None
    recipes = table_recipes(chosen, load_recipes(), dataset=dataset, names=names)
    if only_published:
        _show(chosen, [Attempt(recipe, {}) for recipe in recipes], format)
        return
    options.check_out(out)
    changes = options.method_options(set_) | ({} if epochs is None else {"training.epochs": epochs})
    if device_options.precision != DeviceOptions.precision:
        changes["training.precision"] = device_options.precision
    with device_options.processes() as fabric:
        config = ReproductionConfig(
            fabric=fabric,
            workers=workers,
            folder=out,
            callback=training_callback,
            root=root,
            seeds=seeds,
            changes=changes,
            limit=limit,
        )
        attempts = run_recipes(chosen, recipes, config)
        if not any(attempt.records for attempt in attempts):
            raise RecipeError(dict.fromkeys(str(attempt.obstacle) for attempt in attempts))
        if fabric.is_global_zero:
            write_atomically(out / f"{chosen.name}.json", published_json(chosen, attempts))
            _show(chosen, attempts, format)


def _show(table: "PublishedTable", attempts: "list[Attempt]", format: str) -> None:
    """Print a table in the given format; notes go to stderr if the format is for programs."""
    from hiercos.cli.display.output import emit
    from hiercos.cli.display.result_tables import long_rows, notes, print_table

    if format == "table":
        print_table(table, attempts)
        return
    emit(long_rows(table, attempts), format, None)
    typer.echo("\n".join(notes(table, attempts)), err=True)


def _list_tables(root: Path | None, format: str) -> None:
    """Print the tables of the paper, and whether their data are present."""
    from hiercos.benchmark import missing_data_hint
    from hiercos.benchmark.published import published_tables
    from hiercos.cli.display.output import emit

    tables = published_tables().values()
    absent = {dataset: missing_data_hint(dataset, root) for table in tables for dataset in table.datasets}
    rows = [
        {
            "table": table.name,
            "number": "" if table.number is None else table.number,
            "shows": table.title,
            "present": ", ".join(dataset for dataset in table.datasets if not absent[dataset]),
            "absent": ", ".join(dataset for dataset in table.datasets if absent[dataset]),
        }
        for table in tables
    ]
    emit(rows, format, None)
    for sentence in absent.values():
        if sentence:
            typer.echo(sentence, err=True)
