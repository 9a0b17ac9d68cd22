"""Model folders: saving and loading a model with its taxonomy, encoder, decision rule and temperature."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import safetensors.numpy
import safetensors.torch
from numpy.typing import ArrayLike
from safetensors import SafetensorError
from torch import Tensor

from hiercos.data import Kind, TextFeatures
from hiercos.decisions import HeldOutChains, Likeliest, Posterior, Rule, RuleError, rule_from_dict
from hiercos.engine.encoders import (
    TFIDF,
    Encoder,
    FineTunedEncoder,
    FrozenEncoder,
    JoinedEncoder,
    TfidfEncoder,
    check_backbone_source,
    identity_changes,
    seeded_backbone,
)
from hiercos.engine.memory import Memory, load_memory, save_memory
from hiercos.errors import FaultsError
from hiercos.manifest import MANIFEST, Manifest, ManifestError, Write, committed
from hiercos.methods import Model
from hiercos.nn import Projection
from hiercos.nn.backbones import Backbone, BackboneError
from hiercos.options import fits, json_object, positive_fault, schema_faults
from hiercos.records import CHECKPOINT, CONFIG, MANIFEST_VERSION, RESULTS_TABLE, RUNS, variant_name
from hiercos.taxonomy.formats import taxonomy_from_dict, taxonomy_to_dict

TEXT_CONFIG, TEXT_ARRAYS = "text_features.json", "text_features.safetensors"
BACKBONE_WEIGHTS = "backbone.safetensors"


class ModelError(FaultsError):
    """A folder that does not hold a usable model."""


def save_encoder(write: Write, encoder: Encoder | None) -> None:
    """Write the files of an encoder; a frozen backbone that is found by its name needs none."""
    if isinstance(encoder, JoinedEncoder):
        save_encoder(write, encoder.tfidf)
        save_encoder(write, encoder.frozen)
    elif isinstance(encoder, TfidfEncoder):
        values, arrays = encoder.features.state()
        write(TEXT_CONFIG, json.dumps(values) + "\n")
        rows_first = {
            name: np.ascontiguousarray(array) for name, array in arrays.items()
        }  # safetensors ignores strides
        write(TEXT_ARRAYS, safetensors.numpy.save(rows_first))
    elif isinstance(encoder, FrozenEncoder | FineTunedEncoder) and _stores_weights(encoder):
        weights = encoder.backbone.state_dict().items()
        content = safetensors.torch.save({name: tensor.detach().cpu().contiguous() for name, tensor in weights})
        write(BACKBONE_WEIGHTS, content)


def describe_backbone(encoder: Encoder | None) -> dict[str, Any] | None:
    """Backbone of an encoder as JSON values: identity, whether fine-tuned, and whether its weights are stored."""
    if isinstance(encoder, JoinedEncoder):
        return {**(describe_backbone(encoder.frozen) or {}), "beside": TFIDF}
    if not isinstance(encoder, FrozenEncoder | FineTunedEncoder):
        return None
    fine_tuned = isinstance(encoder, FineTunedEncoder)
    return {**encoder.backbone.identity(), "fine_tuned": fine_tuned, "in_folder": _stores_weights(encoder)}


def load_encoder(
    files: Manifest, kind: str, backbone: dict[str, Any] | None, *, verify: bool = True, trust_backbone: bool = False
) -> Encoder | None:
    """Encoder of a model folder, by the kind and the backbone in its configuration.

    Args:
        files: files of the model folder.
        kind: kind of inputs.
        backbone: description of the backbone; None for a model without one.
        verify: whether to check the files of weights against their SHA-256.
        trust_backbone: whether the backbone may be loaded from a path or the Hub.

    Raises:
        ModelError: if a file is missing or damaged, or the backbone differs from the one the model was trained with.
    """
    if backbone is not None:
        if not trust_backbone:
            _check_trust(files, backbone)
        found = _load_backbone(files, backbone, verify=verify)
        if backbone["fine_tuned"]:
            return FineTunedEncoder(found)
        frozen = FrozenEncoder(found, found_by_name=not backbone["in_folder"])
        if backbone.get("beside") == TFIDF:
            return JoinedEncoder(TfidfEncoder(_load_text_features(files, verify=verify)), frozen)
        return frozen
    return TfidfEncoder(_load_text_features(files, verify=verify)) if kind == "texts" else None


def _check_trust(files: Manifest, backbone: dict[str, Any]) -> None:
    try:
        check_backbone_source(backbone["name"], backbone["options"], from_file=backbone["in_folder"])
    except BackboneError as error:
        raise ModelError(f"{files.folder}: {error}") from error


def _stores_weights(encoder: FrozenEncoder | FineTunedEncoder) -> bool:
    return isinstance(encoder, FineTunedEncoder) or not encoder.found_by_name


def _load_backbone(files: Manifest, expected: dict[str, Any], *, verify: bool) -> Backbone:
    """Backbone of a configuration, checked to have the same weights."""
    try:
        backbone = seeded_backbone(expected["name"], expected["options"], pretrained=not expected["in_folder"])
    except BackboneError as error:
        raise ModelError(f"{files.folder}: {fault}" for fault in error.faults) from error
    if expected["in_folder"]:
        try:
            backbone.load_state_dict(safetensors.torch.load(files.content(BACKBONE_WEIGHTS, verify=verify)))
        except (OSError, RuntimeError, SafetensorError) as error:
            raise ModelError(f"{files.folder}: the weights of the backbone cannot be read: {error}") from error
    if changed := identity_changes(backbone, expected):
        raise ModelError(
            f"{files.folder}: the backbone {expected['name']!r} found here has other {' and '.join(changed)} "
            "than the one this model was trained with"
        )
    return backbone.eval()


def _load_text_features(files: Manifest, *, verify: bool) -> TextFeatures:
    values = read_model_json(files, TEXT_CONFIG)
    try:
        arrays = safetensors.numpy.load(files.content(TEXT_ARRAYS, verify=verify))
        return TextFeatures.from_state(values, arrays)
    except ManifestError:
        raise
    except (KeyError, OSError, TypeError, ValueError, SafetensorError) as error:
        raise ModelError(f"{files.folder}: the text features cannot be read: {error}") from error


def read_model_json(files: Manifest, name: str) -> dict[str, Any]:
    """JSON object in a file of a model folder; a `ModelError` if it is missing or malformed."""
    if (files.folder / CHECKPOINT).is_file() and name not in files:
        raise ModelError(f"{files.folder}: an unfinished run; finish it with --resume")
    if name not in files:
        raise ModelError(
            f"{files.folder}: {_comparison_fault(files.folder) or f'not a model folder, it has no {name}'}"
        )
    return json_object(files.folder / name, files.content(name), ModelError)


def _comparison_fault(folder: Path) -> str:
    """Fault of a folder that `hiercos compare` wrote, with the places of its models; "" for another folder."""
    if not (folder / RESULTS_TABLE).is_file() or not (folder / RUNS).is_dir():
        return ""
    return (
        f"the folder of a comparison, not of a model; models are in {folder / RUNS}/METHOD/seed-N, and hiercos compare "
        "--ship MODEL copies the recommended one"
    )


FORMAT, VERSION = "hiercos-model", 5
# 1 had no backbones, up to 2 a rule was a name, up to 3 text features were projected, up to 4 there was no manifest
READABLE = (1, 2, 3, 4, 5)
TAXONOMY, WEIGHTS, CALIBRATION = "taxonomy.json", "model.safetensors", "calibration.json"
PROJECTION, COMPONENTS = "projection.safetensors", "components"  # file and array, shape (F, V)
MOST_FEATURES = 1 << 24  # width of the features
UNCHECKED_SIZE = 1 << 26  # numbers of a layer that are always allowed, 256 MB
LARGER = 16  # a configuration may ask for so many times the stored numbers: not all of its options are sizes
BACKBONE_PREFIX = "backbone."  # prefix of a fine-tuned backbone's weights, which have a separate file

_SCHEMA: dict[str, Any] = {
    "kind": Literal[get_args(Kind)],
    "method": str,
    "options": dict,
    "in_features": int,
    "rule": dict | str,
    "temperature": float,
    "backbone": dict | None,
}
_BACKBONE_SCHEMA: dict[str, Any] = {"name": str, "options": dict, "fine_tuned": bool, "in_folder": bool}


@dataclass(frozen=True)
class StoredModel:
    """Content of a model folder.

    Attributes:
        model: model on the CPU.
        encoder: encoder of raw inputs; None for a model of vectors.
        rule: decision rule of the answers; the highest score by default.
        temperature: temperature of the posterior, fitted on validation data; 1 by default.
        class_weights: factor of each class's probability, shape (C,), see `prior_weights`; None by default.
        memory: features of training samples for `hiercos extend`; None for none.
        calibration: chains of the samples that were set aside for the targets of back-off; None if there are none.
    """

    model: Model
    encoder: Encoder | None
    rule: Rule = field(default_factory=Likeliest)
    temperature: float = 1.0
    class_weights: Sequence[float] | None = None
    memory: Memory | None = None
    calibration: HeldOutChains | None = None

    def posterior(self, scores: ArrayLike, energies: Tensor | None = None) -> Posterior:
        """Calibrated probabilities from class scores, shape (M, C), with energies, shape (M, N), to explain them."""
        shares = None if energies is None else energies.numpy()
        return Posterior.from_scores(
            scores,
            self.model.taxonomy,
            temperature=self.temperature,
            class_weights=self.class_weights,
            energies=shares,
        )

    def __repr__(self) -> str:
        return f"StoredModel({variant_name(self.model.method, self.rule.name)}, {self.kind}, {self.model.taxonomy!r})"

    @property
    def kind(self) -> Kind:
        """Kind of inputs that the model takes: "images", "texts" or "vectors"."""
        return "vectors" if self.encoder is None else self.encoder.kind

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """All kinds that it takes, its own first: a model with a frozen backbone also takes the backbone's features."""
        return (self.kind, "vectors") if isinstance(self.encoder, FrozenEncoder) else (self.kind,)


