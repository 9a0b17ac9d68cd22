"""The map from texts to features as one file beside an ONNX file: ONNX has no operator for it."""

import hashlib
import json
from pathlib import Path

import numpy as np
import safetensors
import safetensors.numpy

from hiercos.data import TextFeatures
from hiercos.onnx.format import OnnxError, TextFile

ENDING = ".text.safetensors"
VALUES = "text_features"  # the name of the JSON values in the file's own metadata


def text_map_content(features: TextFeatures) -> bytes:
    """The file: the arrays, and the vocabulary in its metadata."""
    values, arrays = features.state()
    rows_first = {name: np.ascontiguousarray(array) for name, array in arrays.items()}  # safetensors writes memory
    return safetensors.numpy.save(rows_first, metadata={VALUES: json.dumps(values)})


def describe_text_map(path: Path, content: bytes) -> TextFile:
    """What the ONNX file at this path says of the file beside it."""
    return TextFile(f"{path.stem}{ENDING}", hashlib.sha256(content).hexdigest())


def read_text_map(path: Path, expected: TextFile) -> TextFeatures:
    """The map beside an ONNX file.

    Args:
        path: of the ONNX file.
        expected: what it says of the other one.

    Raises:
        OnnxError: if that file is missing or another one.
    """
    file = path.with_name(expected.name)
    if not file.is_file() and (renamed := path.with_name(f"{path.stem}{ENDING}")).is_file():
        file = renamed  # along with the ONNX file
    if not file.is_file():
        raise OnnxError(f"{file}: there is no such file; {path.name} needs it beside it to read texts")
    if hashlib.sha256(file.read_bytes()).hexdigest() != expected.sha256:
        raise OnnxError(f"{file}: not the file that was written with {path.name}")
    with safetensors.safe_open(str(file), "numpy") as opened:
        values = json.loads(opened.metadata()[VALUES])
        return TextFeatures.from_state(values, {name: opened.get_tensor(name) for name in opened.keys()})  # noqa: SIM118
