"""Format of an exported model: graph inputs and outputs, and metadata, which hold the features of texts."""

import base64
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from types import ModuleType
from typing import Any, get_args

import numpy as np
import safetensors.numpy
from numpy.typing import NDArray
from safetensors import SafetensorError

from hiercos.checks import check_choice, fits, positive_fault
from hiercos.data import Float32Array, Kind, PixelTransform
from hiercos.decisions import HeldOutChains, Rule, rule_from_dict
from hiercos.encoders import AnyTextFeatures, features_from_state
from hiercos.errors import FaultsError
from hiercos.taxonomy import Taxonomy
from hiercos.taxonomy.formats import taxonomy_from_dict, taxonomy_to_dict

FORMAT, VERSION = "hiercos-onnx", 5
OPSET = 18  # the first ONNX opset whose ScatterElements supports maxima; in onnxruntime since 1.14
PREFIX = "hiercos."  # prefix of the metadata keys
VOCABULARY, ARRAYS = "text_vocabulary", "text_arrays"  # metadata keys of the map from texts to features
FEATURES, IMAGES = "features", "images"  # names of the input: (B, F), or (B, 3, S, S)
LEAVES, NODES, PROBABILITIES, RISKS = "leaf_scores", "node_scores", "probabilities", "crm_scores"
EVIDENCE, ENERGIES = "evidence", "energies"  # of methods that have them


class OnnxError(FaultsError):
    """A model that cannot be exported, or an ONNX file that cannot be used."""


