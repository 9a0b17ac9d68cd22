"""Class and node scores of a model on samples or arrays, batch by batch, and their metrics."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from scipy.sparse import csr_matrix
from torch import Tensor, nn
from torch.func import functional_call

from hiercos.decisions import Posterior, Rule, log_softmax
from hiercos.engine.batches import LabelledSamples, Samples
from hiercos.engine.device import DeviceContext, available_device, in_cpu_turns
from hiercos.methods import Model
from hiercos.metric_table import AVERAGE_PRECISION
from hiercos.nn import SparseMatrix, csr_tensor
from hiercos.taxonomy import AnyArray

if TYPE_CHECKING:
    from lightning_fabric import Fabric


@dataclass(frozen=True)
class Scores:
    """Scores of one batch.

    Attributes:
        classes: class scores, shape (B, C), float32.
        nodes: node scores, comparable within a level, shape (B, N), float32.
    """

    classes: Tensor
    nodes: Tensor


@dataclass(frozen=True)
class Evaluation:
    """Class scores of all samples, and the metrics of the method's own answers.

    Attributes:
        scores: class scores, shape (M, C), on the CPU.
        metrics: values of the default suite by name, and average precision if samples have several labels.
    """

    scores: Tensor
    metrics: dict[str, float]


@torch.inference_mode()
def model_outputs(context: DeviceContext, model: Model, inputs: Any) -> Tensor:
    """Outputs of the method for one batch of model inputs, float32; the model is on the device already."""
    with context.autocast():
        outputs: Tensor = model(context.to_device(inputs))
    return outputs.float()


@torch.inference_mode()
def batch_scores(context: DeviceContext, model: Model, inputs: Any) -> Scores:
    """Scores of classes and nodes for one batch of model inputs."""
    model.to(context.device).eval()
    outputs = model_outputs(context, model, inputs)
    return Scores(model.class_scores(outputs), model.node_scores(outputs))


def class_score_batches(context: DeviceContext, model: Model, samples: Samples) -> Iterator[Tensor]:
    """Class scores of all samples in order, shape (B, C) each, on the CPU; no node score is computed."""
    parts = torch.split(torch.arange(len(samples)), samples.at_once) if len(samples) else ()
    model.to(context.device).eval()
    for inputs in samples.batches(parts):
        with torch.inference_mode():
            yield model.class_scores(model_outputs(context, model, inputs)).cpu()


@dataclass(frozen=True)
class ExplainedScores:
    """Class scores of one batch, and what explains them.

    Attributes:
        classes: class scores, shape (B, C), on the CPU.
        energies: share of the energy on the axis of each node, shape (B, N), on the CPU; None for other methods.
    """

    classes: Tensor
    energies: Tensor | None = None


def explained_batches(context: DeviceContext, model: Model, samples: Samples) -> Iterator[ExplainedScores]:
    """Class scores and energies of all samples in order."""
    parts = torch.split(torch.arange(len(samples)), samples.at_once) if len(samples) else ()
    model.to(context.device).eval()
    for inputs in samples.batches(parts):
        outputs = model_outputs(context, model, inputs)
        with torch.inference_mode():
            energies = None if model.energies is None else model.energies(outputs).cpu()
            yield ExplainedScores(model.class_scores(outputs).cpu(), energies)


def class_scores(context: DeviceContext, model: Model, samples: Samples) -> Tensor:
    """Class scores of all samples, on the CPU, shape (M, C)."""
    return torch.cat([torch.empty(0, model.taxonomy.num_classes), *class_score_batches(context, model, samples)])


def evaluate_scores(
    fabric: "Fabric", model: Model, data: LabelledSamples, *, temperature: float | None = None
) -> Evaluation:
    """Class scores and default metrics from one pass; several processes divide the rows and get the same result.

    Args:
        fabric: launched Fabric with the device and precision.
        model: model to evaluate.
        data: M labelled samples.
        temperature: temperature of the probabilities for the log loss, which is nan without one.

    Returns:
        Scores and metrics, nan without samples.
    """
    from hiercos.metrics import default_suite, suite_names
    from hiercos.metrics.functional import average_precision

    if not len(data):
        unknown = dict.fromkeys(suite_names(model.taxonomy), math.nan)
        return Evaluation(torch.zeros(0, model.taxonomy.num_classes), unknown)
    suite = default_suite(model.taxonomy).to(fabric.device)
    rows = torch.arange(fabric.global_rank, len(data), fabric.world_size)
    scores = torch.zeros(len(data), model.taxonomy.num_classes)
    nodes = None if data.label_sets is None else torch.zeros(len(data), model.taxonomy.num_nodes)
    parts = torch.split(rows, data.at_once) if len(rows) else ()
    for part, inputs in in_cpu_turns(fabric, zip(parts, data.batches(parts), strict=True)):
        found = batch_scores(fabric, model, inputs)
        suite.update(
            found.classes,
            data.labels[part].to(fabric.device),
            node_scores=found.nodes,
            log_probabilities=None if temperature is None else log_probabilities(found.classes, temperature),
        )
        scores[part] = found.classes.cpu()
        if nodes is not None:
            nodes[part] = found.nodes.cpu()
    metrics = {name: float(value) for name, value in suite.compute().items()}
    if nodes is not None and data.label_sets is not None:
        metrics[AVERAGE_PRECISION] = float(
            average_precision(_gathered(fabric, nodes), data.label_sets.cpu(), model.taxonomy)
        )
    return Evaluation(_gathered(fabric, scores), metrics)


def _gathered(fabric: "Fabric", values: Tensor) -> Tensor:
    """Values (M, K) of which every process has its own rows and zeros elsewhere, whole and on the CPU."""
    if fabric.world_size == 1:
        return values
    return torch.as_tensor(fabric.all_reduce(values.to(fabric.device), reduce_op="sum")).cpu()


def log_probabilities(scores: Tensor, temperature: float) -> Tensor:
    """`log_softmax` of the decisions for a tensor on any device, shape (B, C), float64."""
    return torch.from_numpy(log_softmax(scores.cpu().numpy(), temperature)).to(scores.device)


def ruled_tensors(rule: Rule, posterior: Posterior) -> dict[str, Any]:
    """Arguments of the metric suite for a rule: its orders of the classes, and the log-probabilities."""
    ranking, listed = rule.orders(posterior)
    arrays = {"scores": ranking, "log_probabilities": posterior.logs, **({} if listed is None else {"listed": listed})}
    return {name: torch.from_numpy(array) for name, array in arrays.items()}


def node_average_precision(context: DeviceContext, model: Model, data: LabelledSamples) -> float:
    """Average precision of the node scores of samples with one or several labels, in one process."""
    from hiercos.metrics.functional import average_precision

    parts = torch.split(torch.arange(len(data)), data.at_once)
    nodes = torch.cat([batch_scores(context, model, inputs).nodes.cpu() for inputs in data.batches(parts)])
    labels = data.labels if data.label_sets is None else data.label_sets
    return float(average_precision(nodes, labels.cpu(), model.taxonomy))


def evaluate(fabric: "Fabric", model: Model, data: LabelledSamples) -> dict[str, float]:
    """Default metrics of a model's own answers on labelled samples, by name."""
    return evaluate_scores(fabric, model, data).metrics