def save_model(folder: Path, stored: StoredModel, others: Mapping[str, str | bytes] | None = None) -> None:
    """Write a model into a folder; the manifest is written last, so a folder that has one is complete.

    Args:
        folder: model folder, created if missing; a model in it is replaced.
        stored: model to write.
        others: further files that belong to the model, by name, such as its records; none by default.
    """
    state = stored.model.state_dict()
    weights = {name: state[name].detach().cpu().contiguous() for name in state if not name.startswith(BACKBONE_PREFIX)}
    with committed(folder, earlier=CONFIG) as write:
        for name, content in (others or {}).items():
            write(name, content)
        write(WEIGHTS, safetensors.torch.save(weights))
        if stored.model.projection is not None:
            components = stored.model.projection.directions.detach().cpu().T.contiguous()  # (F, V)
            write(PROJECTION, safetensors.torch.save({COMPONENTS: components}))
        write(TAXONOMY, json.dumps(taxonomy_to_dict(stored.model.taxonomy)) + "\n")
        save_encoder(write, stored.encoder)
        save_memory(write, stored.memory)
        if stored.calibration is not None:
            write(CALIBRATION, json.dumps(stored.calibration.to_dict()) + "\n")
        write(CONFIG, json.dumps(_configuration(stored), indent=2) + "\n")


