"""Recipes: published runs with the source of each setting and the rows to reproduce, read from YAML files."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, get_type_hints

import yaml

import hiercos
from hiercos.checks import kind_fault
from hiercos.decisions import RULES
from hiercos.encoders.backbones import BACKBONES
from hiercos.errors import FaultsError, reading, suggestion
from hiercos.methods import METHODS
from hiercos.paper.published import PublishedRow, PublishedTable, published
from hiercos.training import Settings

SECTIONS = ("method", "backbone", "training")
BACKBONE_KEYS = ("name", "pretrained", "freeze")  # keys of every backbone; all others are the backbone's own options
REQUIRED = ("dataset", "published", "seeds", *SECTIONS)
KEYS = (*REQUIRED, "differs")
ENTRY = {"value", "source"}
SWITCHES = ("pretrained", "freeze")
TRAINING_KEYS = [field.name for field in fields(Settings) if field.name not in ("method", "options", "seed")]
TRAINING_KINDS = get_type_hints(Settings)


class RecipeError(FaultsError):
    """An invalid or unknown recipe."""


@dataclass(frozen=True)
class Reference:
    """A row of the paper that a recipe should reproduce: its table and name, and the rule that ranks the classes."""

    table: str
    row: str
    rule: str = "none"


@dataclass(frozen=True)
class Recipe:
    """A published run."""

    name: str  # name used by commands and as the file name
    dataset: str  # name of the built-in data set
    published: tuple[Reference, ...]  # rows of the paper to reproduce
    seeds: tuple[int, ...]  # random seeds of the published runs
    settings: Mapping[str, Mapping[str, Any]]  # values by section ("method", "backbone", "training") and key
    sources: Mapping[str, str]  # source of each setting, by "section.key"
    differs: tuple[str, ...] = ()  # differences from the published run, a sentence each
    changes: tuple[str, ...] = ()  # changes made by the user, a sentence each

    def rows(self, table: PublishedTable) -> list[tuple[str, PublishedRow]]:
        """The rows of a table that it should reproduce, each with its rule."""
        return [
            (reference.rule, table.row(self.dataset, reference.row))
            for reference in self.published
            if reference.table == table.name
        ]

    @property
    def method(self) -> str:
        """The method, a name of `METHODS`."""
        return str(self.settings["method"]["name"])

    @property
    def method_options(self) -> dict[str, Any]:
        """The options of the method."""
        return {key: value for key, value in self.settings["method"].items() if key != "name"}

    @property
    def backbone(self) -> str:
        """The backbone, a name of `BACKBONES`."""
        return str(self.settings["backbone"]["name"])

    @property
    def backbone_options(self) -> dict[str, Any]:
        """The options of the backbone."""
        return {key: value for key, value in self.settings["backbone"].items() if key not in BACKBONE_KEYS}

    def changed(self, values: Mapping[str, Any]) -> "Recipe":
        """The recipe with other settings, by "section.key"; the changes are listed in `changes`.

        A key that the recipe does not have is added; an unknown one is reported when the recipe is checked or run.
        """
        settings = {section: dict(self.settings[section]) for section in SECTIONS}
        changes = []
        for key, value in values.items():
            section, _, name = key.partition(".")
            if section not in SECTIONS or not name:
                raise RecipeError(f"{key}: expected section.key=value, the section one of {', '.join(SECTIONS)}")
            published = settings[section].get(name)
            if published != value:
                changes.append(f"{key} {value} instead of {'the default' if published is None else published}")
                settings[section][name] = value
        return replace(self, settings=settings, changes=(*self.changes, *changes))


def recipes_folder() -> Path:
    """The folder of the recipes: inside the installed package, else in the repository."""
    package = Path(hiercos.__file__).parent
    for folder in (package / "recipes", package.parents[1] / "recipes"):
        if folder.is_dir():
            return folder
    raise RecipeError(f"the recipes are neither in {package} nor in its repository; install hiercos again")


def load_recipes(folder: Path | None = None) -> list[Recipe]:
    """Every recipe of a folder (`recipes_folder()` by default), sorted by data set and name."""
    recipes: list[Recipe] = []
    faults: list[str] = []
    for path in sorted((folder or recipes_folder()).glob("*/*.yaml")):
        try:
            recipes.append(read_recipe(path))
        except RecipeError as error:
            faults += error.faults
    if faults:
        raise RecipeError(faults)
    return recipes


def read_recipe(path: Path) -> Recipe:
    """A recipe from its file."""
    with reading(f"{path}: not YAML", RecipeError):
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    if not isinstance(values, dict):
        raise RecipeError(f"{path}: expected keys with values, got {values!r}")
    if faults := [*_form_faults(values)]:
        raise RecipeError(f"{path}: {fault}" for fault in faults)
    with reading(f"{path}: not a recipe", RecipeError):
        recipe = _recipe(path.stem, values)
        faults = recipe_faults(recipe)
    if recipe.dataset != path.parent.name:
        faults.append(f"dataset: expected {path.parent.name!r}, the name of its folder, got {recipe.dataset!r}")
    if faults:
        raise RecipeError(f"{path}: {fault}" for fault in faults)
    return recipe


def _recipe(name: str, values: Mapping[str, Any]) -> Recipe:
    return Recipe(
        name=name,
        dataset=values["dataset"],
        published=tuple(Reference(**reference) for reference in values["published"]),
        seeds=tuple(values["seeds"]["value"]),
        settings={section: {key: entry["value"] for key, entry in values[section].items()} for section in SECTIONS},
        sources={"seeds": values["seeds"]["source"]}
        | {f"{section}.{key}": entry["source"] for section in SECTIONS for key, entry in values[section].items()},
        differs=tuple(values.get("differs", ())),
    )


def _form_faults(values: Mapping[str, Any]) -> Iterator[str]:
    """Faults in the structure of a file: unknown and missing keys, and settings without a source."""
    yield from (f"unknown key {key!r}{suggestion(str(key), KEYS)}" for key in values if key not in KEYS)
    yield from (f"{key}: it is missing" for key in REQUIRED if key not in values)
    entries = {f"{name}.{key}": entry for name in SECTIONS for key, entry in (values.get(name) or {}).items()}
    entries |= {"seeds": values["seeds"]} if "seeds" in values else {}
    for key, entry in entries.items():
        if not isinstance(entry, dict) or set(entry) != ENTRY:
            yield f"{key}: expected {{value: …, source: …}}, got {entry!r}"


def recipe_faults(recipe: Recipe) -> list[str]:
    """Faults in the settings of a recipe: unknown names and options, rows that the paper lacks, invalid values."""
    training, backbone = recipe.settings["training"], recipe.settings["backbone"]
    faults = [
        *_faults_of(partial(METHODS.check_options, recipe.method, recipe.method_options)),
        *_faults_of(partial(BACKBONES.check_options, recipe.backbone, recipe.backbone_options)),
        *(
            f"backbone.{key}: expected true or false, got {backbone.get(key)!r}"
            for key in SWITCHES
            if type(backbone.get(key)) is not bool
        ),
        *(fault for key, value in training.items() for fault in _training_faults(key, value)),
    ]
    if not faults:
        faults += _faults_of(partial(Settings, **training))
    for reference in recipe.published:
        faults += _faults_of(partial(published, reference.table, recipe.dataset, reference.row))
        faults += _faults_of(partial(RULES.__getitem__, reference.rule))
    return faults


def _training_faults(key: str, value: object) -> Iterator[str]:
    if key not in TRAINING_KEYS:
        yield f"training: unknown key {key!r}{suggestion(key, TRAINING_KEYS)}"
    elif fault := kind_fault(f"training.{key}", value, TRAINING_KINDS[key]):
        yield fault


def _faults_of(check: Callable[[], object]) -> list[str]:
    try:
        check()
    except FaultsError as error:
        return list(error.faults)
    return []
