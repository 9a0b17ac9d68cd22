"""Model folders: saving and loading a model with its taxonomy, encoder, decision rule and temperature."""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy
import safetensors.torch
from numpy.typing import ArrayLike
from safetensors import SafetensorError

from hiercos.data import Kind, TextFeatures
from hiercos.decisions import HeldOutChains, Likeliest, Posterior, Rule, RuleError, rule_from_dict
from hiercos.engine.checkpoint import CHECKPOINT
from hiercos.engine.encoders import (
    Encoder,
    FineTunedEncoder,
    FrozenEncoder,
    TfidfEncoder,
    identity_changes,
    seeded_backbone,
)
from hiercos.engine.memory import Memory, load_memory, save_memory
from hiercos.errors import FaultsError
from hiercos.files import write_atomically
from hiercos.methods import Model
from hiercos.nn import Projection
from hiercos.nn.backbones import Backbone
from hiercos.records import CONFIG, line_name
from hiercos.taxonomy.formats import taxonomy_from_dict, taxonomy_to_dict

TEXT_CONFIG, TEXT_ARRAYS = "text_features.json", "text_features.safetensors"
BACKBONE_WEIGHTS = "backbone.safetensors"


class ModelError(FaultsError):
    """A folder that does not hold a usable model."""


def save_encoder(folder: Path, encoder: Encoder | None) -> None:
    """Write the files of an encoder; a frozen backbone that is found by its name needs none."""
    if isinstance(encoder, TfidfEncoder):
        values, arrays = encoder.features.state()
        write_atomically(folder / TEXT_CONFIG, json.dumps(values) + "\n")
        rows_first = {
            name: np.ascontiguousarray(array) for name, array in arrays.items()
        }  # safetensors ignores strides
        write_atomically(folder / TEXT_ARRAYS, safetensors.numpy.save(rows_first))
    elif isinstance(encoder, FrozenEncoder | FineTunedEncoder) and _stores_weights(encoder):
        weights = encoder.backbone.state_dict().items()
        content = safetensors.torch.save({name: tensor.detach().cpu().contiguous() for name, tensor in weights})
        write_atomically(folder / BACKBONE_WEIGHTS, content)


def describe_backbone(encoder: Encoder | None) -> dict[str, Any] | None:
    """Backbone of an encoder as JSON values: identity, whether fine-tuned, and whether its weights are stored."""
    if not isinstance(encoder, FrozenEncoder | FineTunedEncoder):
        return None
    fine_tuned = isinstance(encoder, FineTunedEncoder)
    return {**encoder.backbone.identity(), "fine_tuned": fine_tuned, "in_folder": _stores_weights(encoder)}


def load_encoder(folder: Path, kind: str, backbone: dict[str, Any] | None) -> Encoder | None:
    """Encoder of a model folder, by the kind and the backbone in its configuration.

    Raises:
        ModelError: if a file is missing or damaged, or the backbone differs from the one the model was trained with.
    """
    if backbone is not None:
        found = _load_backbone(folder, backbone)
        if backbone["fine_tuned"]:
            return FineTunedEncoder(found)
        return FrozenEncoder(found, found_by_name=not backbone["in_folder"])
    return TfidfEncoder(_load_text_features(folder)) if kind == "texts" else None


def _stores_weights(encoder: FrozenEncoder | FineTunedEncoder) -> bool:
    return isinstance(encoder, FineTunedEncoder) or not encoder.found_by_name


def _load_backbone(folder: Path, expected: dict[str, Any]) -> Backbone:
    """Backbone of a configuration, checked to have the same weights."""
    backbone = seeded_backbone(expected["name"], expected["options"], pretrained=not expected["in_folder"])
    if expected["in_folder"]:
        try:
            backbone.load_state_dict(safetensors.torch.load((folder / BACKBONE_WEIGHTS).read_bytes()))
        except (OSError, RuntimeError, SafetensorError) as error:
            raise ModelError(f"{folder}: the weights of the backbone cannot be read: {error}") from error
    if changed := identity_changes(backbone, expected):
        raise ModelError(
            f"{folder}: the backbone {expected['name']!r} found here has other {' and '.join(changed)} "
            "than the one this model was trained with"
        )
    return backbone.eval()


