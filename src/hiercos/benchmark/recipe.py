"""A published run as a value: its settings, the source of each, and the rows of the paper it should reproduce."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from hiercos.benchmark.published import PublishedRow, PublishedTable
from hiercos.errors import FaultsError

SECTIONS = ("method", "backbone", "training")
BACKBONE_KEYS = ("name", "pretrained", "freeze")  # keys of every backbone; all others are the backbone's own options


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
    """A published run.

    Attributes:
        name: name used by commands and as the file name.
        dataset: name of the built-in data set.
        published: rows of the paper to reproduce.
        seeds: random seeds of the published runs.
        settings: values by section ("method", "backbone", "training") and key.
        sources: source of each setting, by "section.key".
        differs: differences from the published run, a sentence each.
        changes: changes made by the user, a sentence each.
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

        Raises:
            RecipeError: a key without a known section.
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
