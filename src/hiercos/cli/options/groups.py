"""Groups of options that several commands share, each a frozen dataclass."""

import copy
import dataclasses
import functools
import inspect
import os
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, get_args, get_type_hints

import typer

from hiercos.cli.options.replacements import replacement_fault
from hiercos.data import COLUMN_KINDS
from hiercos.encoders import DEVICES, PRECISIONS
from hiercos.errors import FaultsError, visible

if TYPE_CHECKING:
    from lightning_fabric import Fabric

    from hiercos.data import Dataset, Purpose
    from hiercos.encoders import DeviceContext, ReadConfig


class OptionError(FaultsError):
    """An option with an invalid value."""


def check_option(option: str, value: str, choices: Collection[str]) -> None:
    """Raise an `OptionError` unless the value of an option is one of the choices."""
    if value not in choices:
        raise OptionError(f"{option} {value}: expected one of {', '.join(choices)}")


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Decorator for commands: every field of an option group, a dataclass, becomes an option.

    The help has a panel for each group with a class variable `panel`. A command does not start if an output would
    replace one of its inputs, see `replacement_fault`.
    """
    hints = get_type_hints(command, include_extras=True)
    parameters: list[inspect.Parameter] = []
    groups: dict[str, Any] = {}
    for parameter in inspect.signature(command).parameters.values():
        if dataclasses.is_dataclass(hints[parameter.name]):
            groups[parameter.name] = hints[parameter.name]
            parameters += _field_parameters(hints[parameter.name])
        else:
            parameters.append(parameter.replace(annotation=hints[parameter.name]))

    @functools.wraps(command)
    def flat(**values: Any) -> None:
        if fault := replacement_fault(values):
            raise OptionError(fault)
        for name, group in groups.items():
            values[name] = group(**{entry.name: values.pop(entry.name) for entry in dataclasses.fields(group)})
        command(**values)

    ordered = sorted(parameters, key=lambda parameter: parameter.default is not parameter.empty)
    flat.__signature__ = inspect.Signature(ordered)  # type: ignore[attr-defined]  # read by inspect.signature
    flat.__annotations__ = {parameter.name: parameter.annotation for parameter in ordered}
    return flat


def _field_parameters(group: Any) -> list[inspect.Parameter]:
    hints, found = get_type_hints(group, include_extras=True), []
    for entry in dataclasses.fields(group):
        kind, option = get_args(hints[entry.name])
        shown = copy.copy(option)  # an option may stand in several groups
        shown.rich_help_panel = getattr(group, "panel", None)
        annotation = Annotated[kind, shown]  # type: ignore[valid-type]
        found.append(
            inspect.Parameter(entry.name, inspect.Parameter.KEYWORD_ONLY, default=entry.default, annotation=annotation)
        )
    return found


def option_words(*groups: Any) -> list[str]:
    """The options of some groups that differ from their defaults, as words of a command."""
    words: list[str] = []
    for group in groups:
        for entry in dataclasses.fields(group):
            value, flag = getattr(group, entry.name), f"--{entry.name.replace('_', '-')}"
            if value == entry.default:
                continue
            for each in value if isinstance(value, list) else [value]:
                words += [flag] if each is True else [flag, str(each)]
    return words


@dataclass(frozen=True)
class InputOptions:
    """Options for the column and the files of inputs, and for faulty ones."""

    panel: ClassVar = "Data"
    input_column: Annotated[
        str | None,
        typer.Option(help="Column of texts or of paths to images; 'text' or 'path' by default.", show_default=False),
    ] = None
    root: Annotated[
        Path | None,
        typer.Option(help="Folder of built-in data, or of the images of a table.", show_default=False),
    ] = None
    on_error: Annotated[
        str, typer.Option(help="Unreadable images, empty texts, unknown labels: fail, or skip with a note.")
    ] = "fail"


@dataclass(frozen=True)
class ColumnOptions(InputOptions):
    """Options for the columns and files of labelled data."""

    label_column: Annotated[str, typer.Option(help="Column of the labels.")] = "label"
    split_column: Annotated[str, typer.Option(help="Column of the splits: train, val, test.")] = "split"


@dataclass(frozen=True)
class DataOptions(ColumnOptions):
    """Options for training data."""

    columns: Annotated[
        str | None,
        typer.Option(
            help=f"Input columns of a table as NAME or NAME:KIND ({', '.join(COLUMN_KINDS)}), or all.",
            show_default=False,
        ),
    ] = None
    taxonomy: Annotated[Path | None, typer.Option(help="File with the label tree of your own data.")] = None

    def check(self, source: str) -> None:
        """Raise for missing data or a missing taxonomy, before any slow import or reading."""
        from hiercos.data import check_source, column_kinds
        from hiercos.taxonomy import check_taxonomy_source

        if self.columns is not None:
            column_kinds(self.columns)

        check_source(source)
        if self.taxonomy is not None:
            check_taxonomy_source(self.taxonomy)

    def read(
        self,
        source: str,
        *,
        purpose: "Purpose" = "compare",
        test: bool = True,
        targets: bool = False,
        corrections: Path | None = None,
        **others: Any,
    ) -> "Dataset":
        """Read the data set, and complete its split; notes about it go to stderr.

        Args:
            source: data set, as `load_dataset` takes it.
            purpose: purpose of the data, see `Dataset`.
            test: whether to choose test samples, too, if the data have no split.
            targets: whether to set samples aside for the targets of back-off.
            corrections: file of decisions whose rows are learned from; None for none.
            **others: further arguments of `load_dataset`, in place of these options.
        """
        from hiercos.cli.display.progress import checking_lines
        from hiercos.data import column_kinds, completed, degenerate_notes, load_dataset, with_corrections

        columns = None if self.columns is None else column_kinds(self.columns)
        given = {**dataclasses.asdict(self), "columns": columns, **others}
        found = load_dataset(source, **given, callback=checking_lines(), purpose=purpose, test=test)
        dataset = completed(found, test=test, targets=targets)
        if corrections is not None:
            dataset = with_corrections(dataset, corrections)
        say(*dataset.notes, *(() if purpose == "extend" else degenerate_notes(dataset)))
        return dataset


@dataclass(frozen=True)
class DeviceOptions:
    """Options for device and precision."""

    panel: ClassVar = "Device"
    device: Annotated[str, typer.Option(help=f"{', '.join(DEVICES)}.")] = "auto"
    precision: Annotated[str, typer.Option(help=f"{', '.join(PRECISIONS)}.")] = "32-true"

    def check_names(self) -> None:
        """Raise for an unknown device or precision, before torch is imported."""
        check_option("--device", self.device, DEVICES)
        check_option("--precision", self.precision, PRECISIONS)

    @contextmanager
    def processes(self) -> "Iterator[Fabric]":
        """Fabric over the processes of torchrun, if it started any; they end together, when the last one is done."""
        import torch

        started = "LOCAL_WORLD_SIZE" in os.environ
        fabric = self.fabric(**_torchrun_options() if started else {})
        try:
            yield fabric
            fabric.barrier()
        finally:
            if torch.distributed.is_initialized():
                torch.distributed.destroy_process_group()

    def read_config(self, batch_size: int | None, workers: int, *, kind: str, doing: str) -> "ReadConfig":
        """Settings for reading inputs in one process on this device, with a progress display on stderr."""
        from hiercos.cli.display.progress import row_progress
        from hiercos.encoders import ReadConfig

        return ReadConfig(self.context(), batch_size, workers, row_progress(kind, doing))

    def context(self) -> "DeviceContext":
        """Device and precision for inference in one process; Fabric serves for mixed precisions alone."""
        if self.precision != DeviceOptions.precision:
            return self.fabric()
        self._check_available()
        from hiercos.encoders import SingleDevice

        return SingleDevice(self.device)

    def fabric(self, **place: Any) -> "Fabric":
        """Launched Lightning Fabric on this device; one process on one device unless `place` sets others."""
        self._check_available()
        from lightning_fabric import Fabric

        place = place or {"devices": 1}
        try:
            fabric = Fabric(accelerator=self.device, precision=self.precision, **place)  # type: ignore[arg-type]
        except ValueError as error:
            raise OptionError(f"--precision {self.precision}: {error}") from error
        fabric.launch()
        return fabric

    def _check_available(self) -> None:
        check_option("--device", self.device, DEVICES)
        from hiercos.encoders import available_device

        try:
            available_device(self.device)
        except ValueError as error:
            raise OptionError(f"--device {self.device}: this machine has no such device") from error


def is_first_process() -> bool:
    """Whether this process prints: it is the only one, or the first that torchrun started."""
    return os.environ.get("RANK", "0") == "0"


def say(*lines: object) -> None:
    """Print lines to stderr, with control characters escaped; in the first process alone."""
    if is_first_process():
        typer.echo("".join(f"{visible(str(line))}\n" for line in lines), err=True, nl=False)


def _torchrun_options() -> dict[str, Any]:
    """Fabric's options for the processes of torchrun, which Fabric does not detect on a CPU."""
    local, everywhere = (int(os.environ[name]) for name in ("LOCAL_WORLD_SIZE", "WORLD_SIZE"))
    return {"devices": local, "num_nodes": everywhere // local, "strategy": "ddp"}