def _configuration(stored: StoredModel) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "version": VERSION,
        "kind": stored.kind,
        "method": stored.model.method,
        "options": stored.model.options,
        "in_features": stored.model.in_features,
        "projected": stored.model.projection is not None,
        "rule": stored.rule.to_dict(),
        "temperature": stored.temperature,
        **({} if stored.class_weights is None else {"class_weights": list(stored.class_weights)}),
        "backbone": describe_backbone(stored.encoder),
    }


def load_model(folder: str | Path | Manifest, *, verify: bool = True, trust_backbone: bool = False) -> StoredModel:
    """Read a model folder; each file is checked against its SHA-256 in the manifest.

    Args:
        folder: model folder, or its manifest.
        verify: whether to check the weights too, which takes about a second for each gigabyte.
        trust_backbone: whether the configuration may name a path or a model of the Hub to load the backbone from.

    Raises:
        ModelError: if files are missing or do not fit together, or the version is unknown.
        ManifestError: if a file was changed after it was written.
    """
    files = Manifest.at(folder)
    config = read_config(files)
    with files.checked_in_background() if verify else nullcontext(files) as checked:
        model, memory = _load_network(checked, config, verify=verify)
        described = config["kind"], config.get("backbone")
        encoder = load_encoder(checked, *described, verify=verify, trust_backbone=trust_backbone)
        rule, calibration = rule_from_dict(config["rule"]), _load_calibration(checked)
    if isinstance(encoder, FineTunedEncoder):
        model.backbone = encoder.backbone
    weights, count = config.get("class_weights"), model.taxonomy.num_classes
    if weights is not None and len(weights) != count:
        raise ModelError(f"{files.folder / CONFIG}: expected {count} class_weights, got {len(weights)}")
    return StoredModel(model.eval(), encoder, rule, float(config["temperature"]), weights, memory, calibration)


