"""Class and node scores of a model on samples, batch by batch, and their metrics."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from hiercos.decisions import Posterior, Rule, log_softmax
from hiercos.encoders import DeviceContext, LabelledSamples, Samples
from hiercos.methods import Model
from hiercos.metrics import AVERAGE_PRECISION

if TYPE_CHECKING:
    from lightning_fabric import Fabric


BLOCK = 256  # vectors computed at a time


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
    """Outputs of the method for one batch of model inputs, float32; the model is on the device already.

    Vectors are computed in blocks of one size, of which the last one is filled up with zeros. So the outputs of a row
    are the same to the bit whatever shares its batch.
    """
    blocks = [inputs] if model.backbone is not None else _blocks(inputs)
    with context.autocast():
        outputs = torch.cat([model(context.to_device(block)) for block in blocks])
    return (outputs if model.backbone is not None else outputs[: inputs.shape[0]]).float()


def _blocks(vectors: Tensor) -> list[Tensor]:
    """Vectors (B, F), dense or sparse CSR, in blocks of BLOCK rows, the last one filled up with zeros."""
    missing = -len(vectors) % BLOCK
    if vectors.layout is torch.strided:
        filled = torch.cat([vectors, vectors.new_zeros(missing, vectors.shape[1])]) if missing else vectors
        return list(torch.split(filled, BLOCK))
    starts, columns, values = vectors.crow_indices(), vectors.col_indices(), vectors.values()
    starts = torch.cat([starts, starts[-1:].expand(missing)])
    found = []
    for first in range(0, len(vectors), BLOCK):
        own = starts[first : first + BLOCK + 1]
        part = slice(int(own[0]), int(own[-1]))
        shape = (BLOCK, vectors.shape[1])
        found.append(torch.sparse_csr_tensor(own - own[0], columns[part], values[part], shape, check_invariants=False))
    return found


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
    for part, inputs in zip(parts, data.batches(parts), strict=True):
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
