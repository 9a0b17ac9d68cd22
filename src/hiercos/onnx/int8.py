"""Weights of eight bits, and what they cost."""

from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from hiercos.data import Inputs
from hiercos.metrics import functional as HF
from hiercos.onnx.export import OnnxExport
from hiercos.onnx.format import onnx_library
from hiercos.onnx.graph import disagreement, quiet
from hiercos.onnx.model import InferenceConfig, OnnxModel
from hiercos.taxonomy import IntArray

LARGEST = 127  # of the whole numbers that stand for weights


def to_int8(export: OnnxExport) -> OnnxExport:
    """The same model with weights of eight bits, its difference measured anew; no calibration data are needed.

    Linear layers also compute in eight bits, the inputs of each batch on a scale of their own (onnxruntime's dynamic
    quantisation). Convolutions compute as before, with rounded weights: on one scale for a whole layer and with
    rounded inputs, those of single channels lose too much (EfficientNet-Lite0, on the groceries, a fifth of its top-1).
    """
    quantization, onnx = onnx_library("onnxruntime.quantization"), onnx_library("onnx")
    with TemporaryDirectory() as folder, quiet():
        target = Path(folder) / "int8.onnx"
        quantization.quantize_dynamic(
            export.graph,
            target,
            op_types_to_quantize=["MatMul", "Gemm"],
            weight_type=quantization.QuantType.QUInt8,  # exact on every processor: signed ones overflow on some
        )
        graph = onnx.load_model(str(target))
    graph.ClearField("metadata_props")
    smaller = replace(export, graph=with_rounded_convolutions(graph))
    return replace(smaller, difference=disagreement(smaller.opened().session, export.module, export.sample))


def with_rounded_convolutions(model: Any) -> Any:
    """An ONNX model, changed such that the weights of its convolutions are stored as int8, with a scale per channel."""
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
    """Weights as whole numbers times a scale, one for each output channel.

    Args:
        weights: the output channels first, shape (K, ...).

    Returns:
        Whole numbers from -127 to 127, of the same shape, and scales, shape (K,); 1 for a channel of zeros.

    Example:
        >>> whole, scale = rounded_channels(np.array([[0.5, -1.0], [0.0, 0.0]], np.float32))
        >>> whole.tolist(), scale.tolist()
        ([[64, -127], [0, 0]], [0.007874015718698502, 1.0])
    """
    largest = np.abs(weights).max(axis=tuple(range(1, weights.ndim)))  # (K,)
    scale = np.where(largest > 0, largest / LARGEST, 1).astype(np.float32)
    per_channel = scale.reshape(-1, *[1] * (weights.ndim - 1))  # (K, 1, ...)
    return np.round(weights / per_channel).astype(np.int8), scale


@dataclass(frozen=True)
class Quality:
    """How good a model is on labelled samples, under its own rule.

    Attributes:
        hops: mean HOPS.
        top1: the share of samples whose class is ranked first.
    """

    hops: float
    top1: float


def quality(model: OnnxModel, inputs: Inputs, labels: IntArray, config: InferenceConfig | None = None) -> Quality:
    """The quality of an exported model.

    Args:
        model: in onnxruntime.
        inputs: M inputs of the model's kind.
        labels: their classes, shape (M,).
        config: settings of the pass.
    """
    posteriors = model.posteriors(inputs, config or InferenceConfig())
    ranked = torch.cat([torch.from_numpy(model.rule.ranking(posterior)) for posterior in posteriors])  # (M, C)
    truth = torch.tensor(labels)
    hops = HF.hops(ranked, truth, model.taxonomy).double().mean()
    return Quality(float(hops), float(HF.top_k_accuracy(ranked, truth, model.taxonomy).double().mean()))