def _load_network(files: Manifest, config: dict[str, Any], *, verify: bool) -> tuple[Model, Memory | None]:
    """Model with its weights, and its memory of training samples, if it has one."""
    content = _weights(files, verify=verify)  # first, so that other threads compute its checksum meanwhile
    try:
        taxonomy = taxonomy_from_dict(read_model_json(files, TAXONOMY))
        projection = _load_projection(files, config, verify=verify)
        tensors = safetensors.torch.load(content)
        _check_size(config, tensors)
        model = Model(taxonomy, config["in_features"], config["method"], config["options"], projection=projection)
        model.load_state_dict(tensors)
        return model, load_memory(files)
    except (ModelError, ManifestError):
        raise
    except (FaultsError, OSError, RuntimeError, ValueError, KeyError, SafetensorError) as error:
        raise ModelError(f"{files.folder}: the parts of the model do not fit together: {error}") from error


def _weights(files: Manifest, *, verify: bool) -> bytes:
    try:
        return files.content(WEIGHTS, verify=verify)
    except OSError as error:
        raise ModelError(f"{files.folder}: the weights cannot be read: {error}") from error


def _load_calibration(files: Manifest) -> HeldOutChains | None:
    """Calibration samples of a model folder; None if it has none, like those of older versions."""
    if CALIBRATION not in files:
        return None
    try:
        return HeldOutChains.from_dict(read_model_json(files, CALIBRATION))
    except (ManifestError, ModelError):
        raise
    except (KeyError, TypeError, ValueError) as error:
        raise ModelError(f"{files.folder / CALIBRATION}: {error}") from error


def _load_projection(files: Manifest, config: dict[str, Any], *, verify: bool) -> Projection | None:
    """Projection of sparse vectors, if the model has one.

    Up to version 3 a model of texts has its components among the text features, and an estimator as "directions".
    """
    if config["version"] >= 4 and not config.get("projected"):
        return None
    for file in (PROJECTION, TEXT_ARRAYS) if config["version"] < 4 else (PROJECTION,):
        if config["version"] >= 4 or file in files:
            arrays = safetensors.torch.load(files.content(file, verify=verify))
            found = [arrays[name] for name in (COMPONENTS, "directions") if name in arrays]
            if not found or found[0].ndim != 2 or len(found[0]) != config["in_features"]:
                raise ValueError(f"{file}: expected {COMPONENTS} for {config['in_features']} features")
            return Projection(found[0].float().T)
    return None


def stored_rule(folder: Path | Manifest) -> Rule:
    """Decision rule of a model folder, read without the weights."""
    return rule_from_dict(read_config(Manifest.at(folder))["rule"])


def stored_calibration(folder: Path | Manifest) -> tuple[float, Sequence[float] | None]:
    """Temperature and class weights of a model folder, read without the weights of the model."""
    config = read_config(Manifest.at(folder))
    return float(config["temperature"]), config.get("class_weights")


def read_config(files: Manifest) -> dict[str, Any]:
    """Checked configuration of a model folder."""
    config, path = read_model_json(files, CONFIG), files.folder / CONFIG
    if config.get("format") != FORMAT or type(config.get("version")) is not int or config["version"] not in READABLE:
        found = f"{config.get('format')!r} version {config.get('version')!r}"
        raise ModelError(f"{path}: expected {FORMAT!r} version {READABLE[0]} to {VERSION}, got {found}")
    if files.files is None and config["version"] >= MANIFEST_VERSION:
        raise ModelError(f"{files.folder}: not completely written, or changed since: it has no {MANIFEST}")
    if faults := _config_faults(config):
        raise ModelError(f"{path}: {fault}" for fault in faults)
    return config


def _config_faults(config: dict[str, Any]) -> list[str]:
    if faults := schema_faults(config, _SCHEMA):
        return faults
    if not 1 <= config["in_features"] <= MOST_FEATURES:
        faults.append(f"in_features: expected 1 to {MOST_FEATURES:,}, got {config['in_features']}")
    if config.get("backbone") is not None:
        faults += [f"backbone.{fault}" for fault in schema_faults(config["backbone"], _BACKBONE_SCHEMA)]
    if not _are_weights(config.get("class_weights")):
        faults.append("class_weights: expected a list of numbers above 0")
    return [*faults, *_rule_faults(config["rule"]), *positive_fault("temperature", config["temperature"])]


def _check_size(config: dict[str, Any], tensors: Mapping[str, Tensor]) -> None:
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


def _rule_faults(rule: dict[str, Any] | str) -> Iterator[str]:
    try:
        rule_from_dict(rule)
    except RuleError as error:
        yield f"rule: {error}"
