"""A model as an ONNX graph: one module from features or images to every answer, traced once and checked."""

import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from hiercos.engine import Model
from hiercos.geometry import class_path_sums, node_probabilities
from hiercos.nn.backbones import Backbone
from hiercos.onnx.format import OPSET, OnnxError, onnx_library
from hiercos.taxonomy import Taxonomy

TOLERANCE = 1e-5  # of the `largest_difference`
CHECKED = (1, 7)  # batch sizes
TRACED = 2  # rows of the batch that is traced: a dimension of 1 would be taken as fixed
MOST_BYTES = 2**31 - 1  # protobuf writes no more


class AllAnswers(nn.Module):
    """Everything a model has to say, in the order of `output_names`.

    Args:
        model: its head and answers are used, not its own backbone.
        temperature: of the probabilities.
        backbone: before the head; None where features come in.

    Shape:
        inputs: features (B, F), or the backbone's batch. Output: scores of the classes (B, C), of the nodes of each
        level (B, K_level), of all nodes (B, N); in float64, probabilities (B, C) and scores of the rule `crm` (B, C).
    """

    def __init__(self, model: Model, temperature: float, backbone: Backbone | None = None) -> None:
        super().__init__()
        self.taxonomy, self.temperature = model.taxonomy, temperature
        self.backbone = backbone
        self.standardize, self.head = model.standardize, model.head
        self.class_scores, self.node_scores = model.class_scores, model.node_scores

    def forward(self, inputs: Tensor) -> tuple[Tensor, ...]:
        """See the class."""
        features = inputs if self.backbone is None else self.backbone(inputs)
        outputs = self.head(self.standardize(features))
        scores, nodes = self.class_scores(outputs), self.node_scores(outputs)
        levels = nodes.split_with_sizes(np.diff(self.taxonomy.level_starts).tolist(), dim=1)
        probabilities = (scores.double() / self.temperature).softmax(dim=1)
        return scores, *levels, nodes, probabilities, least_risk_values(probabilities, self.taxonomy)


def least_risk_values(probabilities: Tensor, taxonomy: Taxonomy) -> Tensor:
    """The values of the rule `crm` as part of the graph, for programs without this package: (B, C) to (B, C).

    `hiercos.decisions.LeastRisk` says what they are; this package itself decides with that alone.
    """
    on_paths = class_path_sums(node_probabilities(probabilities, taxonomy), taxonomy)
    below = probabilities.new_tensor(taxonomy.height - taxonomy.depths[taxonomy.leaves])
    return on_paths + probabilities * below - taxonomy.height


def onnx_graph(module: nn.Module, sample: Tensor, *, takes: str, gives: Sequence[str]) -> Any:
    """A module of one input and several outputs as an ONNX model whose batch size is free.

    Args:
        module: in evaluation mode, on the CPU.
        sample: inputs to trace, at least two rows.
        takes: the name of the input.
        gives: the names of the outputs.

    Raises:
        OnnxError: if torch cannot export it, or the file would be larger than protobuf allows.
    """
    for library in ("onnx", "onnxscript", "onnxruntime"):
        onnx_library(library)
    with torch.no_grad(), quiet():
        module(sample[:TRACED])  # what is made once for a taxonomy is not made while it is traced
        try:
            traced = torch.export.export(module, (sample[:TRACED],), dynamic_shapes=({0: torch.export.Dim("batch")},))
            program = torch.onnx.export(
                traced,
                dynamo=True,
                opset_version=OPSET,
                input_names=[takes],
                output_names=list(gives),
                dynamic_shapes=({0: "batch"},),
                verbose=False,
            )
        except Exception as error:  # what a module does that torch cannot export has no common class
            first = str(error).strip().partition("\n")[0]
            raise OnnxError(f"torch cannot export this model ({type(error).__name__}: {first})") from error
    assert program is not None
    return with_simple_activations(without_traces(program.model_proto))


def without_traces(model: Any) -> Any:
    """The ONNX model without what the exporter notes for its own developers, paths of source files among it."""
    for part in (*model.graph.node, *model.graph.initializer, *model.graph.input, *model.graph.output, model.graph):
        part.ClearField("metadata_props")
        part.ClearField("doc_string")
    model.graph.ClearField("value_info")
    model.ClearField("metadata_props")
    return model


def with_simple_activations(model: Any) -> Any:
    """An ONNX model, changed such that PRelu is max(x, 0) + slope min(x, 0): the same bits.

    onnxruntime takes its time over PRelu: without it, heads with our blocks need a quarter less on large batches.
    """
    onnx, graph = onnx_library("onnx"), model.graph
    node, zero = onnx.helper.make_node, "prelu.zero"
    nodes = []
    for old in graph.node:
        if old.op_type != "PRelu":
            nodes.append(old)
            continue
        (x, slope), (y,) = old.input, old.output
        above, below, scaled = (f"{y}.{part}" for part in ("above", "below", "scaled"))
        nodes += [node("Relu", [x], [above]), node("Min", [x, zero], [below])]
        nodes += [node("Mul", [below, slope], [scaled]), node("Add", [above, scaled], [y])]
    if len(nodes) > len(graph.node):
        changed = onnx.helper.make_graph(nodes, graph.name, graph.input, graph.output, graph.initializer)
        changed.initializer.append(onnx.numpy_helper.from_array(np.zeros((), np.float32), zero))
        graph.CopyFrom(changed)
    return model


def serialized(model: Any) -> bytes:
    """The bytes of an ONNX model; an `OnnxError` if they are more than protobuf allows."""
    if model.ByteSize() > MOST_BYTES:
        raise OnnxError(f"expected a model of less than 2 GiB, got {model.ByteSize():,} bytes")
    return bytes(model.SerializeToString())


@contextmanager
def quiet() -> Iterator[None]:
    """Keep other libraries' notes about their own future and about extras nobody needs from the user."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


def largest_difference(found: Sequence[np.ndarray[Any, Any]], expected: Sequence[Tensor]) -> float:
    """The largest |found - expected| of all outputs, as a share of the row's largest |expected| where that is above 1.

    Scores mean something beside those of the same row only, and float32 rounds them all on the scale of the largest.

    Args:
        found: each of shape (B, K).
        expected: the same, with as many rows.

    Returns:
        The difference; infinite where a shape differs, and NaN where one of two numbers, or their difference, is.
    """
    worst = 0.0
    for array, tensor in zip(found, expected, strict=True):
        reference = tensor.double().numpy()
        if array.shape != reference.shape:
            return float("inf")
        relative = np.abs(array - reference) / np.maximum(1, np.abs(reference).max(axis=1, keepdims=True))
        worst = float(np.maximum(worst, relative.max(initial=0.0)))  # unlike max, it keeps NaN
    return worst


def disagreement(session: Any, module: nn.Module, sample: Tensor) -> float:
    """The `largest_difference` between onnxruntime and PyTorch on batches of one and of seven inputs."""
    name = session.get_inputs()[0].name
    found: list[np.ndarray[Any, Any]] = []
    expected: list[Tensor] = []
    for rows in CHECKED:
        found += session.run(None, {name: sample[:rows].numpy()})
        with torch.no_grad():
            expected += module(sample[:rows])
    return largest_difference(found, expected)
