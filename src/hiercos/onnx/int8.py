"""Quantisation of the weights to int8, and the quality of a model."""

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
from hiercos.onnx.graph import disagreement, quiet_export
from hiercos.onnx.model import InferenceConfig, OnnxModel
from hiercos.taxonomy import IntArray

INT8_MAX = 127  # largest quantised weight


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


@dataclass(frozen=True)
class Quality:
    """Quality of a model on labelled samples, under its own rule.

    Attributes:
        hops: mean HOPS of the samples labelled with a class.
        top1: share of these samples whose true class is ranked first.
    """

    hops: float
    top1: float


def quality(model: OnnxModel, inputs: Inputs, labels: IntArray, config: InferenceConfig | None = None) -> Quality:
    """The quality of an exported model.

    Args:
        model: exported model.
        inputs: inputs of the model's kind, M of them.
        labels: label of each input, a class index or C + node, shape (M,).
        config: settings of the pass.
    """
    posteriors = model.posteriors(inputs, config or InferenceConfig())
    ranked = torch.cat([torch.from_numpy(model.rule.ranking(posterior)) for posterior in posteriors])  # (M, C)
    known = torch.tensor(labels < model.taxonomy.num_classes)
    ranked, truth = ranked[known], torch.tensor(labels)[known]
    hops = HF.hops(ranked, truth, model.taxonomy).double().mean()
    return Quality(float(hops), float(HF.top_k_accuracy(ranked, truth, model.taxonomy).double().mean()))
