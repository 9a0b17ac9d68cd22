"""Check, before a command starts, that its outputs replace none of its inputs and no file of a model."""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hiercos.files import is_same_file
from hiercos.manifest import MANIFEST, Manifest, ManifestError
from hiercos.records import CONFIG

FILE_TARGETS = ("output", "onnx", "curve")  # parameters of commands that name a file to write
FOLDER_TARGETS = ("out", "ship")  # parameters that name a folder to write to
TEXT_INPUTS = ("data", "inputs", "file", "source", "class_prior", "taxonomy")  # parameters whose texts may be paths
RUN_FILES = re.compile(  # names of what runs and comparisons keep in their folder
    r"(config|manifest|taxonomy|inputs|calibration|text_features|results|record.*|trial.*)\.json|.*\.safetensors"
    r"|log\.csv|scores\.npz|results\.(csv|md|tex)"
)
IMAGE_ENDINGS = (".jpg", ".jpeg", ".png", ".gif", ".bmp", ".tif", ".tiff", ".webp", ".ppm")


def replacement_fault(values: Mapping[str, Any]) -> str | None:
    """Sentence about an output that would replace an input of the command, or a file of a model; None without one.

    Args:
        values: value of each parameter of a command; a path, or the text of one of `TEXT_INPUTS`, is an input unless
            its parameter is among `FILE_TARGETS` or `FOLDER_TARGETS`.
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
    """Files and folders among the parameters that are no outputs; data may be given as a text."""
    for name, value in values.items():
        is_input = isinstance(value, Path) or (isinstance(value, str) and name in TEXT_INPUTS)
        if is_input and name not in (*FILE_TARGETS, *FOLDER_TARGETS) and os.path.exists(value):
            yield Path(value)


def _is_part(given: Path, file: Path) -> bool:
    """Whether a file is an input, or in an input folder one of the files that the command reads."""
    if is_same_file(given, file):
        return True
    if not file.is_file() or not given.is_dir() or given.resolve() not in file.resolve().parents:
        return False
    is_run = any((given / name).exists() for name in (MANIFEST, CONFIG, "results.csv"))
    return _is_run_name(file) if is_run else file.suffix.lower() in IMAGE_ENDINGS


def _is_run_name(file: Path) -> bool:
    """Whether a run or a comparison writes a file of this name."""
    return RUN_FILES.fullmatch(file.name) is not None


def _is_model_file(file: Path) -> bool:
    """Whether a file is the manifest of a model, or listed by one beside it; other programs have such names, too."""
    folder = file.resolve().parent
    try:
        files = Manifest.of(folder).files
    except ManifestError:  # not one of a model
        return False
    return files is not None and (file.name == MANIFEST or file.name in files)
