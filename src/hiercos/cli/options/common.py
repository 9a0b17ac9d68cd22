"""Options that several commands share, checks of paths, and values of several parts."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hiercos import storage
from hiercos.cli.options.groups import OptionError
from hiercos.storage import Folder

if TYPE_CHECKING:
    from hiercos.model import Classifier


Data = Annotated[
    str,
    typer.Argument(
        help="Built-in name (see hiercos data), image folder, hf:NAME, or a .csv, .tsv, .parquet, .jsonl or .npz file."
    ),
]
BatchSize = Annotated[int | None, typer.Option(min=1, help="Inputs in a batch; by default chosen by their kind.")]
Workers = Annotated[
    int, typer.Option(min=0, help="Processes that read images or texts; 0 for a thread of this process.")
]
TrustBackbone = Annotated[
    bool, typer.Option("--trust-backbone", help="Load a backbone from a path or the Hub that the model or data name.")
]
CsvSafe = Annotated[
    bool,
    typer.Option("--csv-safe", help="Put ' before CSV cells that a spreadsheet would run (=, +, -, @ at the start)."),
]
Corrections = Annotated[
    Path | None,
    typer.Option(help="Decisions of hiercos serve --feedback, as more training rows.", show_default=False),
]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="File to write instead of standard output.")]


def check_model_folder(model: Path) -> None:
    """Raise an `OptionError` unless the folder exists; its content is not checked."""
    if model.is_dir():
        return
    if not model.exists():
        raise OptionError(f"{model}: there is no such folder; expected one that hiercos train wrote")
    exported = ", from which an .onnx file was exported" if model.suffix.lower() == ".onnx" else ""
    raise OptionError(f"{model}: expected the folder that hiercos train wrote{exported}, this is a file")


def opened_model_folder(model: Path) -> Folder:
    """The files of a model folder, which belong together.

    Raises:
        OptionError: if there is no such folder.
        ModelError, StorageError: if it is not whole.
    """
    check_model_folder(model)
    from hiercos.model import model_files

    return model_files(model)


@dataclass(frozen=True)
class LoadOptions:
    """Options for loading a model folder."""

    trust_backbone: TrustBackbone = False

    def load(self, model: Path | Folder) -> "Classifier":
        """Load a model folder, or one whose files are open already."""
        if isinstance(model, Path):
            check_model_folder(model)
        from hiercos.model import Classifier

        return Classifier.load(model, trust_backbone=self.trust_backbone)


def opened_model(model: Path) -> Path | Folder:
    """The files of a model folder, or the path of an .onnx file."""
    return model if model.suffix.lower() == ".onnx" and not model.is_dir() else opened_model_folder(model)


@contextmanager
def needs_serve_extra() -> Iterator[None]:
    """Turn a missing package of the extra "serve" into an `OptionError` that says how to install it."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise OptionError(f"this command needs {error.name}: pip install 'hiercos[serve]'") from error


def check_target(option: str, file: Path | None) -> None:
    """Raise an `OptionError` if an output file cannot be written, which is tried before any work is done.

    Args:
        option: name of the option, such as "--output".
        file: output file; None to check nothing.
    """
    if file is None:
        return
    if os.path.isdir(file):  # unlike Path.is_dir, False for a name that is too long
        raise OptionError(f"{option} {file}: expected the name of a file, this is a folder")
    if not file.parent.is_dir():
        raise OptionError(f"{option} {file}: there is no folder {file.parent}")
    try:
        storage.check_writable(file)
    except OSError as error:
        raise OptionError(f"{option} {file}: nothing can be written to {error.filename} ({error.strerror})") from error


def check_out(folder: Path, option: str = "--out") -> None:
    """Raise an `OptionError` if nothing can be written to an output folder, or another process writes to it."""
    if os.path.exists(folder) and not os.path.isdir(folder):
        raise OptionError(f"{option} {folder}: expected a folder, got a file")
    try:
        with storage.folder(folder):
            pass
    except OSError as error:
        raise OptionError(
            f"{option} {folder}: nothing can be written to {error.filename or folder} ({error.strerror})"
        ) from error


def named_texts(pairs: list[str] | None, option: str) -> dict[str, str]:
    """The `name=value` pairs of an option, with underscores in their names."""
    found = {}
    for pair in pairs or []:
        name, equals, value = pair.partition("=")
        if not name or not equals:
            raise OptionError(f"{option} {pair}: expected name=value")
        found[name.replace("-", "_")] = value
    return found


def names_in(text: str) -> list[str]:
    """Names that are separated by commas."""
    return [name.strip() for name in text.split(",")]


def file_lines(option: str, path: Path, expected: str) -> list[tuple[int, str]]:
    """Number and text of each line of a file that is not blank, of which there must be one."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise OptionError(f"{option} {path}: cannot be read: {error}") from error
    if found := [(number, line.strip()) for number, line in enumerate(lines, 1) if line.strip()]:
        return found
    raise OptionError(f"{option} {path}: expected {expected}, got none")
