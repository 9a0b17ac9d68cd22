"""Groups of options that several commands share, each a frozen dataclass."""

import dataclasses
import functools
import inspect
import os
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from hiercos.cli.options.replacements import replacement_fault
from hiercos.errors import FaultsError, visible
from hiercos.options import MAX_EPOCHS, PATIENCE, batch_size_for, check_choice

if TYPE_CHECKING:
    from lightning_fabric import Fabric

    from hiercos.data import Dataset, Purpose
    from hiercos.engine import DeviceContext, ReadConfig, TrainConfig
    from hiercos.taxonomy import Taxonomy


DEVICES = ("auto", "cpu", "cuda", "mps")
PRECISIONS = ("32-true", "bf16-mixed", "16-mixed")  # supported in training
OPTIMIZERS = ("adamw", "sgd", "amsgrad")
SCHEDULES = ("cosine", "one-cycle", "constant", "plateau")
EFFORTS = ("quick", "normal", "best")
EFFORT = "normal"  # where none is given


class OptionError(FaultsError):
    """An option with an invalid value."""


def check_option(option: str, value: str, choices: Collection[str]) -> None:
    """Raise an `OptionError` unless the value of an option is one of the choices."""
    if value not in choices:
        raise OptionError(f"{option} {value}: expected one of {', '.join(choices)}")


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Decorator for commands: every field of an option group, a dataclass, becomes an option.

    A command does not start if an output would replace one of its inputs, see `replacement_fault`.
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
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            entry.name, inspect.Parameter.KEYWORD_ONLY, default=entry.default, annotation=hints[entry.name]
        )
        for entry in dataclasses.fields(group)
    ]


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
class ColumnOptions:
    """Options for the columns and files of the data, and for faulty images."""

    text_column: Annotated[
        str | None, typer.Option(help="Column of the texts; 'text' by default.", show_default=False)
    ] = None
    path_column: Annotated[
        str | None, typer.Option(help="Column of paths to images; 'path' by default.", show_default=False)
    ] = None
    label_column: Annotated[str, typer.Option(help="Column of the labels.")] = "label"
    split_column: Annotated[str, typer.Option(help="Column of the splits: train, val, test.")] = "split"
    root: Annotated[
        Path | None,
        typer.Option(help="Folder of built-in data, or of the images of a table.", show_default=False),
    ] = None
    on_error: Annotated[str, typer.Option(help="Unreadable images, empty texts: fail, or skip with a note.")] = "fail"


@dataclass(frozen=True)
class DataOptions(ColumnOptions):
    """Options for training data."""

    taxonomy: Annotated[Path | None, typer.Option(help="File with the label tree of your own data.")] = None

    def check(self, source: str) -> None:
        """Raise for missing data or a missing taxonomy, before any slow import or reading."""
        from hiercos.data import check_source
        from hiercos.taxonomy import check_taxonomy_source

        check_source(source)
        if self.taxonomy is not None:
            check_taxonomy_source(self.taxonomy)

    def read(self, source: str, *, purpose: "Purpose" = "compare", test: bool = True) -> "Dataset":
        """Read the data set; notes about it go to stderr.

        Args:
            source: data set, as `load_dataset` takes it.
            purpose: purpose of the data, see `Dataset`.
            test: whether to choose test samples, too, if the data have no split.
        """
        from hiercos.cli.display.row_progress import checking_lines
        from hiercos.data import degenerate_notes, load_dataset

        given = dataclasses.asdict(self)
        dataset = load_dataset(source, **given, callback=checking_lines(), purpose=purpose, test=test)
        if is_first_process():
            notes = (*dataset.notes, *degenerate_notes(dataset))
            typer.echo("".join(f"{visible(note)}\n" for note in notes), err=True, nl=False)
        return dataset