def onnx_library(module: str) -> ModuleType:
    """Import a library of the extra `onnx`, such as onnxruntime."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        missing = (error.name or module).partition(".")[0]
        raise OnnxError(f"ONNX files need {missing}: pip install 'hiercos[onnx]'") from error


def output_names(taxonomy: Taxonomy, *, evidence: bool = False, energies: bool = False) -> list[str]:
    """Names of the graph's outputs: scores of classes, of each level, of all nodes, probabilities, scores of `crm`.

    Args:
        evidence: whether the probabilities come from other scores than those of the classes.
        energies: whether the method has energies of the nodes, the last output.
    """
    levels = [f"level_{level}_scores" for level in range(1, taxonomy.height + 1)]
    others = [name for name, has in ((EVIDENCE, evidence), (ENERGIES, energies)) if has]
    return [LEAVES, *levels, NODES, PROBABILITIES, RISKS, *others]


SEAL = b"\x72\x52\x0a\x0ehiercos.sha256\x12\x40"  # protobuf: field 14, metadata, of a key and 64 characters
DIGITS = 64  # of a SHA-256


def sealed(content: bytes) -> bytes:
    """The content of an ONNX file with its SHA-256 as the last metadata entry.

    Protobuf reads two messages, one after the other, as one: the entry is appended without changing a byte before it.
    """
    return content + SEAL + hashlib.sha256(content).hexdigest().encode()


def check_seal(content: bytes, source: str) -> bool:
    """Whether a file ends with a checksum."""
    body, seal, digest = content[: -DIGITS - len(SEAL)], content[-DIGITS - len(SEAL) : -DIGITS], content[-DIGITS:]
    if seal != SEAL:
        return False
    if hashlib.sha256(body).hexdigest().encode() != digest:
        raise OnnxError(f"{source}: the file was changed after it was written (its SHA-256 differs)")
    return True


@dataclass(frozen=True, eq=False)
class TextMap:
    """Map from texts, or rows of columns, to the input of the graph."""

    features: AnyTextFeatures  # map to sparse vectors, shape (M, V)
    # directions of their projection, shape (F, V); None if the graph takes the vectors themselves
    components: NDArray[np.float32] | None = None

    def __call__(self, inputs: Any) -> Float32Array:
        """Dense input of the graph from texts or `ColumnInputs`, shape (M, F) or (M, V)."""
        vectors = self.features.transform(inputs)
        dense = vectors.toarray() if self.components is None else vectors @ self.components.T
        return np.asarray(dense, dtype=np.float32)

    def properties(self) -> dict[str, str]:
        """The vocabulary as JSON, and the arrays as safetensors in base64."""
        values, arrays = self.features.state()
        if self.components is not None:
            arrays["components"] = np.ascontiguousarray(self.components)  # safetensors requires C order
        content = base64.b64encode(safetensors.numpy.save(arrays)).decode("ascii")
        return {VOCABULARY: json.dumps(values), ARRAYS: content}


@dataclass(frozen=True)
class OnnxDescription:
    """Metadata of an exported graph."""

    taxonomy: Taxonomy  # taxonomy of the classes
    kind: Kind  # kind of the model's inputs
    method: str  # name of the method
    rule: Rule  # decision rule
    temperature: float  # calibration temperature of the probabilities
    transform: PixelTransform | None = None  # preprocessing of images; None for other kinds
    text_map: TextMap | None = field(default=None, compare=False)  # map from texts to the input; None for other kinds
    # calibration samples for the targets of back-off; None if the model has none
    calibration: HeldOutChains | None = None

    def properties(self) -> dict[str, str]:
        """The metadata as strings by name; structured values as JSON."""
        values = {
            "format": FORMAT,
            "version": json.dumps(VERSION),
            "taxonomy": json.dumps(taxonomy_to_dict(self.taxonomy)),
            "kind": self.kind,
            "method": self.method,
            "rule": json.dumps(self.rule.to_dict()),
            "temperature": json.dumps(self.temperature),
        }
        if self.transform is not None:
            values["preprocessing"] = json.dumps(self.transform.to_dict())
        if self.text_map is not None:
            values |= self.text_map.properties()
        if self.calibration is not None:
            values["calibration"] = json.dumps(self.calibration.to_dict())
        return {PREFIX + name: value for name, value in values.items()}


def read_description(properties: Mapping[str, str], source: str, *, checked: bool) -> OnnxDescription:
    """Read the description from the metadata of a file that is `checked` if it ends with its checksum."""
    values = {name.removeprefix(PREFIX): value for name, value in properties.items() if name.startswith(PREFIX)}
    if values.get("format") != FORMAT:
        raise OnnxError(f"{source}: expected an ONNX file that hiercos export wrote, got one without its metadata")
    if values.get("version") != str(VERSION):
        raise OnnxError(f"{source}: expected {FORMAT} version {VERSION}, got {values.get('version')}")
    if not checked:
        raise OnnxError(f"{source}: the file was changed after it was written (it does not end with its SHA-256)")
    try:
        return _description(values)
    except (KeyError, TypeError, ValueError, RecursionError, SafetensorError) as error:  # missing or malformed
        raise OnnxError(f"{source}: its metadata were changed after hiercos export ({error})") from error


def _description(values: Mapping[str, str]) -> OnnxDescription:
    check_choice("kind", values["kind"], get_args(Kind))
    transform, calibration = (json.loads(values.get(name, "null")) for name in ("preprocessing", "calibration"))
    return OnnxDescription(
        taxonomy_from_dict(json.loads(values["taxonomy"])),
        values["kind"],  # type: ignore[arg-type]  # one of the kinds
        values["method"],
        rule_from_dict(json.loads(values["rule"])),
        _temperature(json.loads(values["temperature"])),
        None if transform is None else PixelTransform(**transform),
        _text_map(values) if VOCABULARY in values else None,
        None if calibration is None else HeldOutChains.from_dict(calibration),
    )


def _temperature(value: object) -> float:
    if not fits(value, float) or positive_fault("", float(value)):  # type: ignore[arg-type]  # a number
        raise OnnxError(f"temperature: expected a number above 0, got {value!r}")
    return float(value)  # type: ignore[arg-type]


def _text_map(values: Mapping[str, str]) -> TextMap:
    arrays = safetensors.numpy.load(base64.b64decode(values[ARRAYS]))
    return TextMap(features_from_state(json.loads(values[VOCABULARY]), arrays), arrays.get("components"))
