"""Check, before a command starts, that its outputs replace none of its inputs and no file of a model."""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from hiercos.storage import CONFIG, StorageError, opened

FILE_TARGETS = (
    "output",
    "onnx",
    "curve",
    "errors",
    "queue",
    "feedback",
)  # parameters of commands that name a file to write
FOLDER_TARGETS = ("out", "ship")  # parameters that name a folder to write to
TEXT_INPUTS = ("data", "inputs", "file", "source", "class_prior", "taxonomy")  # parameters whose texts may be paths
MODEL_FILES = ("config.json", "taxonomy.json", "vocabulary.json", "record.json", "*.safetensors")
RUN_FILES = (*MODEL_FILES, "log.csv", "scores.npz", "inputs.json", "trial*.json", "results.*")  # of runs, comparisons
IMAGES = ("*.jpg", "*.jpeg", "*.png", "*.gif", "*.bmp", "*.tif", "*.tiff", "*.webp", "*.ppm")


def replacement_fault(values: Mapping[str, Any]) -> str | None:
    """Sentence about an output that would replace an input of the command, or a file of a model; None without one.

    Args:
        values: value of each parameter of a command; a path, or the text of one of `TEXT_INPUTS`, is an input unless
            its parameter is among `FILE_TARGETS` or `FOLDER_TARGETS`.
    """
    inputs = list(_inputs(values))
    outputs = [Path(values[name]) for name in FILE_TARGETS if values.get(name)]
    if values.get("curve"):
        outputs.append(Path(values["curve"]).with_suffix(".html"))  # the figure beside a curve
    for file in filter(os.path.exists, outputs):
        for given in inputs:
            if os.path.samefile(given, file) or (_has_name(file, (*RUN_FILES, *IMAGES)) and _is_in(file, given)):
                return f"{file}: this is an input of the command ({given}); choose another name for the output"
        if _is_committed(file):
            return f"{file}: this is a file of a model; choose another name for the output"
    if len(outputs) != len(set(outputs)):
        return f"{outputs[0]}: expected another file for each output of the command"
    for folder in (Path(values[name]) for name in FOLDER_TARGETS if values.get(name)):
        for given in inputs:
            if given.is_file() and _has_name(given, RUN_FILES) and given.resolve().parent == folder.resolve():
                return f"{given}: this is an input of the command, and writing to {folder} would replace it"
    return None


def _inputs(values: Mapping[str, Any]) -> Iterator[Path]:
    """Files and folders among the parameters that are no outputs; data may be given as a text."""
    for name, value in values.items():
        is_input = isinstance(value, Path) or (isinstance(value, str) and name in TEXT_INPUTS)
        if is_input and name not in FILE_TARGETS + FOLDER_TARGETS and os.path.exists(value):
            yield Path(value)


def _has_name(file: Path, patterns: Iterable[str]) -> bool:
    return any(fnmatch(file.name.lower(), pattern) for pattern in patterns)


def _is_in(file: Path, folder: Path) -> bool:
    return folder.resolve() in file.resolve().parents


def _is_committed(file: Path) -> bool:
    """Whether a file belongs to a committed folder."""
    with suppress(StorageError):
        return file.name in {CONFIG, *opened(file.resolve().parent).sums}
    return False
