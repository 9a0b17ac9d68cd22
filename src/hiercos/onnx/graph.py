"""Export of a model to an ONNX graph from features or images to all outputs, and its comparison with PyTorch."""

import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from hiercos.decisions import score_offsets
from hiercos.geometry import class_path_sums, node_probabilities
from hiercos.methods import Model
from hiercos.onnx.format import OPSET, OnnxError, onnx_library
from hiercos.taxonomy import Taxonomy

TOLERANCE = 1e-4  # maximum `largest_difference`, and the margin up to which an answer may change
MAX_BYTES = 2**31 - 1  # limit of protobuf


class ExportedModule(nn.Module):
    """All outputs of a model, in the order of `output_names`.

    Args:
        model: model whose head and scores are used, without its backbone.
        temperature: calibration temperature of the probabilities.
        backbone: backbone or projection before the head; None if the input is features.
        class_weights: factor of each class's probability, shape (C,); None for none.

    Shape:
        inputs: features (B, F), or the backbone's batch. Output: scores of the classes (B, C), of the nodes of each
        level (B, K_level), of all nodes (B, N); in float64, probabilities (B, C) and scores of the rule `crm` (B, C);
        for a method with evidence, that of the classes (B, C), which is the scores of the classes if there are class
        weights; for one with energies, their shares of the nodes (B, N).
    """

    def __init__(
        self,
        model: Model,
        temperature: float,
        backbone: nn.Module | None = None,
        class_weights: Sequence[float] | None = None,
    ) -> None:
        super().__init__()
        offsets = None if class_weights is None else torch.tensor(score_offsets(class_weights, temperature))
        self.register_buffer("offsets", None if offsets is None else offsets.float(), persistent=False)
        self.taxonomy, self.temperature = model.taxonomy, temperature
        self.backbone, self.raw_inputs = backbone, model.raw_inputs
        self.standardize, self.head = model.standardize, model.head
        self.class_scores, self.node_scores, self.energies = model.class_scores, model.node_scores, model.energies
        self.evidence = model.evidence
        if class_weights is not None and model.evidence is not None:  # the order does not know the weights
            self.class_scores, self.evidence = model.evidence, None

    def forward(self, inputs: Tensor) -> tuple[Tensor, ...]:
        """Compute all outputs; see the class."""
        features = inputs if self.backbone is None else self.backbone(inputs)
        outputs = self.head(features if self.raw_inputs else self.standardize(features))
        scores, nodes = self.class_scores(outputs), self.node_scores(outputs)
        if self.offsets is not None:
            scores = scores + self.offsets
        levels = nodes.split_with_sizes(np.diff(self.taxonomy.level_starts).tolist(), dim=1)
        others = [part(outputs) for part in (self.evidence, self.energies) if part is not None]
        logits = scores if self.evidence is None else others[0]
        probabilities = (logits.double() / self.temperature).softmax(dim=1)
        return scores, *levels, nodes, probabilities, least_risk_values(probabilities, self.taxonomy), *others


def least_risk_values(probabilities: Tensor, taxonomy: Taxonomy) -> Tensor:
    """Scores of the rule `crm` as part of the graph, for programs without this package: (B, C) -> (B, C).

    `hiercos.decisions.LeastRisk` defines them; this package itself uses only that class.
    """
    on_paths = class_path_sums(node_probabilities(probabilities, taxonomy), taxonomy)
    below = probabilities.new_tensor(taxonomy.height - taxonomy.depths[taxonomy.leaves])
    return on_paths + probabilities * below - taxonomy.height