@dataclass(frozen=True)
class DeviceOptions:
    """Options for device and precision."""

    device: Annotated[str, typer.Option(help="auto, cpu, cuda or mps.")] = "auto"
    precision: Annotated[str, typer.Option(help="32-true, bf16-mixed or 16-mixed.")] = "32-true"

    def check_names(self) -> None:
        """Raise for an unknown device or precision of training, before torch is imported."""
        self._check_device()
        check_choice("precision", self.precision, PRECISIONS)

    def _check_device(self) -> None:
        check_option("--device", self.device, DEVICES)

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
        from hiercos.cli.display.row_progress import row_progress
        from hiercos.engine import ReadConfig

        return ReadConfig(self.context(), batch_size, workers, row_progress(kind, doing))

    def context(self) -> "DeviceContext":
        """Device and precision for inference in one process; Fabric serves for mixed precisions alone."""
        if self.precision != DeviceOptions.precision:
            return self.fabric()
        self._check_device()
        from hiercos.engine import SingleDevice

        try:
            return SingleDevice(self.device)
        except ValueError as error:
            raise OptionError(f"--device {self.device}: this machine has no such device") from error

    def fabric(self, **place: Any) -> "Fabric":
        """Launched Lightning Fabric on this device; one process on one device unless `place` sets others."""
        self._check_device()
        import torch

        absent = {"cuda": not torch.cuda.is_available(), "mps": not torch.mps.is_available()}
        if absent.get(self.device, False):
            raise OptionError(f"--device {self.device}: this machine has no such device")
        from lightning_fabric import Fabric

        place = place or {"devices": 1}
        try:
            fabric = Fabric(accelerator=self.device, precision=self.precision, **place)  # type: ignore[arg-type]
        except ValueError as error:
            raise OptionError(f"--precision {self.precision}: {error}") from error
        fabric.launch()
        return fabric


def is_first_process() -> bool:
    """Whether this process prints: it is the only one, or the first that torchrun started."""
    return os.environ.get("RANK", "0") == "0"