def _load_text_features(folder: Path) -> TextFeatures:
    values = read_model_json(folder / TEXT_CONFIG, folder)
    try:
        arrays = safetensors.numpy.load((folder / TEXT_ARRAYS).read_bytes())
        return TextFeatures.from_state(values, arrays)
    except (KeyError, OSError, ValueError, SafetensorError) as error:
        raise ModelError(f"{folder}: the text features cannot be read: {error}") from error


def read_model_json(path: Path, folder: Path) -> dict[str, Any]:
    """JSON object in a file of a model folder; a `ModelError` if it is missing or malformed."""
    if (folder / CHECKPOINT).is_file() and not path.is_file():
        raise ModelError(f"{folder}: an unfinished run; finish it with --resume")
    if not path.is_file():
        raise ModelError(f"{folder}: not a model folder, it has no {path.name}")
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ModelError(f"{path}: not JSON ({error})") from error
    if not isinstance(values, dict):
        raise ModelError(f"{path}: expected an object, got {type(values).__name__}")
    return values


FORMAT, VERSION = "hiercos-model", 4
READABLE = (
    1,
    2,
    3,
    4,
)  # 1 had no backbones, up to 2 a rule was a name, up to 3 text features were projected themselves
TAXONOMY, WEIGHTS, CALIBRATION = "taxonomy.json", "model.safetensors", "calibration.json"
PROJECTION, COMPONENTS = "projection.safetensors", "components"  # file and array, shape (F, V)
BACKBONE_PREFIX = "backbone."  # prefix of a fine-tuned backbone's weights, which have a separate file

_FIELDS: dict[str, Any] = {
    "kind": str,
    "method": str,
    "options": dict,
    "in_features": int,
    "rule": str | dict,
    "temperature": int | float,
}
_WORDS: dict[Any, str] = {
    str: "a text",
    dict: "an object",
    str | dict: "a rule as an object",
    int: "a whole number",
    int | float: "a number",
}


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

    def posterior(self, scores: ArrayLike) -> Posterior:
        """Calibrated probabilities from class scores, shape (M, C)."""
        taxonomy = self.model.taxonomy
        return Posterior.from_scores(scores, taxonomy, temperature=self.temperature, class_weights=self.class_weights)

    def __repr__(self) -> str:
        return f"StoredModel({line_name(self.model.method, self.rule.name)}, {self.kind}, {self.model.taxonomy!r})"

    @property
    def kind(self) -> Kind:
        """Kind of inputs that the model takes: "images", "texts" or "vectors"."""
        return "vectors" if self.encoder is None else self.encoder.kind


