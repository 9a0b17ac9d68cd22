"""`hiercos reproduce`: run the recipes of a published table and compare the figures."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hiercos.cli.display.output import TableFormat, check_format
from hiercos.cli.options import common as options
from hiercos.cli.options.groups import DeviceOptions, grouped

if TYPE_CHECKING:
    from hiercos.paper.published import PublishedTable
    from hiercos.paper.recipes import Recipe
    from hiercos.paper.reproduction import Attempt


@dataclass(frozen=True)
class RecipeOptions:
    """Options for the recipes to run, and for changes of their settings."""

    dataset: Annotated[str | None, typer.Option(help="Only this data set, of a table that has several.")] = None
    methods: Annotated[str | None, typer.Option(help="Only these recipes, separated by commas.")] = None
    seeds: Annotated[int | None, typer.Option(min=1, help="Runs of each recipe; by default as many as published.")] = (
        None
    )
    epochs: Annotated[int | None, typer.Option(min=1, help="Epochs, instead of the recipe's.")] = None
    limit: Annotated[int | None, typer.Option(min=1, help="Images of each class in each split; all by default.")] = None
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="Setting to change in the recipe, such as backbone.width=1; repeatable."),
    ] = None

    def of_table(self, table: "PublishedTable") -> "list[Recipe]":
        """The chosen recipes of a table."""
        from hiercos.paper.recipes import load_recipes
        from hiercos.paper.reproduction import table_recipes

        names = [name.strip() for name in self.methods.split(",")] if self.methods else None
        return table_recipes(table, load_recipes(), dataset=self.dataset, names=names)

    def changes(self, device_options: DeviceOptions) -> dict[str, Any]:
        """Settings to change in every recipe, by name."""
        from hiercos.training import parsed

        texts = options.named_texts(self.set_, "--set")
        changes = {name: parsed(name, text) for name, text in texts.items()}
        if self.epochs is not None:
            changes["training.epochs"] = self.epochs
        if device_options.precision != DeviceOptions.precision:
            changes["training.precision"] = device_options.precision
        return changes


@grouped
def reproduce(
    *,
    device_options: DeviceOptions,
    table: Annotated[
        str | None, typer.Argument(help="Name or number of a table of the paper; without it, all are listed.")
    ] = None,
    chosen: RecipeOptions,
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
    from hiercos.cli.display.progress import training_callback
    from hiercos.paper.published import published_table
    from hiercos.paper.recipes import RecipeError
    from hiercos.paper.reproduction import Attempt, ReproductionConfig
    from hiercos.paper.reproduction import reproduce as run_recipes
    from hiercos.paper.tables import published_json
    from hiercos.storage import write

    if table is None:
        _list_tables(root, format)
        return
    published = published_table(table)
    recipes = chosen.of_table(published)
    if only_published:
        _show(published, [Attempt(recipe, {}) for recipe in recipes], format)
        return
    options.check_out(out)
    changes = chosen.changes(device_options)
    with device_options.processes() as fabric:
        config = ReproductionConfig(
            fabric=fabric,
            workers=workers,
            folder=out,
            callback=training_callback,
            root=root,
            seeds=chosen.seeds,
            changes=changes,
            limit=chosen.limit,
        )
        attempts = run_recipes(published, recipes, config)
        if not any(attempt.records for attempt in attempts):
            raise RecipeError(dict.fromkeys(str(attempt.obstacle) for attempt in attempts))
        if fabric.is_global_zero:
            write(out / f"{published.name}.json", published_json(published, attempts))
            _show(published, attempts, format)


def _show(table: "PublishedTable", attempts: "list[Attempt]", format: str) -> None:
    """Print a table in the given format; notes go to stderr if the format is for programs."""
    from hiercos.cli.display.output import emit
    from hiercos.paper.tables import long_rows, notes, print_table

    if format == "table":
        print_table(table, attempts)
        return
    emit(long_rows(table, attempts), format, None)
    typer.echo("\n".join(notes(table, attempts)), err=True)


def _list_tables(root: Path | None, format: str) -> None:
    """Print the tables of the paper, and whether their data are present."""
    from hiercos.cli.display.output import emit
    from hiercos.paper.published import published_tables
    from hiercos.paper.reproduction import missing_data_hint

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
