"""Format of an exported model: graph inputs and outputs, metadata, and the text feature file beside it."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

import numpy as np
import safetensors
import safetensors.numpy
from numpy.typing import NDArray

from hiercos.checks import check_choice, fits, positive_fault
from hiercos.data import Float32Array, Kind, PixelTransform
from hiercos.decisions import HeldOutChains, Rule, rule_from_dict
from hiercos.encoders import AnyTextFeatures, features_from_state
from hiercos.errors import FaultsError
from hiercos.taxonomy import Taxonomy
from hiercos.taxonomy.formats import taxonomy_from_dict, taxonomy_to_dict

FORMAT, VERSION = "hiercos-onnx", 4
OPSET = 18  # the first ONNX opset whose ScatterElements supports maxima; in onnxruntime since 1.14
PREFIX = "hiercos."  # prefix of the metadata keys
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


@dataclass(frozen=True)
class TextFile:
    """The file beside the ONNX file that holds the map from texts to features."""

    name: str  # file name, without a folder
    sha256: str  # hash of its content


@dataclass(frozen=True)
class OnnxDescription:
    """Metadata of an exported graph."""

    taxonomy: Taxonomy  # taxonomy of the classes
    kind: Kind  # kind of the model's inputs
    method: str  # name of the method
    rule: Rule  # decision rule
    temperature: float  # calibration temperature of the probabilities
    transform: PixelTransform | None = None  # preprocessing of images; None for other kinds
    text_file: TextFile | None = None  # file with the map from texts to features; None for other kinds
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
        if self.text_file is not None:
            values["text_features"] = json.dumps(vars(self.text_file))
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
    except (KeyError, TypeError, ValueError, RecursionError) as error:  # missing or malformed entries
        raise OnnxError(f"{source}: its metadata were changed after hiercos export ({error})") from error


def _description(values: Mapping[str, str]) -> OnnxDescription:
    check_choice("kind", values["kind"], get_args(Kind))
    names = ("preprocessing", "text_features", "calibration")
    transform, text_file, calibration = (json.loads(values.get(name, "null")) for name in names)
    return OnnxDescription(
        taxonomy_from_dict(json.loads(values["taxonomy"])),
        values["kind"],  # type: ignore[arg-type]  # one of the kinds
        values["method"],
        rule_from_dict(json.loads(values["rule"])),
        _temperature(json.loads(values["temperature"])),
        None if transform is None else PixelTransform(**transform),
        None if text_file is None else TextFile(**text_file),
        None if calibration is None else HeldOutChains.from_dict(calibration),
    )


def _temperature(value: object) -> float:
    if not fits(value, float) or positive_fault("", float(value)):  # type: ignore[arg-type]  # a number
        raise OnnxError(f"temperature: expected a number above 0, got {value!r}")
    return float(value)  # type: ignore[arg-type]


VALUES = "text_features"  # metadata key of the JSON values in the safetensors file


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


def text_map_content(texts: TextMap) -> bytes:
    """The content of the text feature file: the arrays, with the vocabulary as metadata."""
    values, arrays = texts.features.state()
    if texts.components is not None:
        arrays["components"] = np.ascontiguousarray(texts.components)  # safetensors requires C order
    return safetensors.numpy.save(arrays, metadata={VALUES: json.dumps(values)})


def describe_text_map(path: Path, content: bytes) -> TextFile:
    """The name and hash of the text feature file that belongs to the ONNX file at this path.

    The name has the first digits of the hash: a new pair of files never overwrites a file of the old pair, which stays
    valid until the ONNX file is renamed into place.
    """
    digest = hashlib.sha256(content).hexdigest()
    return TextFile(text_map_name(path, digest), digest)


def text_map_name(path: Path, digest: str) -> str:
    """Name of the text feature file beside an ONNX file; `digest` is its SHA-256, of which 8 digits are used."""
    return f"{path.stem}.text-{digest[:8]}.safetensors"


def remove_other_text_maps(path: Path, kept: str | None) -> None:
    """Remove the text feature files of earlier exports to the same ONNX file.

    Args:
        kept: name of the text feature file that it needs; None for a file that needs none.
    """
    pattern = re.compile(re.escape(path.stem) + r"\.text-[0-9a-f]{8}\.safetensors")
    for file in path.parent.iterdir():
        if file.name != kept and pattern.fullmatch(file.name):
            file.unlink(missing_ok=True)


def read_text_map(path: Path, expected: TextFile) -> TextMap:
    """Read the text feature file beside an ONNX file."""
    if Path(expected.name).name != expected.name:
        raise OnnxError(f"{path}: expected a text feature file beside it, got {expected.name!r}")
    names = (expected.name, text_map_name(path, expected.sha256))  # the second if both files were renamed
    files = [file for name in names if (file := path.with_name(name)).is_file()]
    if not files:
        missing = path.with_name(expected.name)
        raise OnnxError(f"{missing}: there is no such file; {path.name} needs it beside it to read texts")
    if hashlib.sha256(files[0].read_bytes()).hexdigest() != expected.sha256:
        raise OnnxError(f"{files[0]}: not the file that was written with {path.name}")
    try:
        with safetensors.safe_open(str(files[0]), "numpy") as opened:
            values = json.loads(opened.metadata()[VALUES])
            arrays = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
            return TextMap(features_from_state(values, arrays), arrays.get("components"))
    except (safetensors.SafetensorError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise OnnxError(f"{files[0]}: the text features cannot be read ({error})") from error
