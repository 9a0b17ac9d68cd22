"""Export of a stored model to a self-contained ONNX file with its taxonomy and rule, and quantisation to int8."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import normalize

from hiercos.checks import check_choice
from hiercos.data import PixelTransform, as_inputs
from hiercos.encoders import (
    ColumnEncoder,
    Encoder,
    FineTunedEncoder,
    FrozenEncoder,
    JoinedEncoder,
    ReadConfig,
    SingleDevice,
    TextFeatures,
    TfidfEncoder,
)
from hiercos.encoders.backbones import Backbone, OnnxBackbone
from hiercos.methods import METHODS, NEVER_VARIES, Projection
from hiercos.model import Classifier
from hiercos.onnx.format import (
    FEATURES,
    IMAGES,
    PROBABILITIES,
    OnnxDescription,
    OnnxError,
    TextMap,
    onnx_library,
    output_names,
    sealed,
)
from hiercos.onnx.graph import (
    TOLERANCE,
    ExportedModule,
    changed_answers,
    disagreement,
    onnx_graph,
    quiet_export,
    serialized,
)
from hiercos.onnx.model import OnnxModel, open_onnx_model
from hiercos.storage import write
from hiercos.taxonomy import check_tree

Start = Literal["inputs", "features"]
ROWS = 16  # of the comparison with PyTorch
DRAWN_NGRAMS = 8  # of a text that is made from a vocabulary
MOST_DENSE = 4096  # features up to which those of a vector are seldom 0
USUAL_ENTRIES = 64  # features of a longer vector that are not 0
INT8_MAX = 127  # largest quantised weight


@dataclass(frozen=True)
class OnnxExport:
    """An exported graph with its description, before it is written."""

    graph: Any  # `onnx.ModelProto` without metadata
    description: OnnxDescription  # content of its metadata
    module: ExportedModule  # PyTorch module that was exported
    sample: Tensor  # inputs of the graph, used to compare both
    difference: float  # `largest_difference` from PyTorch on the sample

    def content(self) -> bytes:
        """The bytes of the file."""
        model = type(self.graph)()
        model.CopyFrom(self.graph)
        model.doc_string = "Written by hiercos export; see docs/deploy.md."
        onnx_library("onnx").helper.set_model_props(model, self.description.properties())
        return sealed(serialized(model))

    def opened(self) -> OnnxModel:
        """The model in onnxruntime, as loaded from the file."""
        return open_onnx_model(self.content())

    def write(self, path: str | PathLike[str]) -> Path:
        """Write the ONNX file; returns its path."""
        file = Path(path)
        if file.is_dir():
            raise OnnxError(f"{file}: expected the name of a file, this is a folder")
        write(file, self.content())
        return file


def export_onnx(stored: Classifier, *, start: Start = "inputs", examples: Sequence[Any] = ()) -> OnnxExport:
    """Export a model to an ONNX graph and compare it with PyTorch.

    Args:
        stored: model on the CPU, as `Classifier.load` returns it.
        start: first stage of the graph: "inputs" (the default) for preprocessed images, vectors, or the features of
            texts, whose map is among the metadata; "features" for the head alone, a model of vectors.
        examples: texts, images or vectors to compare on, of which 16 are used; by default texts of the model's own
            n-grams, or noise.

    Raises:
        OnnxError: if the extra `onnx` is missing, the backbone cannot be exported, the method scores nodes for several
            labels, or onnxruntime and PyTorch differ by more than 1e-4.
    """
    check_choice("start", start, get_args(Start))
    check_tree(stored.model.taxonomy, "an ONNX file")
    if METHODS.traits(stored.model.method).label_sets:
        raise OnnxError(f"method {stored.model.method!r} scores nodes, and an ONNX file has scores of classes alone")
    encoder = stored.encoder if start == "inputs" else None
    backbone, transform = _image_part(encoder)
    description = OnnxDescription(
        stored.model.taxonomy,
        "vectors" if encoder is None else encoder.kind,
        stored.model.method,
        stored.rule,
        stored.temperature,
        transform,
        _text_map(stored, encoder),
        stored.calibration,
    )
    projection = stored.model.projection if start == "inputs" and stored.encoder is None else None
    module = ExportedModule(stored.model, stored.temperature, backbone or projection, stored.class_weights).eval()
    sample = _sample(stored, transform, projection, examples[:ROWS])
    has = {"evidence": module.evidence is not None, "energies": module.energies is not None}
    names = output_names(stored.model.taxonomy, **has)
    graph = onnx_graph(module, sample, takes=IMAGES if transform else FEATURES, gives=names)
    return compared(OnnxExport(graph, description, module, sample, 0.0))


def _text_map(stored: Classifier, encoder: Encoder | None) -> TextMap | None:
    """The map from texts to the input of the graph, which stands behind the model's projection."""
    if not isinstance(encoder, TfidfEncoder | ColumnEncoder):
        return None
    projection = stored.model.projection
    return TextMap(encoder.features, None if projection is None else projection.directions.T.numpy())


