"""A published run as a value: its settings, where each comes from, and the rows of the paper it should give."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from hiercos.benchmark.published import PublishedRow, PublishedTable
from hiercos.errors import FaultsError, suggestion

SECTIONS = ("method", "backbone", "training")
BACKBONE_KEYS = ("name", "pretrained", "freeze")  # of every backbone; the others are its own options


class RecipeError(FaultsError):
    """A recipe that cannot be used, or that does not exist."""


@dataclass(frozen=True)
class Reference:
    """A row of the paper that a recipe should give: its table and name, and the rule that ranks the classes."""

    table: str
    row: str
    rule: str = "none"


@dataclass(frozen=True)
class Recipe:
    """A published run.

    Attributes:
        name: what commands call it; its file's name.
        dataset: the built-in data set it is for.
        published: the rows it should give.
        seeds: of the published runs.
        settings: by section ("method", "backbone", "training") and key.
        sources: where each setting comes from, by "section.key".
        differs: what is done here otherwise than in the published run, a sentence each.
        changes: what the user changed, a sentence each.
    """

    name: str
    dataset: str
    published: tuple[Reference, ...]
    seeds: tuple[int, ...]
    settings: Mapping[str, Mapping[str, Any]]
    sources: Mapping[str, str]
    differs: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()

    def rows(self, table: PublishedTable) -> list[tuple[str, PublishedRow]]:
        """The rows of a table that it should give, each with its rule."""
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
        """The recipe with other settings, by "section.key"; what is changed is remembered.

        A key that the recipe does not have is added; whether its method, backbone or trainer knows it shows when
        the recipe is checked or run.

        Raises:
            RecipeError: for a key without a known section.
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


def find_recipe(recipes: list[Recipe], dataset: str, name: str) -> Recipe:
    """A recipe by its data set and name.

    Raises:
        RecipeError: if there is none, with the nearest one.
    """
    found = {recipe.name: recipe for recipe in recipes if recipe.dataset == dataset}
    if name not in found:
        raise RecipeError(f"there is no recipe {name!r} for {dataset}{suggestion(name, found)}")
    return found[name]
