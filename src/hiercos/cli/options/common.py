"""Options and path checks that several commands share, and `name=value` pairs."""

import json
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryFile
from typing import Annotated, Any

import typer

from hiercos.cli.options.groups import OptionError


def check_model_folder(model: Path) -> None:
    """Raise an `OptionError` unless the folder exists; its content is not checked."""
    if model.is_dir():
        return
    if not model.exists():
        raise OptionError(f"{model}: there is no such folder; expected one that hiercos train wrote")
    exported = ", from which an .onnx file was exported" if model.suffix.lower() == ".onnx" else ""
    raise OptionError(f"{model}: expected the folder that hiercos train wrote{exported}, this is a file")


def check_target(option: str, file: Path | None) -> None:
    """Raise an `OptionError` if an output file cannot be written, tested with a temporary file in its folder.

    Args:
        option: name of the option, such as "--output".
        file: output file; None to check nothing.
    """
    if file is None:
        return
    if file.is_dir():
        raise OptionError(f"{option} {file}: expected the name of a file, this is a folder")
    if not file.parent.is_dir():
        raise OptionError(f"{option} {file}: there is no folder {file.parent}")
    try:
        with TemporaryFile(dir=file.parent):
            pass
    except OSError as error:
        raise OptionError(f"{option} {file}: nothing can be written to {file.parent} ({error.strerror})") from error


Data = Annotated[
    str,
    typer.Argument(
        help="Built-in name (see hiercos data), image folder, hf:NAME, or a .csv, .tsv, .parquet, .jsonl or .npz file."
    ),
]
Dim = Annotated[int, typer.Option(min=1, help="Number of dense TF-IDF features of a text, for methods that need them.")]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", help="Option of the method, as name=value (see hiercos methods); repeatable."),
]
BatchSize = Annotated[int | None, typer.Option(min=1, help="Inputs in a batch; by default chosen by their kind.")]
Workers = Annotated[
    int, typer.Option(min=0, help="Processes that read images or texts; 0 for a thread of this process.")
]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="File to write instead of standard output.")]


def method_options(pairs: list[str] | None) -> dict[str, Any]:
    """The options of a method, given by --set."""
    return named_values(pairs, "--set")


def check_rules(names: Iterable[str]) -> None:
    """Raise for the first unknown decision rule; needs no torch."""
    from hiercos.decisions import RULES

    for name in names:
        RULES[name]  # raises for an unknown rule and lists the known ones


def named_values(pairs: list[str] | None, option: str) -> dict[str, Any]:
    """The `name=value` pairs of an option as a dict; a value that is not JSON is kept as text."""
    options = {}
    for pair in pairs or []:
        name, equals, value = pair.partition("=")
        if not name or not equals:
            raise OptionError(f"{option} {pair}: expected name=value")
        options[name.replace("-", "_")] = _json_or_text(value)
    return options


def _json_or_text(value: str) -> Any:
    try:
        return json.loads(value)
    except ValueError:
        return value
