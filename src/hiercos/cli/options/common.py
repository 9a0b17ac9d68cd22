"""Options that several commands share, and checks of paths, of names, and of `name=value` pairs."""

import json
import os
import sys
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hiercos.cli.options.groups import OptionError
from hiercos.errors import suggestion
from hiercos.files import check_folder_writable, check_writable
from hiercos.locks import check_unlocked
from hiercos.manifest import Manifest

if TYPE_CHECKING:
    from hiercos.engine import StoredModel


def check_model_folder(model: Path) -> None:
    """Raise an `OptionError` unless the folder exists; its content is not checked."""
    if model.is_dir():
        return
    if not model.exists():
        raise OptionError(f"{model}: there is no such folder; expected one that hiercos train wrote")
    exported = ", from which an .onnx file was exported" if model.suffix.lower() == ".onnx" else ""
    raise OptionError(f"{model}: expected the folder that hiercos train wrote{exported}, this is a file")


def opened_model_folder(model: Path) -> Manifest:
    """The files of a model folder, all of them old or all new if another process replaces it meanwhile.

    Raises:
        OptionError: if there is no such folder.
        ManifestError: if its manifest is damaged.
    """
    check_model_folder(model)
    return Manifest.of(model)


@dataclass(frozen=True)
class LoadOptions:
    """Options for loading a model folder."""

    trust_backbone: Annotated[
        bool, typer.Option("--trust-backbone", help="Load a backbone from a path or the Hub that the model names.")
    ] = False
    no_verify: Annotated[
        bool, typer.Option("--no-verify", help="Do not compare the weights of the model with their checksums.")
    ] = False

    def load(self, model: Path | Manifest) -> "StoredModel":
        """Load a model folder, or one whose files are open already."""
        if isinstance(model, Path):
            check_model_folder(model)
        from hiercos.engine import load_model

        return load_model(model, verify=not self.no_verify, trust_backbone=self.trust_backbone)


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
        check_writable(file)
    except OSError as error:
        raise OptionError(f"{option} {file}: nothing can be written to {error.filename} ({error.strerror})") from error


def check_out(folder: Path, option: str = "--out") -> None:
    """Raise an `OptionError` if nothing can be written to an output folder, or another process writes to it."""
    if os.path.exists(folder) and not os.path.isdir(folder):
        raise OptionError(f"{option} {folder}: expected a folder, got a file")
    try:
        check_folder_writable(folder)
        check_unlocked(folder)
    except OSError as error:
        raise OptionError(
            f"{option} {folder}: nothing can be written to {error.filename or folder} ({error.strerror})"
        ) from error


Data = Annotated[
    str,
    typer.Argument(
        help="Built-in name (see hiercos data), image folder, hf:NAME, or a .csv, .tsv, .parquet, .jsonl or .npz file."
    ),
]
Dim = Annotated[int, typer.Option(min=1, help="Number of dense TF-IDF features of a text, for methods that need them.")]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", help="Option of the method, as name=value (see hiercos methods NAME); repeatable."),
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


# Names that options may have, listed here because their registries import torch; a test compares the lists.
METHOD_NAMES = (
    "barz-denzler",
    "c-hmcnn",
    "conditional-softmax",
    "cross-entropy",
    "cross-entropy-mlp",
    "default",
    "flamingo-1",
    "flamingo-2",
    "flat-committee",
    "gaussian",
    "hace",
    "hafeat-1",
    "hafeat-2",
    "haframe",
    "hier-cos",
    "hxe",
    "linear-svm",
    "logistic",
    "path-softmax",
    "soft-labels",
    "tree-logistic",
    "yolo-v2",
)
AXIS_NAMES = ("alpha", "direction", "regulariser", "span", "exponent")
BACKBONE_NAMES = ("efficientnet-lite0", "minilm", "ngrams", "resnet-50", "vit-small", "wide-resnet-28")
BACKBONE_PREFIXES = ("onnx", "sentence-transformers", "timm", "transformers")


def check_method_names(names: Iterable[str]) -> None:
    """Raise for the first unknown method; torch is imported only where another package registers methods."""
    if not _asks_registry("hiercos.methods", "hiercos.methods"):
        return _check("method", names, METHOD_NAMES)
    from hiercos.methods import METHODS as REGISTRY

    for name in names:
        REGISTRY.checked_name(name)
    return None


def check_backbone_name(name: str) -> None:
    """Raise for an unknown backbone; torch is imported only where another package registers backbones."""
    if not _asks_registry("hiercos.backbones", "hiercos.nn.backbones"):
        listed = (*BACKBONE_NAMES, *(f"{prefix}:MODEL" for prefix in BACKBONE_PREFIXES))
        prefix, colon, model = name.partition(":")
        return _check("backbone", [] if colon and model and prefix in BACKBONE_PREFIXES else [name], listed)
    from hiercos.nn.backbones import BACKBONES as REGISTRY

    REGISTRY[name]
    return None


def check_axis_names(names: Iterable[str]) -> None:
    """Raise for the first unknown axis of an ablation."""
    _check("axis", names, AXIS_NAMES)


def _asks_registry(group: str, module: str) -> bool:
    """Whether only the registry knows all names: it is imported already, or other packages register more.

    Args:
        group: group of the entry points of other packages.
        module: module of the registry.
    """
    return module in sys.modules or bool(entry_points(group=group))


def _check(kind: str, names: Iterable[str], known: Collection[str]) -> None:
    for name in names:
        if name not in known:
            raise OptionError(f"unknown {kind} {name!r}{suggestion(name, known)}")
