"""Options of training, made from the fields of `Settings`: None where they are not given, so no default stands here."""

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import NoneType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Optional, get_args

import typer

from hiercos.cli.options.common import named_texts
from hiercos.cli.options.groups import OptionError
from hiercos.encoders import BESIDE, TFIDF
from hiercos.training import OWN_OPTIONS, SHARED_OPTIONS, Settings, kinds, parsed

if TYPE_CHECKING:
    from hiercos.records import Record

OF_BACKBONE = "backbone."  # before the name of an option of the backbone
FROM_SCRATCH = "from_scratch"
OF_TRAINED_BACKBONE = (FROM_SCRATCH, "backbone_learning_rate", "augment", "border")
SHORT = {"learning_rate": "--lr"}


@dataclass(frozen=True)
class SettingOptions:
    """Settings of a training: options of their own name, and `--set` for all others and for options of the method."""

    panel: ClassVar = "Training"
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="Another setting, or an option of the method, as name=value, or of the backbone, as "
            "backbone.name=value; repeatable.",
            show_default=False,
        ),
    ] = None

    @cached_property
    def given(self) -> dict[str, Any]:
        """Values by name: settings, and options of the method."""
        own = {entry.name: getattr(self, entry.name) for entry in dataclasses.fields(self) if entry.name != "set_"}
        return {name: value for name, value in own.items() if value is not None} | {
            name: value
            for name, value in set_values(self.set_).items()
            if name != FROM_SCRATCH and not name.startswith(OF_BACKBONE)
        }

    @property
    def backbone(self) -> dict[str, Any]:
        """Options of the backbone, by their names without "backbone."."""
        values = set_values(self.set_)
        return {name.removeprefix(OF_BACKBONE): value for name, value in values.items() if name.startswith(OF_BACKBONE)}

    @property
    def from_scratch(self) -> bool:
        """Whether a backbone is trained from random weights."""
        value = set_values(self.set_).get(FROM_SCRATCH, False)
        if not isinstance(value, bool):
            raise OptionError(f"--set {FROM_SCRATCH}={value}: expected true or false")
        return value

    def check(self, *, trains_backbone: bool = False) -> None:
        """Raise for pairs that are none, and settings of a trained backbone if none is; needs no torch."""
        for name in set_values(self.set_):
            if name in OF_TRAINED_BACKBONE and not trains_backbone:
                raise OptionError(f"--set {name}: expected --unfreeze with it")

    def settings(
        self, precision: str, *, backbone: str | None = None, trains_backbone: bool = False, **others: Any
    ) -> Settings:
        """The settings of one training.

        Args:
            precision: precision of the arithmetic.
            backbone: name of the backbone, whose options an unknown name may be meant for.
            trains_backbone: whether the backbone is trained with the head.
            **others: settings that the command sets.
        """
        from hiercos.training import with_options

        names = [*(f"{OF_BACKBONE}{name}" for name in _options_of_backbone(backbone)), FROM_SCRATCH]
        values = {**others, **self.given, "precision": precision}
        return with_options(Settings(), values, trains_backbone=trains_backbone, others=names)

    def settings_of(self, methods: Iterable[str], precision: str) -> dict[str, Settings]:
        """The settings of several methods by name: each takes the options that it has."""
        from hiercos.methods import METHODS
        from hiercos.training import SettingsError, with_options

        names, fields = list(methods), kinds().keys() - SHARED_OPTIONS
        options = {name: value for name, value in self.given.items() if name not in fields}
        known = {name: METHODS.options(name) for name in names}
        if unknown := [name for name in options if not any(name in own for own in known.values())]:
            with_options(Settings(method=names[0]), {name: options[name] for name in unknown})  # raises
            raise SettingsError(unknown)
        found = {}
        for name in names:
            own = {option: value for option, value in self.given.items() if option in fields or option in known[name]}
            found[name] = with_options(Settings(method=name), {**own, "precision": precision})
        return found


def setting_options(*names: str) -> Any:
    """A base class of option groups with an option for each of these fields of `Settings`."""
    entries = [(name, _option(name), None) for name in names]
    return dataclasses.make_dataclass("SettingOptionsOfNames", entries, bases=(SettingOptions,), frozen=True)


def _option(name: str) -> Any:
    """Annotation of the option for a setting: its type, and its help with the default of `Settings` in words."""
    kind = kinds()[name]
    kind = kind if NoneType in get_args(kind) else Optional[kind]  # noqa: UP045  # of a value
    default = next(entry.default for entry in dataclasses.fields(Settings) if entry.name == name)
    shown = "what suits method and data" if default is None else str(default)
    flags = [f"--{name.replace('_', '-')}", *filter(None, [SHORT.get(name)])]
    shown_default = False if default is dataclasses.MISSING else shown
    return Annotated[kind, typer.Option(*flags, help=OWN_OPTIONS[name], show_default=shown_default)]


def set_values(pairs: list[str] | None) -> dict[str, Any]:
    """Values of `--set` by name, each in the type of its setting; needs no torch."""
    texts = named_texts(pairs, "--set")
    for name, text in texts.items():
        if name in OWN_OPTIONS:
            raise OptionError(f"--set {name}={text}: expected --{name.replace('_', '-')} {text} instead")
    return {name: parsed(name, text) for name, text in texts.items()}


def _options_of_backbone(name: str | None) -> Iterable[str]:
    if name is None or name == TFIDF:
        return ()
    from hiercos.encoders.backbones import BACKBONES

    return BACKBONES.options(name.removeprefix(BESIDE))


def record_words(record: "Record") -> list[str]:
    """Words of `hiercos train` that give the settings of a record, but for its precision."""
    from hiercos.training import setting_words

    config: Mapping[str, Any] = {name: value for name, value in record.config.items() if name != "precision"}
    return setting_words({**config, "rule": record.rule}, record.data["sizes"]["train"])


COMMON = ("epochs", "batch_size", "learning_rate", "seed")


class TrainingOptions(setting_options(*COMMON, "effort", "folds")):  # type: ignore[misc]
    """Options of training several methods."""


class ModelOptions(setting_options("method", "rule", *COMMON, "effort", "folds", "memory")):  # type: ignore[misc]
    """Options of training one model."""


class ExtensionOptions(setting_options(*COMMON)):  # type: ignore[misc]
    """Options of training a model that is extended."""