ARRAY_ROWS_AT_ONCE = 4096  # rows of an array scored at a time


class OutputPart(nn.Module):
    """A model with a function of its outputs, such as its class scores, as one module. Shape: (B, F) to (B, K)."""

    def __init__(self, model: Model, part: nn.Module) -> None:
        super().__init__()
        self.model, self.part = model, part

    def forward(self, inputs: Tensor) -> Tensor:
        """The function of the outputs, shape (B, K), of inputs of the model."""
        values: Tensor = self.part(self.model(inputs))
        return values


def array_scores(model: Model, vectors: AnyArray | SparseMatrix, device: str) -> Tensor:
    """Class scores of an array or a SciPy CSR matrix; the model stays unchanged on its device.

    Args:
        model: model in evaluation mode.
        vectors: vectors as the model takes them, shape (M, F) or (M, V), float32 or float64.
        device: name of the device to compute on, see `available_device`.

    Returns:
        Class scores on the CPU, shape (M, C), of the type of the vectors.
    """
    return _array_values(OutputPart(model, model.class_scores), vectors, device, model.taxonomy.num_classes)


def array_energies(model: Model, vectors: AnyArray | SparseMatrix, device: str) -> Tensor | None:
    """Shares of the energy on the axes of the nodes, shape (M, N), as `array_scores`; None for other methods."""
    if model.energies is None:
        return None
    return _array_values(OutputPart(model, model.energies), vectors, device, model.taxonomy.num_nodes)


@torch.inference_mode()
def _array_values(module: OutputPart, vectors: AnyArray | SparseMatrix, device: str, width: int) -> Tensor:
    """Values of a module for vectors (M, F), shape (M, width), on the CPU."""
    target = available_device(device)
    kind = torch.float64 if vectors.dtype == np.float64 else torch.float32
    weights = {
        name: value.to(target, kind if value.is_floating_point() else value.dtype)
        for name, value in (*module.named_parameters(), *module.named_buffers())
    }
    parts = [vectors[start : start + ARRAY_ROWS_AT_ONCE] for start in range(0, vectors.shape[0], ARRAY_ROWS_AT_ONCE)]
    found = [functional_call(module, weights, (array_inputs(module.model, part).to(target),)).cpu() for part in parts]
    return torch.cat([torch.empty(0, width, dtype=kind), *found])


def array_inputs(model: Model, vectors: AnyArray | SparseMatrix) -> Tensor:
    """Inputs of a model, dense or sparse as the model takes them, from an array or a SciPy CSR matrix."""
    if isinstance(vectors, np.ndarray):
        dense = np.ascontiguousarray(vectors)
        return torch.tensor(dense) if model.projection is None else csr_tensor(csr_matrix(dense))
    return csr_tensor(vectors) if model.takes_sparse else torch.tensor(vectors.toarray())
