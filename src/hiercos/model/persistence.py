"""Model folders: saving and loading a model with its taxonomy, encoder, decision rule and temperature.

All tensors are in one file, each under the name of its part: those of the network as `head.*` and `standardize.*`, the
others under the names of `PARTS`.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np
import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor

from hiercos import storage
from hiercos.checks import fits, json_object, positive_fault, schema_faults
from hiercos.data import Kind
from hiercos.decisions import HeldOutChains, Rule, RuleError, rule_from_dict
from hiercos.encoders import (
    TFIDF,
    AnyTextFeatures,
    ColumnEncoder,
    ColumnFeatures,
    Encoder,
    FineTunedEncoder,
    FrozenEncoder,
    JoinedEncoder,
    TfidfEncoder,
    check_backbone_source,
    features_from_state,
    identity_changes,
    seeded_backbone,
)
from hiercos.encoders.backbones import Backbone, BackboneError
from hiercos.errors import FaultsError
from hiercos.methods import Model, Projection
from hiercos.model.memory import Memory
from hiercos.records import CHECKPOINT, RESULTS_TABLE, RUNS
from hiercos.storage import CONFIG, Folder, StorageError
from hiercos.taxonomy.formats import taxonomy_from_dict, taxonomy_to_dict

if TYPE_CHECKING:
    from hiercos.model.classifier import Classifier

FORMAT = 1
TAXONOMY, WEIGHTS, VOCABULARY = "taxonomy.json", "model.safetensors", "vocabulary.json"
PROJECTION, TEXT, MEMORY, CALIBRATION, BACKBONE = PARTS = ("projection", "text", "memory", "calibration", "backbone")
COMPONENTS = "components"  # tensor of the projection, shape (F, V)
MOST_FEATURES = 1 << 24  # width of the features
UNCHECKED_SIZE = 1 << 26  # numbers of a layer that are always allowed, 256 MB
LARGER = 16  # a configuration may ask for so many times the stored numbers: not all of its options are sizes

Tensors = Mapping[str, Tensor]


class ModelError(FaultsError):
    """A folder that does not hold a usable model."""


_SCHEMA: dict[str, Any] = {
    "kind": Literal[get_args(Kind)],
    "method": str,
    "options": dict,
    "in_features": int,
    "rule": dict,
    "temperature": float,
    "backbone": dict | None,
    CALIBRATION: dict | None,
}
_BACKBONE_SCHEMA: dict[str, Any] = {"name": str, "options": dict, "fine_tuned": bool, "in_folder": bool}


@dataclass(frozen=True)
class FilesInMemory:
    """The files of a model folder in memory, as a pickled classifier has them."""

    files: Mapping[str, bytes]  # content of each file by name
    config: Mapping[str, Any]  # JSON values of `config.json`, without checksums
    path: Path = Path("pickled model")  # name in messages

    def __contains__(self, name: str) -> bool:
        return name in self.files

    def content(self, name: str) -> bytes:
        """Content of a file."""
        return self.files[name]


Files: TypeAlias = Folder | FilesInMemory


def save_model(folder: Path, stored: "Classifier", others: Mapping[str, str | bytes] | None = None) -> None:
    """Write a model into a folder, whose `config.json` is written last; see `hiercos.storage.commit`.

    Args:
        folder: model folder, created if missing; a model in it is replaced.
        stored: model to write.
        others: further files that belong to the model, by name, such as its records; none by default.
    """
    written = files_in_memory(stored)
    storage.commit(folder, {**(others or {}), **written.files}, written.config)


def files_in_memory(stored: "Classifier") -> FilesInMemory:
    """The files of the folder of a model."""
    files = {WEIGHTS: safetensors.torch.save(_tensors(stored))}
    files[TAXONOMY] = json.dumps(taxonomy_to_dict(stored.taxonomy)).encode() + b"\n"
    if (texts := _text_features(stored.encoder)) is not None:
        files[VOCABULARY] = json.dumps(texts.state()[0]).encode() + b"\n"
    return FilesInMemory(files, _configuration(stored))


def _tensors(stored: "Classifier") -> dict[str, Tensor]:
    """All tensors of a model folder by name."""
    parts: dict[str, Tensors] = {}
    if stored.model.projection is not None:
        parts[PROJECTION] = {COMPONENTS: stored.model.projection.directions.T}  # (F, V)
    if (texts := _text_features(stored.encoder)) is not None:
        parts[TEXT] = {name: torch.from_numpy(np.ascontiguousarray(each)) for name, each in texts.state()[1].items()}
    if stored.memory is not None and len(stored.memory):
        parts[MEMORY] = stored.memory.tensors()
    if stored.calibration is not None:
        parts[CALIBRATION] = _chain_tensors(stored.calibration)
    if (backbone := _stored_backbone(stored.encoder)) is not None:
        parts[BACKBONE] = backbone.state_dict()
    named = {f"{part}.{name}": tensor for part, tensors in parts.items() for name, tensor in tensors.items()}
    network = {name: tensor for name, tensor in stored.model.state_dict().items() if _part(name) not in PARTS}
    return {name: tensor.detach().cpu().contiguous() for name, tensor in {**network, **named}.items()}


def _part(name: str) -> str:
    return name.partition(".")[0]


def _of_part(tensors: Tensors, part: str) -> dict[str, Tensor]:
    """Tensors of a part by their name within it; empty if there are none."""
    return {name.partition(".")[2]: tensor for name, tensor in tensors.items() if _part(name) == part}


def _text_features(encoder: Encoder | None) -> AnyTextFeatures | None:
    """TF-IDF or columns of an encoder, if it has any."""
    if isinstance(encoder, JoinedEncoder):
        return encoder.tfidf.features
    return encoder.features if isinstance(encoder, TfidfEncoder | ColumnEncoder) else None


def _frozen_part(encoder: Encoder | None) -> Encoder | None:
    """Encoder of the backbone beside other features; any other encoder itself."""
    return encoder.frozen if isinstance(encoder, JoinedEncoder | ColumnEncoder) else encoder


def _stored_backbone(encoder: Encoder | None) -> Backbone | None:
    """Backbone whose weights are stored with the model; None for one that is found by its name, or without any."""
    network = _frozen_part(encoder)
    if isinstance(network, FrozenEncoder):
        return None if network.found_by_name else network.backbone
    return network.backbone if isinstance(network, FineTunedEncoder) else None


def _chain_tensors(chains: HeldOutChains) -> dict[str, Tensor]:
    """Held-out chains as tensors; the wrong nodes of all chains follow each other."""
    wrong = [value for chain in chains.wrong for value in chain]
    lengths = torch.tensor([len(chain) for chain in chains.wrong], dtype=torch.int64)
    first, flat = (torch.tensor(values, dtype=torch.float64) for values in (chains.first, wrong))
    return {"first": first, "wrong": flat, "lengths": lengths, "coarse": torch.tensor(chains.coarse, dtype=torch.int64)}


def _configuration(stored: "Classifier") -> dict[str, Any]:
    chains = stored.calibration
    return {
        "format": FORMAT,
        "kind": stored.kind,
        "method": stored.model.method,
        "options": stored.model.options,
        "in_features": stored.model.in_features,
        "rule": stored.rule.to_dict(),
        "temperature": stored.temperature,
        **({} if stored.class_weights is None else {"class_weights": list(stored.class_weights)}),
        "backbone": _backbone_values(stored.encoder),
        CALIBRATION: None if chains is None else {"height": chains.height, "exchangeable": chains.exchangeable},
    }


def _backbone_values(encoder: Encoder | None) -> dict[str, Any] | None:
    """Backbone of an encoder as JSON values: identity, whether fine-tuned, and whether its weights are stored."""
    if isinstance(encoder, JoinedEncoder):
        return {**(_backbone_values(encoder.frozen) or {}), "beside": TFIDF}
    encoder = _frozen_part(encoder)
    if not isinstance(encoder, FrozenEncoder | FineTunedEncoder):
        return None
    fine_tuned = isinstance(encoder, FineTunedEncoder)
    in_folder = _stored_backbone(encoder) is not None
    return {**encoder.backbone.identity(), "fine_tuned": fine_tuned, "in_folder": in_folder}


def loaded_parts(files: Files, *, trust_backbone: bool = False) -> dict[str, Any]:
    """The attributes of a `Classifier` from the files of its folder, each compared with its SHA-256.

    Args:
        files: files of a model folder.
        trust_backbone: whether the configuration may name a path or a model of the Hub to load the backbone from.
    """
    config = read_config(files)
    try:
        taxonomy = taxonomy_from_dict(read_model_json(files, TAXONOMY))
        tensors = safetensors.torch.load(files.content(WEIGHTS))
        network = {name: tensor for name, tensor in tensors.items() if _part(name) not in PARTS}
        _check_size(config, network)
        sizes = config["in_features"], config["method"], config["options"]
        model = Model(taxonomy, *sizes, projection=_projection(tensors, config["in_features"]))
        model.load_state_dict(network)
        remembered = _of_part(tensors, MEMORY)
        memory = Memory.of_tensors(remembered) if remembered else None
        chains = _chains(tensors, config.get(CALIBRATION))
    except (ModelError, StorageError):
        raise
    except (FaultsError, OSError, RuntimeError, TypeError, ValueError, KeyError, SafetensorError) as error:
        raise ModelError(f"{files.path}: the parts of the model do not fit together: {error}") from error
    encoder = _load_encoder(files, config, tensors, trust_backbone=trust_backbone)
    if isinstance(encoder, FineTunedEncoder):
        model.backbone = encoder.backbone
    weights, count = config.get("class_weights"), taxonomy.num_classes
    if weights is not None and len(weights) != count:
        raise ModelError(f"{files.path / CONFIG}: expected {count} class_weights, got {len(weights)}")
    return {
        "model": model.eval(),
        "encoder": encoder,
        "rule": rule_from_dict(config["rule"]),
        "temperature": float(config["temperature"]),
        "class_weights": weights,
        "memory": memory,
        "calibration": chains,
    }


def _projection(tensors: Tensors, width: int) -> Projection | None:
    """Projection of sparse vectors, if the model has one."""
    found = _of_part(tensors, PROJECTION)
    if not found:
        return None
    components = found.get(COMPONENTS)
    if components is None or components.ndim != 2 or len(components) != width:
        raise ValueError(f"{WEIGHTS}: expected {PROJECTION}.{COMPONENTS} for {width} features")
    return Projection(components.float().T)


def _chains(tensors: Tensors, config: Mapping[str, Any] | None) -> HeldOutChains | None:
    """Held-out chains for the targets of back-off, if the model has them."""
    if config is None:
        return None
    found = _of_part(tensors, CALIBRATION)
    first, flat, lengths, coarse = (found[name].tolist() for name in ("first", "wrong", "lengths", "coarse"))
    ends = np.cumsum(lengths, dtype=np.int64)
    if len(lengths) != len(first) or min(lengths, default=0) < 0 or (ends[-1] if len(ends) else 0) != len(flat):
        raise ValueError(f"{WEIGHTS}: expected the chains of {len(first)} calibration samples")
    wrong = [flat[end - length : end] for end, length in zip(ends, lengths, strict=True)]
    return HeldOutChains.from_dict({"first": first, "wrong": wrong, "coarse": coarse, **config})


def _load_encoder(files: Files, config: Mapping[str, Any], tensors: Tensors, *, trust_backbone: bool) -> Encoder | None:
    """Encoder of a model folder, by the kind and the backbone in its configuration."""
    described = config.get("backbone")
    if described is None:
        return _encoder_of_features(files, tensors) if config["kind"] in ("texts", "columns") else None
    if not trust_backbone:
        try:
            check_backbone_source(described["name"], described["options"], from_file=described["in_folder"])
        except BackboneError as error:
            raise ModelError(f"{files.path}: {error}") from error
    backbone = _load_backbone(files, described, _of_part(tensors, BACKBONE))
    if described["fine_tuned"]:
        return FineTunedEncoder(backbone)
    frozen = FrozenEncoder(backbone, found_by_name=not described["in_folder"])
    if config["kind"] == "columns" or described.get("beside") == TFIDF:
        return _encoder_of_features(files, tensors, frozen)
    return frozen


def _encoder_of_features(files: Files, tensors: Tensors, frozen: FrozenEncoder | None = None) -> Encoder:
    """Encoder of stored features of texts or columns, with a frozen backbone beside them if there is one."""
    features = _load_text_features(files, tensors)
    if isinstance(features, ColumnFeatures):
        return ColumnEncoder(features, frozen)
    return TfidfEncoder(features) if frozen is None else JoinedEncoder(TfidfEncoder(features), frozen)


def _load_backbone(files: Files, expected: dict[str, Any], weights: Tensors) -> Backbone:
    """Backbone of a configuration, checked to have the same weights."""
    try:
        backbone = seeded_backbone(expected["name"], expected["options"], pretrained=not expected["in_folder"])
    except BackboneError as error:
        raise ModelError(f"{files.path}: {fault}" for fault in error.faults) from error
    if expected["in_folder"]:
        try:
            backbone.load_state_dict(dict(weights))
        except RuntimeError as error:
            raise ModelError(f"{files.path}: the weights of the backbone cannot be read: {error}") from error
    if changed := identity_changes(backbone, expected):
        raise ModelError(
            f"{files.path}: the backbone {expected['name']!r} found here has other {' and '.join(changed)} "
            "than the one this model was trained with"
        )
    return backbone.eval()


def _load_text_features(files: Files, tensors: Tensors) -> AnyTextFeatures:
    values = read_model_json(files, VOCABULARY)
    arrays = {name: tensor.numpy() for name, tensor in _of_part(tensors, TEXT).items()}
    try:
        return features_from_state(values, arrays)
    except (KeyError, TypeError, ValueError) as error:
        raise ModelError(f"{files.path}: the text features cannot be read: {error}") from error


def model_files(folder: str | Path | Folder) -> Folder:
    """Open a model folder; a `ModelError` for a folder that holds something else."""
    if isinstance(folder, Folder):
        return folder
    path = Path(folder)
    if not (path / CONFIG).exists():
        if (path / CHECKPOINT).is_file():
            raise ModelError(f"{path}: an unfinished run; finish it with --resume")
        raise ModelError(f"{path}: {_comparison_fault(path) or f'not a model folder, it has no {CONFIG}'}")
    return storage.opened(path)


def _comparison_fault(folder: Path) -> str:
    """Fault of a folder that `hiercos compare` wrote, with the places of its models; "" for another folder."""
    if not (folder / RESULTS_TABLE).is_file() or not (folder / RUNS).is_dir():
        return ""
    return (
        f"the folder of a comparison, not of a model; models are in {folder / RUNS}/METHOD/seed-N, and hiercos compare "
        "--ship MODEL copies the recommended one"
    )


def read_model_json(files: Files, name: str) -> dict[str, Any]:
    """JSON object in a file of a model folder; a `ModelError` if it is missing or malformed."""
    if name not in files:
        raise ModelError(f"{files.path}: not a model folder, it has no {name}")
    return json_object(files.path / name, files.content(name), ModelError)


def stored_rule(folder: Path | Folder) -> Rule:
    """Decision rule of a model folder, read without the weights."""
    return rule_from_dict(read_config(model_files(folder))["rule"])


def stored_calibration(folder: Path | Folder) -> tuple[float, Sequence[float] | None]:
    """Temperature and class weights of a model folder, read without the weights of the model."""
    config = read_config(model_files(folder))
    return float(config["temperature"]), config.get("class_weights")


def read_config(files: Files) -> Mapping[str, Any]:
    """Checked configuration of a model folder."""
    path = files.path / CONFIG
    if type(files.config.get("format")) is not int or files.config["format"] != FORMAT:
        raise ModelError(f"{path}: expected the format {FORMAT} of a model, got {files.config.get('format')!r}")
    if faults := _config_faults(files.config):
        raise ModelError(f"{path}: {fault}" for fault in faults)
    return files.config


def _config_faults(config: Mapping[str, Any]) -> list[str]:
    if faults := schema_faults(config, _SCHEMA):
        return faults
    if not 1 <= config["in_features"] <= MOST_FEATURES:
        faults.append(f"in_features: expected 1 to {MOST_FEATURES:,}, got {config['in_features']}")
    if config.get("backbone") is not None:
        faults += [f"backbone.{fault}" for fault in schema_faults(config["backbone"], _BACKBONE_SCHEMA)]
    if config.get(CALIBRATION) is not None:
        schema = {"height": int, "exchangeable": bool}
        faults += [f"{CALIBRATION}.{fault}" for fault in schema_faults(config[CALIBRATION], schema)]
    if not _are_weights(config.get("class_weights")):
        faults.append("class_weights: expected a list of numbers above 0")
    return [*faults, *_rule_faults(config["rule"]), *positive_fault("temperature", config["temperature"])]


def _check_size(config: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> None:
    """Refuse a configuration that asks for far more memory than the weights of the folder have."""
    sizes = [config["in_features"], *(value for value in config["options"].values() if isinstance(value, int))]
    asked = math.prod(sorted(max(1, size) for size in sizes)[-2:])  # a layer has two of these sizes
    stored = sum(tensor.numel() for tensor in tensors.values())
    if asked > max(UNCHECKED_SIZE, LARGER * stored):
        raise ValueError(
            f"expected a model of the {stored:,} numbers of {WEIGHTS}, the configuration asks for {asked:,}"
        )


def _are_weights(values: Any) -> bool:
    if values is None:
        return True
    return isinstance(values, list) and all(fits(value, float) and value > 0 for value in values)


def _rule_faults(rule: dict[str, Any]) -> Iterator[str]:
    try:
        rule_from_dict(rule)
    except RuleError as error:
        yield f"rule: {error}"