def compared(export: OnnxExport) -> OnnxExport:
    """The export with its measured difference from PyTorch."""
    opened = export.opened()
    difference = disagreement(opened.session, export.module, export.sample)
    if not difference <= TOLERANCE:
        raise OnnxError(
            f"onnxruntime and PyTorch differ by {difference:.2g}, more than {TOLERANCE:g}: nothing was written"
        )
    found = opened.outputs(export.sample.numpy())
    with torch.no_grad():
        expected = dict(zip(found, export.module(export.sample), strict=True))
    if changed := changed_answers(found[PROBABILITIES], expected[PROBABILITIES].numpy()):
        raise OnnxError(f"{changed} of {len(export.sample)} answers differ from those of PyTorch: nothing was written")
    return replace(export, difference=difference)


def _image_part(encoder: Encoder | None) -> tuple[Backbone | None, PixelTransform | None]:
    """The backbone to export with a model, and its image transform; None for a model of features."""
    if isinstance(encoder, ColumnEncoder) and encoder.frozen is not None:
        raise OnnxError("an ONNX file has no backbone beside other columns: export the head alone (--from features)")
    if isinstance(encoder, JoinedEncoder):
        encoder = encoder.frozen
    if not isinstance(encoder, FrozenEncoder | FineTunedEncoder):
        return None, None
    backbone, advice = encoder.backbone, "export the part behind its features (--from features)"
    if backbone.kind != "images":
        raise OnnxError(f"backbone {backbone.name!r} takes texts, which ONNX cannot tokenise: {advice}")
    if any(isinstance(part, OnnxBackbone) for part in backbone.modules()):
        raise OnnxError(f"backbone {backbone.name!r} is an ONNX file itself: {advice}")
    if not isinstance(backbone.preprocess, PixelTransform):
        raise OnnxError(f"backbone {backbone.name!r} has its own preprocessing of images: {advice}")
    return backbone, PixelTransform(**backbone.preprocess.to_dict())


def _sample(
    stored: Classifier, transform: PixelTransform | None, projection: Projection | None, examples: Sequence[Any]
) -> Tensor:
    """Inputs of the graph to compare on: those of examples, or of texts made from the model's n-grams, or noise.

    Args:
        transform: preprocessing of the images that the graph takes; None for a graph of features.
        projection: projection that the graph begins with; None without one.
    """
    tfidf = stored.encoder.tfidf if isinstance(stored.encoder, JoinedEncoder) else stored.encoder
    if not len(examples) and isinstance(tfidf, TfidfEncoder):
        examples = _own_texts(tfidf.features)
    if stored.kind == "columns":  # the texts that a folder keeps of them are no rows
        return _feature_noise(stored, projection)
    if transform is not None and not len(examples):
        return torch.randn(ROWS, 3, transform.size, transform.size, generator=torch.Generator().manual_seed(0))
    if transform is not None:
        return torch.from_numpy(transform.scaled(transform.pixels(examples)))
    if not len(examples):
        return _feature_noise(stored, projection)
    inputs = as_inputs(examples, stored.kind)
    if projection is not None:
        return torch.tensor(np.asarray(inputs))
    features = stored.features(inputs, ReadConfig(SingleDevice("cpu")))
    return features if isinstance(features, Tensor) else torch.from_numpy(features.toarray())


