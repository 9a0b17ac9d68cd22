"""What reads a model's inputs, in its folder: TF-IDF as JSON and arrays, a backbone by name or with its weights."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy
import safetensors.torch
from safetensors import SafetensorError

from hiercos.data.features import TextFeatures
from hiercos.engine.checkpoint import CHECKPOINT
from hiercos.engine.readers import FineTunedReader, FrozenReader, Reader, TfidfReader, seeded_backbone
from hiercos.errors import FaultsError
from hiercos.files import write_atomically
from hiercos.nn.backbones import Backbone

TEXT_CONFIG, TEXT_ARRAYS = "text_features.json", "text_features.safetensors"
BACKBONE_WEIGHTS = "backbone.safetensors"


class ModelError(FaultsError):
    """A folder that does not hold a usable model."""


def save_reader(folder: Path, reader: Reader | None) -> None:
    """Write the files a reader needs beside its description; a frozen backbone found by its name needs none."""
    if isinstance(reader, TfidfReader):
        values, arrays = reader.features.state()
        write_atomically(folder / TEXT_CONFIG, json.dumps(values) + "\n")
        rows_first = {name: np.ascontiguousarray(array) for name, array in arrays.items()}  # safetensors writes memory
        write_atomically(folder / TEXT_ARRAYS, safetensors.numpy.save(rows_first))
    elif isinstance(reader, FrozenReader | FineTunedReader) and _travels(reader):
        weights = reader.backbone.state_dict().items()
        content = safetensors.torch.save({name: tensor.detach().cpu().contiguous() for name, tensor in weights})
        write_atomically(folder / BACKBONE_WEIGHTS, content)


def describe_backbone(reader: Reader | None) -> dict[str, Any] | None:
    """A reader's backbone as JSON values, with whether it was trained and whether its weights are in the folder."""
    if not isinstance(reader, FrozenReader | FineTunedReader):
        return None
    fine_tuned = isinstance(reader, FineTunedReader)
    return {**reader.backbone.identity(), "fine_tuned": fine_tuned, "in_folder": _travels(reader)}


def load_reader(folder: Path, kind: str, backbone: dict[str, Any] | None) -> Reader | None:
    """The reader that was saved with a model of this kind and description.

    Raises:
        ModelError: if a file is missing or damaged, or the backbone found here is not the one the model was made with.
    """
    if backbone is not None:
        found = _load_backbone(folder, backbone)
        if backbone["fine_tuned"]:
            return FineTunedReader(found)
        return FrozenReader(found, found_by_name=not backbone["in_folder"])
    return TfidfReader(_load_text_features(folder)) if kind == "texts" else None


def _travels(reader: FrozenReader | FineTunedReader) -> bool:
    return isinstance(reader, FineTunedReader) or not reader.found_by_name


def _load_backbone(folder: Path, expected: dict[str, Any]) -> Backbone:
    """The backbone of a description, checked to be the same to the last weight."""
    backbone = seeded_backbone(expected["name"], expected["options"], pretrained=not expected["in_folder"])
    if expected["in_folder"]:
        try:
            backbone.load_state_dict(safetensors.torch.load((folder / BACKBONE_WEIGHTS).read_bytes()))
        except (OSError, RuntimeError, SafetensorError) as error:
            raise ModelError(f"{folder}: the weights of the backbone cannot be read: {error}") from error
    found = json.loads(json.dumps(backbone.identity()))
    if changed := sorted(key for key in found if found[key] != expected.get(key)):
        raise ModelError(
            f"{folder}: the backbone {expected['name']!r} found here has other {' and '.join(changed)} "
            "than the one this model was trained with"
        )
    return backbone.eval()


def _load_text_features(folder: Path) -> TextFeatures:
    values = read_json(folder / TEXT_CONFIG, folder)
    try:
        arrays = safetensors.numpy.load((folder / TEXT_ARRAYS).read_bytes())
        return TextFeatures.from_state(values, arrays)
    except (KeyError, OSError, ValueError, SafetensorError) as error:
        raise ModelError(f"{folder}: the text features cannot be read: {error}") from error


def read_json(path: Path, folder: Path) -> dict[str, Any]:
    """The object in a file of a model's folder; a `ModelError` says what is wrong with it."""
    if (folder / CHECKPOINT).is_file() and not path.is_file():
        raise ModelError(f"{folder}: an unfinished run; train it to its end with --resume")
    if not path.is_file():
        raise ModelError(f"{folder}: not a model folder, it has no {path.name}")
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ModelError(f"{path}: not JSON ({error})") from error
    if not isinstance(values, dict):
        raise ModelError(f"{path}: expected an object, got {type(values).__name__}")
    return values
