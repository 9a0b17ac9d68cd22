"""Outputs that would replace an input of their own command or a file of a model; checked before any command starts."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hiercos.files import is_same_file
from hiercos.manifest import MANIFEST, Manifest

FILE_TARGETS = ("output", "onnx", "curve")  # parameters of commands that name a file to write
FOLDER_TARGETS = ("out", "ship")  # parameters that name a folder to write to
RUN_FILES = re.compile(  # names of what runs and comparisons keep in their folder
    r"(config|manifest|taxonomy|inputs|calibration|text_features|results|record.*|trial.*)\.json|.*\.safetensors"
    r"|log\.csv|scores\.npz|results\.(csv|md|tex)"
)
IMAGE_ENDINGS = (".jpg", ".jpeg", ".png", ".gif", ".bmp", ".tif", ".tiff", ".webp", ".ppm")


def replacement_fault(values: Mapping[str, Any]) -> str | None:
    """Sentence about an output that would replace an input of the command, or a file of a model; None without one.

    Args:
        values: value of each parameter of a command; a path, or a text that is one, is an input unless its parameter is
            among `FILE_TARGETS` or `FOLDER_TARGETS`.
    """
    outputs = [file for name in FILE_TARGETS if values.get(name) for file in _written(name, Path(values[name]))]
    folders = [Path(values[name]) for name in FOLDER_TARGETS if values.get(name)]
    inputs = list(_inputs(values))
    for file in outputs:
        for given in inputs:
            if _is_part(given, file):
                return f"{file}: this is an input of the command ({given}); choose another name for the output"
        if _is_model_file(file):
            return f"{file}: this is a file of a model; choose another name for the output"
    if len(outputs) != len(set(outputs)):
        return f"{outputs[0]}: expected another file for each output of the command"
    for folder in folders:
        for given in inputs:
            if is_same_file(given.parent, folder) and given.is_file() and _is_run_name(given):
                return f"{given}: this is an input of the command, and writing to {folder} would replace it"
    return None


def _written(name: str, file: Path) -> tuple[Path, ...]:
    """Files that an output parameter stands for: a curve has a figure beside it."""
    return (file, file.with_suffix(".html")) if name == "curve" else (file,)


def _inputs(values: Mapping[str, Any]) -> Iterator[Path]:
    for name, value in values.items():
        if name not in (*FILE_TARGETS, *FOLDER_TARGETS) and isinstance(value, str | Path) and "\0" not in str(value):
            yield Path(value)


def _is_part(given: Path, file: Path) -> bool:
    """Whether a file is an input, or in an input folder one of the files that the command reads."""
    if is_same_file(given, file):
        return True
    if not file.is_file() or not given.is_dir() or given.resolve() not in file.resolve().parents:
        return False
    is_run = any((given / name).exists() for name in (MANIFEST, "config.json", "results.csv"))
    return _is_run_name(file) if is_run else file.suffix.lower() in IMAGE_ENDINGS


def _is_run_name(file: Path) -> bool:
    return RUN_FILES.fullmatch(file.name) is not None


def _is_model_file(file: Path) -> bool:
    """Whether a manifest beside a file lists it."""
    folder = file.resolve().parent
    return file.name == MANIFEST or ((folder / MANIFEST).is_file() and file.name in Manifest.of(folder))
