"""A model as a folder: weights as safetensors, configuration and taxonomy as JSON. No pickle."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import safetensors.torch
from safetensors import SafetensorError

from hiercos.data.dataset import Kind
from hiercos.decisions import RULES
from hiercos.engine.model import Model
from hiercos.engine.reader_files import ModelError, describe_backbone, load_reader, read_json, save_reader
from hiercos.engine.readers import FineTunedReader, Reader
from hiercos.errors import FaultsError
from hiercos.files import write_atomically
from hiercos.records import line_name
from hiercos.taxonomy.formats import taxonomy_from_dict, taxonomy_to_dict

FORMAT, VERSION = "hiercos-model", 2
READABLE = (1, 2)  # version 1 knew no backbones
CONFIG, TAXONOMY, WEIGHTS = "config.json", "taxonomy.json", "model.safetensors"
INSIDE = "backbone."  # what the names of a fine-tuned backbone's weights begin with; they have a file of their own

_FIELDS: dict[str, Any] = {
    "kind": str,
    "method": str,
    "options": dict,
    "in_features": int,
    "rule": str,
    "temperature": int | float,
}
_WORDS: dict[Any, str] = {str: "a text", dict: "an object", int: "a whole number", int | float: "a number"}


@dataclass(frozen=True)
class StoredModel:
    """What a model folder holds.

    Attributes:
        model: the model, on the CPU.
        reader: what turns raw inputs into what it takes; None for a model of vectors.
        rule: the decision rule on its scores, a name of `hiercos.decisions.RULES`.
        temperature: of the probabilities that the rule reads.
    """

    model: Model
    reader: Reader | None
    rule: str = "none"
    temperature: float = 1.0

    def __repr__(self) -> str:
        return f"StoredModel({line_name(self.model.method, self.rule)}, {self.kind}, {self.model.taxonomy!r})"

    @property
    def kind(self) -> Kind:
        """What the model reads: "images", "texts" or "vectors"."""
        return "vectors" if self.reader is None else self.reader.kind


def save_model(folder: Path, stored: StoredModel) -> None:
    """Write a model into a folder; the configuration comes last, so a folder with one is whole."""
    folder.mkdir(parents=True, exist_ok=True)
    state = stored.model.state_dict()
    weights = {name: state[name].detach().cpu().contiguous() for name in state if not name.startswith(INSIDE)}
    write_atomically(folder / WEIGHTS, safetensors.torch.save(weights))
    write_atomically(folder / TAXONOMY, json.dumps(taxonomy_to_dict(stored.model.taxonomy)) + "\n")
    save_reader(folder, stored.reader)
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
        "backbone": describe_backbone(stored.reader),
    }
    write_atomically(folder / CONFIG, json.dumps(config, indent=2) + "\n")


def load_model(folder: str | Path) -> StoredModel:
    """Read a model folder.

    Raises:
        ModelError: if the folder, one of its files or its version is not what this package writes.
    """
    folder = Path(folder)
    config = read_json(folder / CONFIG, folder)
    if config.get("format") != FORMAT or config.get("version") not in READABLE:
        found = f"{config.get('format')!r} version {config.get('version')!r}"
        raise ModelError(f"{folder / CONFIG}: expected {FORMAT!r} version {READABLE[0]} to {VERSION}, got {found}")
    _check_config(folder / CONFIG, config)
    try:
        taxonomy = taxonomy_from_dict(read_json(folder / TAXONOMY, folder))
        model = Model(taxonomy, config["in_features"], config["method"], config["options"])
        model.load_state_dict(safetensors.torch.load((folder / WEIGHTS).read_bytes()))
    except ModelError:
        raise
    except (FaultsError, OSError, RuntimeError, SafetensorError) as error:
        raise ModelError(f"{folder}: the parts of the model do not fit together: {error}") from error
    reader = load_reader(folder, config["kind"], config.get("backbone"))
    if isinstance(reader, FineTunedReader):
        model.backbone = reader.backbone
    return StoredModel(model.eval(), reader, config["rule"], float(config["temperature"]))


def _check_config(path: Path, config: dict[str, Any]) -> None:
    faults = [
        f"{key}: expected {_WORDS[kind]}, got {config.get(key)!r}"
        for key, kind in _FIELDS.items()
        if not isinstance(config.get(key), kind)
    ]
    if not faults and config["rule"] not in RULES:
        faults = [f"rule: expected one of {', '.join(RULES)}, got {config['rule']!r}"]
    if not isinstance(config.get("backbone"), dict | None):
        faults.append(f"backbone: expected an object or null, got {config['backbone']!r}")
    if faults:
        raise ModelError(f"{path}: {fault}" for fault in faults)
