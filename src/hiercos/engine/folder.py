"""A model as a folder: weights as safetensors, configuration and taxonomy as JSON. No pickle."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy
import safetensors.torch
from safetensors import SafetensorError

from hiercos.data.dataset import Kind
from hiercos.data.features import TextFeatures
from hiercos.decisions import RULES
from hiercos.engine.checkpoint import CHECKPOINT
from hiercos.engine.model import Model
from hiercos.errors import FaultsError
from hiercos.files import write_atomically
from hiercos.taxonomy.formats import taxonomy_from_dict, taxonomy_to_dict

FORMAT, VERSION = "hiercos-model", 1
CONFIG, TAXONOMY, WEIGHTS = "config.json", "taxonomy.json", "model.safetensors"
TEXT_CONFIG, TEXT_ARRAYS = "text_features.json", "text_features.safetensors"

_FIELDS: dict[str, Any] = {
    "kind": str,
    "method": str,
    "options": dict,
    "in_features": int,
    "rule": str,
    "temperature": int | float,
}
_WORDS: dict[Any, str] = {str: "a text", dict: "an object", int: "a whole number", int | float: "a number"}


class ModelError(FaultsError):
    """A folder that does not hold a usable model."""


@dataclass(frozen=True)
class StoredModel:
    """What a model folder holds.

    Attributes:
        model: the model, on the CPU.
        text_features: what turns texts into its features; None for a model of vectors.
        rule: the decision rule on its scores, a name of `hiercos.decisions.RULES`.
        temperature: of the probabilities that the rule reads.
    """

    model: Model
    text_features: TextFeatures | None
    rule: str = "none"
    temperature: float = 1.0

    @property
    def kind(self) -> Kind:
        """What the model reads: "texts" or "vectors"."""
        return "vectors" if self.text_features is None else "texts"


def save_model(folder: Path, stored: StoredModel) -> None:
    """Write a model into a folder; the configuration comes last, so a folder with one is whole."""
    model = stored.model
    folder.mkdir(parents=True, exist_ok=True)
    weights = {name: tensor.detach().cpu().contiguous() for name, tensor in model.state_dict().items()}
    write_atomically(folder / WEIGHTS, safetensors.torch.save(weights))
    write_atomically(folder / TAXONOMY, json.dumps(taxonomy_to_dict(model.taxonomy)) + "\n")
    if stored.text_features is not None:
        values, arrays = stored.text_features.state()
        write_atomically(folder / TEXT_CONFIG, json.dumps(values) + "\n")
        rows_first = {name: np.ascontiguousarray(array) for name, array in arrays.items()}  # safetensors writes memory
        write_atomically(folder / TEXT_ARRAYS, safetensors.numpy.save(rows_first))
    write_config(folder, stored)


def write_config(folder: Path, stored: StoredModel) -> None:
    """Write the configuration of a model whose other files are there."""
    model = stored.model
    config = {
        "format": FORMAT,
        "version": VERSION,
        "kind": stored.kind,
        "method": model.method,
        "options": model.options,
        "in_features": model.in_features,
        "rule": stored.rule,
        "temperature": stored.temperature,
    }
    write_atomically(folder / CONFIG, json.dumps(config, indent=2) + "\n")


def load_model(folder: Path) -> StoredModel:
    """Read a model folder.

    Raises:
        ModelError: if the folder, one of its files or its version is not what this package writes.
    """
    config = _read_json(folder / CONFIG, folder)
    if config.get("format") != FORMAT or config.get("version") != VERSION:
        found = f"{config.get('format')!r} version {config.get('version')!r}"
        raise ModelError(f"{folder / CONFIG}: expected {FORMAT!r} version {VERSION}, got {found}")
    faults = [
        f"{key}: expected {_WORDS[kind]}, got {config.get(key)!r}"
        for key, kind in _FIELDS.items()
        if not isinstance(config.get(key), kind)
    ]
    if not faults and config["rule"] not in RULES:
        faults = [f"rule: expected one of {', '.join(RULES)}, got {config['rule']!r}"]
    if faults:
        raise ModelError(f"{folder / CONFIG}: {fault}" for fault in faults)
    try:
        taxonomy = taxonomy_from_dict(_read_json(folder / TAXONOMY, folder))
        model = Model(taxonomy, config["in_features"], config["method"], config["options"])
        model.load_state_dict(safetensors.torch.load((folder / WEIGHTS).read_bytes()))
    except ModelError:
        raise
    except (FaultsError, OSError, RuntimeError, SafetensorError) as error:
        raise ModelError(f"{folder}: the parts of the model do not fit together: {error}") from error
    text_features = _load_text_features(folder) if config["kind"] == "texts" else None
    return StoredModel(model.eval(), text_features, config["rule"], float(config["temperature"]))


def _load_text_features(folder: Path) -> TextFeatures:
    values = _read_json(folder / TEXT_CONFIG, folder)
    try:
        arrays = safetensors.numpy.load((folder / TEXT_ARRAYS).read_bytes())
        return TextFeatures.from_state(values, arrays)
    except (KeyError, OSError, ValueError, SafetensorError) as error:
        raise ModelError(f"{folder}: the text features cannot be read: {error}") from error


def _read_json(path: Path, folder: Path) -> dict[str, Any]:
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
