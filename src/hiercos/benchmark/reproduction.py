"""The recipes of a published table, run where their data are present."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from hiercos.benchmark.ablation import COSINE, mean_cosine
from hiercos.benchmark.published import PublishedTable
from hiercos.benchmark.recipe import Recipe, RecipeError
from hiercos.benchmark.recipe_files import recipe_faults
from hiercos.data import BUILT_IN, Dataset, data_root, load_dataset
from hiercos.engine import (
    ReadConfig,
    RunData,
    TrainConfig,
    TrainingCallback,
    frozen_encoder,
    load_model,
    prepare_embedded,
    prepare_fine_tuning,
    train_run,
)
from hiercos.errors import suggestion
from hiercos.nn.backbones import BackboneError
from hiercos.records import Record

PUBLISHED_TEMPERATURE = 1.0  # of the probabilities that the published rule reads
EVERYWHERE = (
    "The learning rate falls with every step; the published code sets it once an epoch.",
    "Every image is trained on, validated on and tested on; the published loaders drop the last incomplete batch.",
)


@dataclass(frozen=True)
class Attempt:
    """What became of a recipe.

    Attributes:
        recipe: with the user's changes.
        records: by rule, one per seed; empty where it was not run.
        obstacle: why it could not be run; None where it was.
        remarks: what was noted about the data, a sentence each.
    """

    recipe: Recipe
    records: Mapping[str, list[Record]]
    obstacle: str | None = None
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Conditions:
    """What holds for all recipes of one call.

    Attributes:
        read_config: how images are read, and where to run.
        folder: where to leave a folder per run.
        callback: factory of the training callback of a run, from its config.
        root: of the data; None for `data_root`.
        seeds: how many, from 0; None for each recipe's own.
        changes: of settings, by "section.key".
        limit: images of each class in each split; None for all.
    """

    read_config: ReadConfig
    folder: Path
    callback: Callable[[TrainConfig], TrainingCallback | None]
    root: Path | None = None
    seeds: int | None = None
    changes: Mapping[str, Any] | None = None
    limit: int | None = None


def table_recipes(
    table: PublishedTable, recipes: Sequence[Recipe], *, dataset: str | None = None, names: Sequence[str] | None = None
) -> list[Recipe]:
    """The recipes of a table in the order of its rows, perhaps of one data set or of some names only.

    Raises:
        RecipeError: for a data set or a name that the table has no recipe of, with the nearest one.
    """
    if dataset is not None and dataset not in table.datasets:
        raise RecipeError(f"table {table.name!r} has no data set {dataset!r}{suggestion(dataset, table.datasets)}")
    order = {(row.dataset, row.name): place for place, row in enumerate(table.rows)}
    found = sorted(
        (recipe for recipe in recipes if recipe.rows(table) and dataset in (None, recipe.dataset)),
        key=lambda recipe: min(order[recipe.dataset, row.name] for _, row in recipe.rows(table)),
    )
    known = sorted({recipe.name for recipe in found})
    if unknown := [name for name in names or () if name not in known]:
        raise RecipeError(f"table {table.name!r} has no recipe {name!r}{suggestion(name, known)}" for name in unknown)
    return [recipe for recipe in found if names is None or recipe.name in names]


def absence(dataset: str, root: Path | None) -> str | None:
    """Where to put a data set that is not present; None for one that is."""
    entry = BUILT_IN[dataset]
    if entry.is_present(root):
        return None
    return f"{dataset} is not in {data_root(root)}; expected there {' '.join(entry.where.split())}"


def reproduce(table: PublishedTable, recipes: Sequence[Recipe], conditions: Conditions) -> list[Attempt]:
    """Run the recipes of a table; what an earlier call in the same folder finished is read, not run again.

    Args:
        table: the published table.
        recipes: those of the table, see `table_recipes`.
        conditions: what holds for all of them.

    Returns:
        What became of each; a recipe whose data or backbone are absent says so.

    Raises:
        RecipeError: for a change that a recipe cannot take.
    """
    changed = [recipe.changed(conditions.changes or {}) for recipe in recipes]
    obstacles = {recipe.dataset: absence(recipe.dataset, conditions.root) for recipe in changed}
    faults = [
        f"{recipe.dataset}/{recipe.name}: {fault}"
        for recipe in changed
        if not obstacles[recipe.dataset]
        for fault in recipe_faults(recipe)
    ]
    if faults:
        raise RecipeError(faults)
    datasets = {name: load_dataset(name, root=conditions.root) for name, missing in obstacles.items() if not missing}
    return [
        run_recipe(recipe, datasets[recipe.dataset], table, conditions)
        if recipe.dataset in datasets
        else Attempt(recipe, {}, obstacles[recipe.dataset])
        for recipe in changed
    ]


def run_recipe(recipe: Recipe, dataset: Dataset, table: PublishedTable, conditions: Conditions) -> Attempt:
    """Train and test a recipe with each seed, under every rule that the table has a row of."""
    if conditions.limit is not None:
        dataset = limited(dataset, conditions.limit)
        change = f"at most {conditions.limit} images of each class in each split instead of all"
        recipe = replace(recipe, changes=(*recipe.changes, change))
    try:
        data = run_data(recipe, dataset, conditions.read_config)
    except BackboneError as error:
        return Attempt(recipe, {}, backbone_obstacle(recipe, error))
    rules = tuple(dict.fromkeys(rule for rule, _ in recipe.rows(table)))
    seeds = recipe.seeds if conditions.seeds is None else range(conditions.seeds)
    runs = [_run(recipe, data, seed, conditions, rules=rules, cosine=COSINE in table.columns) for seed in seeds]
    records = {rule: [run[place] for run in runs] for place, rule in enumerate(rules)}
    return Attempt(recipe, records, remarks=dataset.notes)


def backbone_obstacle(recipe: Recipe, error: BackboneError) -> str:
    """Why a backbone cannot be had, and which weights to get where the recipe needs a file of them."""
    backbone = recipe.settings["backbone"]
    needs_file = "weights" in backbone and backbone["weights"] is None
    return f"{error}; {recipe.sources['backbone.weights']}" if needs_file else str(error)


def _run(
    recipe: Recipe, data: RunData, seed: int, conditions: Conditions, *, rules: Sequence[str], cosine: bool
) -> list[Record]:
    """The records of one seed, one per rule, perhaps with the cosine between embeddings and their projections."""
    fabric = conditions.read_config.fabric
    config = TrainConfig(method=recipe.method, options=recipe.method_options, seed=seed, **recipe.settings["training"])
    folder = conditions.folder / recipe.dataset / recipe.name / f"seed-{seed}"
    records = train_run(
        fabric,
        data,
        config,
        folder,
        reported=rules,
        temperature=PUBLISHED_TEMPERATURE,
        resume=True,
        callback=conditions.callback(config),
    )
    if cosine and recipe.method == "hier-cos":
        value = mean_cosine(fabric, load_model(folder).model, data.samples("test"))
        records["none"] = replace(records["none"], metrics={**records["none"].metrics, COSINE: value})
    return [records[rule] for rule in rules]


def run_data(recipe: Recipe, dataset: Dataset, config: ReadConfig) -> RunData:
    """A data set as the recipe trains on it: the features of a frozen backbone, or images for one that is trained."""
    if recipe.settings["backbone"]["freeze"]:
        return prepare_embedded(config, dataset, frozen_encoder(recipe.backbone, recipe.backbone_options))
    pretrained = recipe.settings["backbone"]["pretrained"]
    return prepare_fine_tuning(config, dataset, recipe.backbone, recipe.backbone_options, pretrained=pretrained)


def limited(dataset: Dataset, limit: int) -> Dataset:
    """The first so many samples of every class in every split."""
    _, splits = np.unique(dataset.split, return_inverse=True)
    group = splits * dataset.taxonomy.num_classes + dataset.labels  # (M,)
    order = np.argsort(group, kind="stable")  # group by group, each in the order of the data
    starts = np.searchsorted(group[order], group[order])  # where the group of each begins
    kept = np.sort(order[np.arange(len(order)) - starts < limit])
    return replace(dataset, inputs=dataset.inputs.take(kept), labels=dataset.labels[kept], split=dataset.split[kept])