def _torchrun_options() -> dict[str, Any]:
    """Fabric's options for the processes of torchrun, which Fabric does not detect on a CPU."""
    local, everywhere = (int(os.environ[name]) for name in ("LOCAL_WORLD_SIZE", "WORLD_SIZE"))
    return {"devices": local, "num_nodes": everywhere // local, "strategy": "ddp"}


@dataclass(frozen=True)
class PriorOptions:
    """Options for other class frequencies than those of the training data."""

    class_prior: Annotated[
        str | None,
        typer.Option(
            help="Class frequencies to answer for: balanced, or a CSV file with the columns class and prior.",
            show_default="those of the training data",
        ),
    ] = None

    def check(self) -> None:
        """Raise for a missing file, before any slow import or reading."""
        if self.class_prior not in (None, "balanced") and not Path(str(self.class_prior)).is_file():
            raise OptionError(
                f"--class-prior {self.class_prior}: expected balanced or a CSV file, there is no such file"
            )

    def read(self, taxonomy: "Taxonomy") -> Any:
        """The prior for `TrainConfig`."""
        if self.class_prior is None or self.class_prior == "balanced":
            return self.class_prior
        from hiercos.predictions import read_class_prior

        return read_class_prior(Path(self.class_prior), taxonomy)


@dataclass(frozen=True)
class TrainingOptions:
    """Options of training."""

    epochs: Annotated[
        int | None,
        typer.Option(min=1, help="Exact number of passes over the training data; by default --patience ends them."),
    ] = None
    patience: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Epochs without a better top-1, HOPS or log-loss on validation before the learning rate falls to 0.",
            show_default=str(PATIENCE),
        ),
    ] = None
    max_epochs: Annotated[
        int | None, typer.Option(min=1, help="Maximum number of epochs with --patience.", show_default=str(MAX_EPOCHS))
    ] = None
    batch_size: Annotated[
        int | None,
        typer.Option(min=1, help="Samples in a batch; by default 256 (64 with --unfreeze), fewer for small data."),
    ] = None
    learning_rate: Annotated[float, typer.Option("--learning-rate", "--lr", help="Peak learning rate.")] = 3e-3
    weight_decay: Annotated[float, typer.Option(min=0, help="Weight decay.")] = 1e-2
    optimizer: Annotated[str, typer.Option(help="adamw, sgd or amsgrad.")] = "adamw"
    schedule: Annotated[
        str | None,
        typer.Option(
            help="Learning rate with --epochs: cosine, one-cycle or constant; with --patience: plateau.",
            show_default="cosine with --epochs, else plateau",
        ),
    ] = None
    gradient_clip: Annotated[float | None, typer.Option(help="Maximum norm of the gradient.")] = None
    width: Annotated[int, typer.Option(min=1, help="Width of the hidden blocks, if the method has any.")] = 512
    dropout: Annotated[float, typer.Option(min=0, max=1, help="Dropout rate before the hidden blocks.")] = 0.1
    as_published: Annotated[
        bool, typer.Option("--as-published", help="Use the published width, dropout and other options of each method.")
    ] = False
    effort: Annotated[
        str | None,
        typer.Option(
            help="Effort of the default method: quick (linear heads alone), normal or best.", show_default=EFFORT
        ),
    ] = None
    seed: Annotated[int, typer.Option(min=0, help="Seed of the (first) run.")] = 0

    def check_names(self) -> None:
        """Raise for an unknown optimizer or schedule or a contradictory length, before torch is imported."""
        check_choice("optimizer", self.optimizer, OPTIMIZERS)
        check_option("--effort", self.effort or EFFORT, EFFORTS)
        if self.schedule is not None:
            check_choice("schedule", self.schedule, SCHEDULES)
        self._length()

    def check_effort(self, methods: Iterable[str]) -> None:
        """Raise for an effort that was given although none of the trained methods has one."""
        if self.effort is None:
            return  # torch is not imported yet
        from hiercos.methods import METHODS

        names = list(methods)
        if not any("effort" in METHODS.options(name) for name in names):
            having = ", ".join(name for name in METHODS if "effort" in METHODS.options(name))
            trained = f"{', '.join(names)} {'has' if len(names) == 1 else 'have'} no effort"
            raise OptionError(f"--effort {self.effort}: {trained}; methods that have one: {having}")

    def _length(self) -> dict[str, Any]:
        """The settings of the length of the training: an exact number of epochs, or patience with a maximum."""
        if self.epochs is None:
            if self.schedule not in (None, "plateau"):
                raise OptionError(
                    f"--schedule {self.schedule}: expected --epochs with it, since its length must be known"
                )
            patience, most = self.patience or PATIENCE, self.max_epochs or MAX_EPOCHS
            return {"epochs": most, "patience": patience, "schedule": "plateau"}
        for option, value in (("--patience", self.patience), ("--max-epochs", self.max_epochs)):
            if value is not None:
                raise OptionError(f"{option} {value}: expected no --epochs with it, which is an exact number")
        if self.schedule == "plateau":
            raise OptionError("--schedule plateau: expected --patience instead of --epochs with it")
        return {"epochs": self.epochs, "schedule": self.schedule or "cosine"}

    def config(
        self,
        method: str,
        options: dict[str, Any],
        *,
        precision: str,
        samples: int,
        max_batch_size: int = 256,
        **others: Any,
    ) -> "TrainConfig":
        """The training settings of a method for a number of training samples.

        Width and dropout are set for methods that have them, and so are the recommended options of a method, unless the
        published ones are asked for; `max_batch_size` limits the default batch size.
        """
        from hiercos.engine import TrainConfig
        from hiercos.methods import METHODS

        METHODS.check_options(method, options)
        settings = {**dataclasses.asdict(self), "effort": self.effort or EFFORT, "patience": None, **self._length()}
        del settings["max_epochs"]
        blocks = {name: settings.pop(name) for name in ("width", "dropout", "effort")}
        shared: dict[str, Any] = {}
        if not settings.pop("as_published"):
            known = METHODS.options(method)
            shared = {name: value for name, value in blocks.items() if name in known}
            shared |= METHODS.recommended(method)
        elif self.effort is not None and "effort" in METHODS.options(method):
            shared["effort"] = self.effort  # nothing published
        if settings["batch_size"] is None:
            settings["batch_size"] = batch_size_for(samples, max_batch_size)
        return TrainConfig(method=method, options={**shared, **options}, precision=precision, **settings, **others)
