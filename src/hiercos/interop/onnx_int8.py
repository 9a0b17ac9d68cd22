"""Weights of eight bits, and what they cost."""

from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from hiercos.data.dataset import Inputs
from hiercos.decisions import predicted_classes
from hiercos.interop.onnx_export import OnnxExport
from hiercos.interop.onnx_format import onnx_library
from hiercos.interop.onnx_graph import disagreement, quiet
from hiercos.interop.onnx_model import Asking, OnnxModel
from hiercos.metrics import functional as HF
from hiercos.taxonomy.tree import IntArray

OPERATORS = ["MatMul", "Gemm", "Conv"]  # whose weights become eight bits


def to_int8(export: OnnxExport) -> OnnxExport:
    """The same model with weights of eight bits, by onnxruntime's dynamic quantisation, its difference measured anew.

    The inputs of a layer are rounded too, each batch on a scale of its own, so that no calibration data are needed.
    """
    quantization, onnx = onnx_library("onnxruntime.quantization"), onnx_library("onnx")
    with TemporaryDirectory() as folder, quiet():
        target = Path(folder) / "int8.onnx"
        quantization.quantize_dynamic(
            export.graph,
            target,
            op_types_to_quantize=OPERATORS,
            weight_type=quantization.QuantType.QUInt8,  # the type that onnxruntime's integer convolutions take
        )
        graph = onnx.load_model(str(target))
    graph.ClearField("metadata_props")
    smaller = replace(export, graph=graph)
    return replace(smaller, difference=disagreement(smaller.opened().session, export.module, export.sample))


@dataclass(frozen=True)
class Quality:
    """How good a model is on labelled samples, under its own rule.

    Attributes:
        hops: mean HOPS.
        top1: the share of samples whose class is ranked first.
    """

    hops: float
    top1: float


def quality(model: OnnxModel, inputs: Inputs, labels: IntArray) -> Quality:
    """The quality of an exported model.

    Args:
        model: in onnxruntime.
        inputs: M of them, of the model's kind.
        labels: their classes, shape (M,).
    """
    decided = torch.cat([torch.from_numpy(found.decided) for found in model.all_scores(inputs, Asking())])  # (M, C)
    truth = torch.tensor(labels)
    hops = HF.hops(decided, truth, model.taxonomy).double().mean()
    return Quality(float(hops), float((predicted_classes(decided) == truth).double().mean()))