def onnx_graph(module: nn.Module, sample: Tensor, *, takes: str, gives: Sequence[str]) -> Any:
    """Export a module with one input and several outputs to an ONNX model with a dynamic batch size."""
    for library in ("onnx", "onnxscript", "onnxruntime"):
        onnx_library(library)
    with torch.no_grad(), quiet_export():
        traced = torch.cat([sample[:1], sample[-1:]])  # two rows: a dimension of 1 would be exported as fixed
        module(traced)  # fills the caches of the taxonomy, so that this is not traced
        try:
            exported = torch.export.export(module, (traced,), dynamic_shapes=({0: torch.export.Dim("batch")},))
            program = torch.onnx.export(
                exported,
                dynamo=True,
                opset_version=OPSET,
                input_names=[takes],
                output_names=list(gives),
                dynamic_shapes=({0: "batch"},),
                verbose=False,
            )
        except Exception as error:  # errors of torch's exporter have no common class
            first = str(error).strip().partition("\n")[0]
            raise OnnxError(f"torch cannot export this model ({type(error).__name__}: {first})") from error
    assert program is not None
    return with_simple_activations(without_exporter_metadata(program.model_proto))


def without_exporter_metadata(model: Any) -> Any:
    """The ONNX model without the exporter's debug metadata, which include paths of source files."""
    for part in (*model.graph.node, *model.graph.initializer, *model.graph.input, *model.graph.output, model.graph):
        part.ClearField("metadata_props")
        part.ClearField("doc_string")
    model.graph.ClearField("value_info")
    model.ClearField("metadata_props")
    return model


def with_simple_activations(model: Any) -> Any:
    """Replace PRelu in an ONNX model by max(x, 0) + slope min(x, 0), which gives the same bits.

    PRelu is slow in onnxruntime: without it, heads with hidden blocks take a quarter less time on large batches.
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
    """The bytes of an ONNX model; raises an `OnnxError` if they exceed the limit of protobuf."""
    if model.ByteSize() > MAX_BYTES:
        raise OnnxError(f"expected a model of less than 2 GiB, got {model.ByteSize():,} bytes")
    return bytes(model.SerializeToString())


@contextmanager
def quiet_export() -> Iterator[None]:
    """Silence the warnings of other libraries, such as deprecations and missing optional packages."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


def largest_difference(found: Sequence[np.ndarray[Any, Any]], expected: Sequence[Tensor]) -> float:
    """The largest |found - expected| of all outputs, relative to the row's largest |expected| if that is above 1.

    Scores are compared only within a row, and the rounding error of float32 scales with the largest of them.

    Args:
        found: computed outputs, each of shape (B, K).
        expected: expected outputs, of the same shapes.

    Returns:
        The difference; infinite if a shape differs, NaN if any value or difference is NaN.
    """
    worst = 0.0
    for array, tensor in zip(found, expected, strict=True):
        reference = tensor.double().numpy()
        if array.shape != reference.shape:
            return float("inf")
        relative = np.abs(array - reference) / np.maximum(1, np.abs(reference).max(axis=1, keepdims=True))
        worst = float(np.maximum(worst, relative.max(initial=0.0)))  # unlike max, propagates NaN
    return worst


def disagreement(session: Any, module: nn.Module, sample: Tensor) -> float:
    """The `largest_difference` between onnxruntime and PyTorch on batches of one input and of all."""
    name = session.get_inputs()[0].name
    found: list[np.ndarray[Any, Any]] = []
    expected: list[Tensor] = []
    for rows in (1, len(sample)):
        found += session.run(None, {name: sample[:rows].numpy()})
        with torch.no_grad():
            expected += module(sample[:rows])
    return largest_difference(found, expected)


def changed_answers(found: np.ndarray[Any, Any], expected: np.ndarray[Any, Any]) -> int:
    """Number of rows with another likeliest class, of those where it leads the second by more than `TOLERANCE`.

    Args:
        found: computed probabilities, shape (B, C).
        expected: expected probabilities, shape (B, C).
    """
    is_clear = np.ptp(np.sort(expected, axis=1)[:, -2:], axis=1) > TOLERANCE
    return int((is_clear & (found.argmax(axis=1) != expected.argmax(axis=1))).sum())