def _own_texts(features: TextFeatures) -> list[str]:
    """Texts of a few n-grams that a model knows."""
    ngrams = [ngram for part in features.parts for ngram in part.vocabulary]
    drawn = np.random.default_rng(0).choice(len(ngrams), (ROWS, DRAWN_NGRAMS))
    return [" ".join(ngrams[place] for place in row) for row in drawn]


def _feature_noise(stored: Classifier, projection: Projection | None) -> Tensor:
    """Noise with the mean and deviation of the training features, shape (16, F); without these before a projection.

    Wide vectors are sparse, and of length 1 as TF-IDF is: with 100,000 numbers a row the sums would lose digits that
    those of a real row do not.
    """
    scaling = stored.model.standardize  # not fitted, so of mean 0 and deviation 1, for a method that takes raw inputs
    width = stored.model.in_features if projection is None else projection.in_features
    generator = torch.Generator().manual_seed(0)
    noise = torch.randn(ROWS, width, generator=generator)
    if width > MOST_DENSE:
        return normalize(noise * (torch.rand(ROWS, width, generator=generator) < USUAL_ENTRIES / width))
    deviation = scaling.scale.where(scaling.scale < NEVER_VARIES, 0)
    return scaling.mean + deviation * noise if projection is None else noise


def to_int8(export: OnnxExport) -> OnnxExport:
    """Quantise the weights to int8 and measure the difference from PyTorch; no calibration data are needed.

    Linear layers also compute in int8, with a scale per batch of inputs (onnxruntime's dynamic quantisation).
    Convolutions compute in float with rounded weights: with one scale per layer and rounded inputs, depthwise
    convolutions lose too much (EfficientNet-Lite0 loses a fifth of its top-1 on the groceries).
    """
    quantization, onnx = onnx_library("onnxruntime.quantization"), onnx_library("onnx")
    with TemporaryDirectory() as folder, quiet_export():
        target = Path(folder) / "int8.onnx"
        quantization.quantize_dynamic(
            export.graph,
            target,
            op_types_to_quantize=["MatMul", "Gemm"],
            weight_type=quantization.QuantType.QUInt8,  # exact on every CPU: signed products overflow on some
        )
        graph = onnx.load_model(str(target))
    graph.ClearField("metadata_props")
    description = replace(export.description, calibration=None)  # its samples were scored by the exact weights
    smaller = replace(export, graph=with_rounded_convolutions(graph), description=description)
    return replace(smaller, difference=disagreement(smaller.opened().session, export.module, export.sample))


def with_rounded_convolutions(model: Any) -> Any:
    """Store the weights of an ONNX model's convolutions as int8, with a scale per output channel."""
    onnx, graph = onnx_library("onnx"), model.graph
    weights = {tensor.name: tensor for tensor in graph.initializer}
    names = {node.input[1] for node in graph.node if node.op_type == "Conv"} & weights.keys()
    for name in sorted(names):
        whole, scale = rounded_channels(onnx.numpy_helper.to_array(weights[name]))
        graph.initializer.remove(weights[name])
        parts = {f"{name}.int8": whole, f"{name}.scale": scale}
        graph.initializer.extend(onnx.numpy_helper.from_array(array, part) for part, array in parts.items())
        graph.node.insert(0, onnx.helper.make_node("DequantizeLinear", list(parts), [name], axis=0))
    return model


def rounded_channels(weights: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Weights as integers times a scale per output channel.

    Args:
        weights: weights with the output channels first, shape (K, ...).

    Returns:
        Integers from -127 to 127, of the same shape, and scales, shape (K,); 1 for a channel of zeros.

    Example:
        >>> whole, scale = rounded_channels(np.array([[0.5, -1.0], [0.0, 0.0]], np.float32))
        >>> whole.tolist(), scale.tolist()
        ([[64, -127], [0, 0]], [0.007874015718698502, 1.0])
    """
    largest = np.abs(weights).max(axis=tuple(range(1, weights.ndim)))  # (K,)
    scale = np.where(largest > 0, largest / INT8_MAX, 1).astype(np.float32)
    per_channel = scale.reshape(-1, *[1] * (weights.ndim - 1))  # (K, 1, ...)
    return np.round(weights / per_channel).astype(np.int8), scale