def save_model(folder: Path, stored: StoredModel) -> None:
    """Write a model into a folder; the configuration is written last, so a folder that has one is complete."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / CONFIG).unlink(missing_ok=True)  # the folder holds no model until the last line
    state = stored.model.state_dict()
    weights = {name: state[name].detach().cpu().contiguous() for name in state if not name.startswith(BACKBONE_PREFIX)}
    write_atomically(folder / WEIGHTS, safetensors.torch.save(weights))
    (folder / PROJECTION).unlink(missing_ok=True)
    if stored.model.projection is not None:
        components = stored.model.projection.directions.detach().cpu().T.contiguous()  # (F, V)
        write_atomically(folder / PROJECTION, safetensors.torch.save({COMPONENTS: components}))
    write_atomically(folder / TAXONOMY, json.dumps(taxonomy_to_dict(stored.model.taxonomy)) + "\n")
    save_encoder(folder, stored.encoder)
    save_memory(folder, stored.memory)
    (folder / CALIBRATION).unlink(missing_ok=True)  # of an earlier model in this folder
    if stored.calibration is not None:
        write_atomically(folder / CALIBRATION, json.dumps(stored.calibration.to_dict()) + "\n")
    write_atomically(folder / CONFIG, json.dumps(_configuration(stored), indent=2) + "\n")


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


def load_model(folder: str | Path) -> StoredModel:
    """Read a model folder.

    Raises:
        ModelError: if files are missing or damaged, or the version is unknown.
    """
    folder = Path(folder)
    config = _read_config(folder)
    try:
        taxonomy = taxonomy_from_dict(read_model_json(folder / TAXONOMY, folder))
        projection = _load_projection(folder, config)
        model = Model(taxonomy, config["in_features"], config["method"], config["options"], projection=projection)
        model.load_state_dict(safetensors.torch.load((folder / WEIGHTS).read_bytes()))
        memory = load_memory(folder)
    except ModelError:
        raise
    except (FaultsError, OSError, RuntimeError, ValueError, SafetensorError) as error:
        raise ModelError(f"{folder}: the parts of the model do not fit together: {error}") from error
    encoder = load_encoder(folder, config["kind"], config.get("backbone"))
    if isinstance(encoder, FineTunedEncoder):
        model.backbone = encoder.backbone
    rule, weights = rule_from_dict(config["rule"]), config.get("class_weights")
    if weights is not None and len(weights) != taxonomy.num_classes:
        raise ModelError(f"{folder / CONFIG}: expected {taxonomy.num_classes} class_weights, got {len(weights)}")
    temperature, calibration = float(config["temperature"]), _load_calibration(folder)
    return StoredModel(model.eval(), encoder, rule, temperature, weights, memory, calibration)


def _load_calibration(folder: Path) -> HeldOutChains | None:
    """Calibration samples of a model folder; None if it has none, like those of older versions."""
    if not (folder / CALIBRATION).is_file():
        return None
    try:
        return HeldOutChains.from_dict(read_model_json(folder / CALIBRATION, folder))
    except ValueError as error:
        raise ModelError(f"{folder / CALIBRATION}: {error}") from error


def _load_projection(folder: Path, config: dict[str, Any]) -> Projection | None:
    """Projection of sparse vectors, if the model has one.

    Up to version 3 a model of texts has its components among the text features, and an estimator as "directions".
    """
    if config["version"] >= 4 and not config.get("projected"):
        return None
    for file in (PROJECTION, TEXT_ARRAYS) if config["version"] < 4 else (PROJECTION,):
        if config["version"] >= 4 or (folder / file).is_file():
            arrays = safetensors.torch.load((folder / file).read_bytes())
            found = [arrays[name] for name in (COMPONENTS, "directions") if name in arrays]
            if not found or found[0].ndim != 2 or len(found[0]) != config["in_features"]:
                raise ValueError(f"{file}: expected {COMPONENTS} for {config['in_features']} features")
            return Projection(found[0].float().T)
    return None


def stored_rule(folder: Path) -> Rule:
    """Decision rule of a model folder, read without the weights."""
    return rule_from_dict(_read_config(folder)["rule"])


def stored_calibration(folder: Path) -> tuple[float, Sequence[float] | None]:
    """Temperature and class weights of a model folder, read without the weights of the model."""
    config = _read_config(folder)
    return float(config["temperature"]), config.get("class_weights")


def _read_config(folder: Path) -> dict[str, Any]:
    """Checked configuration of a model folder."""
    config = read_model_json(folder / CONFIG, folder)
    if config.get("format") != FORMAT or config.get("version") not in READABLE:
        found = f"{config.get('format')!r} version {config.get('version')!r}"
        raise ModelError(f"{folder / CONFIG}: expected {FORMAT!r} version {READABLE[0]} to {VERSION}, got {found}")
    _check_config(folder / CONFIG, config)
    return config


def _check_config(path: Path, config: dict[str, Any]) -> None:
    faults = [
        f"{key}: expected {_WORDS[kind]}, got {config.get(key)!r}"
        for key, kind in _FIELDS.items()
        if not isinstance(config.get(key), kind)
    ]
    if not faults:
        faults = [*_rule_faults(config["rule"])]
    if not faults and not (math.isfinite(config["temperature"]) and config["temperature"] > 0):
        faults = [f"temperature: expected a number above 0, got {config['temperature']!r}"]
    if not _are_weights(config.get("class_weights")):
        faults.append("class_weights: expected a list of numbers above 0")
    if not isinstance(config.get("backbone"), dict | None):
        faults.append(f"backbone: expected an object or null, got {config['backbone']!r}")
    if faults:
        raise ModelError(f"{path}: {fault}" for fault in faults)


def _are_weights(values: Any) -> bool:
    if values is None:
        return True
    numbers = isinstance(values, list) and all(isinstance(value, int | float) for value in values)
    return numbers and all(math.isfinite(value) and value > 0 for value in values)


def _rule_faults(rule: dict[str, Any] | str) -> Iterator[str]:
    try:
        rule_from_dict(rule)
    except RuleError as error:
        yield f"rule: {error}"
