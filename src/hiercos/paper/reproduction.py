"""Runs the recipes of a published table whose data are present."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hiercos.data import BUILT_IN, Dataset, data_root, load_dataset
from hiercos.encoders import ReadConfig, frozen_encoder
from hiercos.encoders.backbones import BackboneError
from hiercos.errors import suggestion
from hiercos.paper.ablation import COSINE, mean_cosine
from hiercos.paper.published import PublishedTable
from hiercos.paper.recipes import Recipe, RecipeError, recipe_faults
from hiercos.records import Record
from hiercos.training import AnyFeatures, Settings, TrainingCallback, embedded_features, raw_features, train

if TYPE_CHECKING:
    from lightning_fabric import Fabric


PUBLISHED_TEMPERATURE = 1.0  # the published rule reads uncalibrated probabilities
COMMON_DIFFERENCES = (
    "The learning rate falls with every step; the published code sets it once an epoch.",
    "Every image is trained on, validated on and tested on; the published loaders drop the last incomplete batch.",
)


@dataclass(frozen=True)
class Attempt:
    """The outcome of a recipe."""

    recipe: Recipe  # recipe with the user's changes
    records: Mapping[str, list[Record]]  # records by rule, one per seed; empty if it was not run
    obstacle: str | None = None  # reason why it could not be run; None if it was run
    remarks: tuple[str, ...] = ()  # notes about the data, a sentence each


@dataclass(frozen=True)
class ReproductionConfig:
    """Settings that all recipes of one call share."""

    fabric: "Fabric"  # launched Fabric
    folder: Path  # folder that receives one subfolder per run
    # function from a run's settings to its progress callback, or None
    callback: Callable[[Settings], TrainingCallback | None]
    root: Path | None = None  # folder of the data sets; None for `data_root`
    seeds: int | None = None  # number of seeds, counted from 0; None for each recipe's own
    changes: Mapping[str, Any] | None = None  # changed settings, by "section.key"
    limit: int | None = None  # maximum number of images of each class in each split; None for all
    workers: int = 0  # number of processes that read images

    @property
    def read_config(self) -> ReadConfig:
        """Settings for reading images."""
        return ReadConfig(self.fabric, workers=self.workers)


def table_recipes(
    table: PublishedTable, recipes: Sequence[Recipe], *, dataset: str | None = None, names: Sequence[str] | None = None
) -> list[Recipe]:
    """The recipes of a table in the order of its rows, optionally only those of one data set or of the given names."""
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


def missing_data_hint(dataset: str, root: Path | None) -> str | None:
    """Message that says where to put a missing data set; None if the data set is present."""
    entry = BUILT_IN[dataset]
    if entry.is_present(root):
        return None
    return f"{dataset} is not in {data_root(root)}; expected there {' '.join(entry.where.split())}"


def reproduce(table: PublishedTable, recipes: Sequence[Recipe], config: ReproductionConfig) -> list[Attempt]:
    """Run the recipes of a table; runs that an earlier call finished in the same folder are not repeated.

    Args:
        table: published table.
        recipes: recipes of the table, see `table_recipes`.
        config: settings that all recipes share.

    Returns:
        The outcome of each recipe; `obstacle` is set if its data or backbone are missing.
    """
    changed = [recipe.changed(config.changes or {}) for recipe in recipes]
    obstacles = {recipe.dataset: missing_data_hint(recipe.dataset, config.root) for recipe in changed}
    faults = [
        f"{recipe.dataset}/{recipe.name}: {fault}"
        for recipe in changed
        if not obstacles[recipe.dataset]
        for fault in recipe_faults(recipe)
    ]
    if faults:
        raise RecipeError(faults)
    datasets = {name: load_dataset(name, root=config.root) for name, missing in obstacles.items() if not missing}
    return [
        run_recipe(recipe, datasets[recipe.dataset], table, config)
        if recipe.dataset in datasets
        else Attempt(recipe, {}, obstacles[recipe.dataset])
        for recipe in changed
    ]


def run_recipe(recipe: Recipe, dataset: Dataset, table: PublishedTable, config: ReproductionConfig) -> Attempt:
    """Train and test a recipe with each seed, under every rule that has a row in the table."""
    if config.limit is not None:
        dataset = limited(dataset, config.limit)
        change = f"at most {config.limit} images of each class in each split instead of all"
        recipe = replace(recipe, changes=(*recipe.changes, change))
    try:
        data = run_data(recipe, dataset, config.read_config)
    except BackboneError as error:
        return Attempt(recipe, {}, backbone_obstacle(recipe, error))
    rules = tuple(dict.fromkeys(rule for rule, _ in recipe.rows(table)))
    seeds = recipe.seeds if config.seeds is None else range(config.seeds)
    runs = [_run(recipe, data, seed, config, rules=rules, cosine=COSINE in table.columns) for seed in seeds]
    records = {rule: [run[place] for run in runs] for place, rule in enumerate(rules)}
    return Attempt(recipe, records, remarks=dataset.notes)


def backbone_obstacle(recipe: Recipe, error: BackboneError) -> str:
    """The reason why a backbone is not available, and the weights to download if the recipe needs a weights file."""
    backbone = recipe.settings["backbone"]
    needs_file = "weights" in backbone and backbone["weights"] is None
    return f"{error}; {recipe.sources['backbone.weights']}" if needs_file else str(error)


def _run(
    recipe: Recipe, data: AnyFeatures, seed: int, config: ReproductionConfig, *, rules: Sequence[str], cosine: bool
) -> list[Record]:
    """The records of one seed, one per rule, with the subspace cosine of a Hier-COS model if `cosine`."""
    fabric = config.fabric
    given = {"published": True, "refit": False, **recipe.settings["training"]}
    training = Settings(method=recipe.method, options=recipe.method_options, seed=seed, **given)
    folder = config.folder / recipe.dataset / recipe.name / f"seed-{seed}"
    trained = train(
        data,
        training,
        fabric=fabric,
        folder=folder,
        rules=rules,
        temperature=PUBLISHED_TEMPERATURE,
        resume=True,
        callback=config.callback(training),
    )
    records = dict(trained.records)
    if cosine and recipe.method == "hier-cos":
        test = data.for_method(training).samples("test")
        value = mean_cosine(fabric, trained.classifier.model, test)
        records["none"] = replace(records["none"], metrics={**records["none"].metrics, COSINE: value})
    return [records[rule] for rule in rules]


def run_data(recipe: Recipe, dataset: Dataset, config: ReadConfig) -> AnyFeatures:
    """The training data of a recipe: features of a frozen backbone, or images if the backbone is fine-tuned."""
    if recipe.settings["backbone"]["freeze"]:
        return embedded_features(config, dataset, frozen_encoder(recipe.backbone, recipe.backbone_options))
    pretrained = recipe.settings["backbone"]["pretrained"]
    return raw_features(config, dataset, recipe.backbone, recipe.backbone_options, pretrained=pretrained)


def limited(dataset: Dataset, limit: int) -> Dataset:
    """The first `limit` samples of every label in every split."""
    _, splits = np.unique(dataset.split, return_inverse=True)
    group = splits * (dataset.labels.max() + 1) + dataset.labels  # (M,)
    order = np.argsort(group, kind="stable")  # group by group, each in the order of the data
    starts = np.searchsorted(group[order], group[order])  # where the group of each begins
    kept = np.sort(order[np.arange(len(order)) - starts < limit])
    return dataset.take(kept)
