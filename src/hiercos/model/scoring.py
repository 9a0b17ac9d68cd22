"""Class and node scores of a model on samples, batch by batch, and their metrics."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from scipy.sparse import csr_matrix, vstack
from torch import Tensor

from hiercos.decisions import (
    MOST_PROBABILITIES,
    ROWS_AT_ONCE,
    Likeliest,
    NodeSearch,
    Posterior,
    Rule,
    SearchedPosterior,
    Several,
    log_softmax,
)
from hiercos.encoders import DeviceContext, LabelledSamples, Samples
from hiercos.methods import Model, SparseMatrix
from hiercos.metrics import AVERAGE_PRECISION
from hiercos.model.base import ClassScores, SearchedScores
from hiercos.taxonomy import nodes_of_labels

if TYPE_CHECKING:
    from lightning_fabric import Fabric


BLOCK = 256  # vectors computed at a time
LISTED = 20  # classes of a sample that are searched for to measure a model over many
ORDERED = 2000  # samples on which the order of all of many classes is measured


@dataclass(frozen=True)
class Scores:
    """Scores of one batch, float32."""

    classes: Tensor  # class scores, shape (B, C)
    # scores whose softmax is the distribution over the classes, shape (B, C); None for the class scores
    evidence: Tensor | None = None
    nodes: Tensor | None = None  # node scores, comparable within a level, shape (B, N); None if they were not asked for
    # share of the energy on the axis of each node, shape (B, N); None if they were not asked for, and for methods
    # without them
    energies: Tensor | None = None

    def of_classes(self) -> ClassScores:
        """The scores of the classes, with the energies and the scores of the nodes, on the CPU."""
        tables = (self.evidence, self.energies, self.nodes)
        return ClassScores(
            self.classes.cpu().numpy(), *(None if each is None else each.cpu().numpy() for each in tables)
        )


@dataclass(frozen=True)
class Evaluation:
    """Class scores of all samples, and the metrics of the method's own answers."""

    scores: ClassScores  # class scores of M samples
    # values of the default suite by name, and average precision if samples have several labels
    metrics: dict[str, float]


def score_batches(
    context: DeviceContext,
    model: Model,
    samples: Samples,
    *,
    parts: Sequence[Tensor] | None = None,
    nodes: bool = False,
    energies: bool = False,
) -> Iterator[Scores]:
    """Scores of samples, batch by batch: the only loop that scores them, behind every door.

    Vectors are scored in blocks of one size, of which the last one is filled up with zeros, and in products every row
    begins at a multiple of 64 bytes (`hiercos.methods.layers.aligned`). So the scores of a row are the same to the bit
    whatever shares its batch. The inputs of a trained backbone are scored in batches as they are.

    Args:
        context: device and precision.
        model: model, which is moved to the device.
        samples: M samples.
        parts: row indices of each batch; by default all rows in order.
        nodes: whether to compute node scores.
        energies: whether to compute energies, if the method has any.
    """
    if parts is None:
        parts = torch.split(torch.arange(len(samples)), samples.at_once) if len(samples) else ()
    model.to(context.device).eval()
    for inputs in samples.batches(parts):
        blocks = [inputs] if model.backbone is not None else _blocks(inputs)
        count = None if model.backbone is not None else inputs.shape[0]
        with torch.inference_mode():
            found = [_block_scores(context, model, block, nodes=nodes, energies=energies) for block in blocks]
            classes = torch.cat([block.classes for block in found])[:count]
            others = {
                name: _joined([getattr(block, name) for block in found], count)
                for name in ("evidence", "nodes", "energies")
            }
        yield Scores(classes, **others)


def _block_scores(context: DeviceContext, model: Model, block: Any, *, nodes: bool, energies: bool) -> Scores:
    """Scores of one block of model inputs."""
    with context.autocast():
        outputs = model(context.to_device(block))
    outputs = outputs.float()
    return Scores(
        model.class_scores(outputs),
        evidence=None if model.evidence is None else model.evidence(outputs),
        nodes=model.node_scores(outputs) if nodes else None,
        energies=model.energies(outputs) if energies and model.energies is not None else None,
    )


def _joined(parts: Sequence[Tensor | None], count: int | None) -> Tensor | None:
    """The first rows of the scores of all blocks; None if they were not computed."""
    found = [part for part in parts if part is not None]
    return torch.cat(found)[:count] if found else None


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


def sample_scores(
    context: DeviceContext, model: Model, samples: Samples, *, energies: bool = False, marginals: bool = False
) -> ClassScores:
    """Scores of the classes of all samples, on request with the energies, and with the scores of the nodes.

    See `score_batches`. Where the classes are many, the features of the samples are kept instead, and the likeliest
    classes searched for.
    """
    if model.searches:
        return SearchedScores.of(_search(model, samples))
    found = [
        scores.of_classes() for scores in score_batches(context, model, samples, nodes=marginals, energies=energies)
    ]
    empty = np.empty((0, model.taxonomy.num_classes), np.float32)
    return ClassScores.joined(found) if found else ClassScores(empty, None if model.evidence is None else empty)


def _search(model: Model, samples: Samples) -> NodeSearch:
    """A search for the nodes of samples."""
    assert model.search is not None
    parts = torch.split(torch.arange(len(samples)), samples.at_once) if len(samples) else ()
    features = [model.features(batch) for batch in samples.batches(parts)]
    found = stacked_features(features or [torch.empty(0, model.in_features)])
    search: NodeSearch = model.search(found.cpu().numpy() if isinstance(found, Tensor) else found)
    return search


def class_scores(context: DeviceContext, model: Model, samples: Samples) -> Tensor:
    """The class scores alone, shape (M, C)."""
    return torch.from_numpy(sample_scores(context, model, samples).classes)


def node_scores(context: DeviceContext, model: Model, samples: Samples) -> Tensor:
    """Node scores of all samples, on the CPU, shape (M, N)."""
    found = [stated(scores.nodes).cpu() for scores in score_batches(context, model, samples, nodes=True)]
    return torch.cat([torch.empty(0, model.taxonomy.num_nodes), *found])


def stated(scores: Tensor | None) -> Tensor:
    """Scores that were asked for."""
    assert scores is not None
    return scores


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

    if model.searches and len(data):
        return _searched_evaluation(model, sample_scores(fabric, model, data), data.labels.cpu())
    if not len(data):
        unknown = dict.fromkeys(suite_names(model.taxonomy), math.nan)
        return Evaluation(sample_scores(fabric, model, data), unknown)
    suite = default_suite(model.taxonomy).to(fabric.device)
    rows = torch.arange(fabric.global_rank, len(data), fabric.world_size)
    tables = [torch.zeros(len(data), model.taxonomy.num_classes) for _ in range(1 if model.evidence is None else 2)]
    nodes = None if data.label_sets is None else torch.zeros(len(data), model.taxonomy.num_nodes)
    parts = torch.split(rows, data.at_once) if len(rows) else ()
    for part, found in zip(parts, score_batches(fabric, model, data, parts=parts, nodes=True), strict=True):
        values = [found.classes] if found.evidence is None else [found.classes, found.evidence]
        suite.update(
            found.classes,
            data.labels[part].to(fabric.device),
            node_scores=found.nodes,
            log_probabilities=None if temperature is None else log_probabilities(values[-1], temperature),
        )
        for table, own in zip(tables, values, strict=True):
            table[part] = own.cpu()
        if nodes is not None:
            nodes[part] = stated(found.nodes).cpu()
    metrics = {name: float(value) for name, value in suite.compute().items()}
    scores = ClassScores(*(_gathered(fabric, table).numpy() for table in tables))
    if nodes is not None and data.label_sets is not None:
        scores = replace(scores, marginals=_gathered(fabric, nodes).numpy())
        metrics |= set_metrics(Likeliest(), scores.posterior(model.taxonomy, temperature or 1.0), data.label_sets)
    return Evaluation(scores, metrics)


def _searched_evaluation(model: Model, scores: ClassScores, labels: Tensor) -> Evaluation:
    from hiercos.metrics import SuiteSums

    posterior = scores.posterior(model.taxonomy, 1.0)
    assert isinstance(posterior, SearchedPosterior)
    sums = SuiteSums.of(searched_values(posterior, labels), labels, model.taxonomy)
    return Evaluation(scores, {name: float(value) for name, value in sums.means(model.taxonomy).items()})


def searched_values(posterior: SearchedPosterior, labels: Tensor) -> Tensor:
    """The suite's values of samples whose likeliest classes are searched for, shape (M, K), by probability.

    Metrics of at most `LISTED` classes are measured on all samples, those of the order of all classes on `ORDERED`
    samples in even distances, and are nan for the others.
    """
    from hiercos.metrics import listed_values, suite_names, suite_values

    taxonomy, nodes = posterior.taxonomy, nodes_of_labels(labels.numpy(), posterior.taxonomy)
    parts = [torch.empty(0, len(suite_names(taxonomy)), dtype=torch.float64)]
    for start in range(0, len(labels), ROWS_AT_ONCE):
        own = slice(start, start + ROWS_AT_ONCE)
        batch = posterior.rows(own)
        with np.errstate(divide="ignore"):
            losses = torch.from_numpy(-np.log(batch.of_nodes(nodes[own])))
        losses[nodes[own] < 0] = torch.nan
        classes, logs = map(torch.from_numpy, batch.best(min(LISTED, taxonomy.num_classes)))
        parts.append(listed_values(classes, logs, labels[own], taxonomy, losses))
    values = torch.cat(parts)
    rows = np.unique(np.linspace(0, len(labels) - 1, min(ORDERED, len(labels))).astype(np.int64))
    unknown = values[rows].isnan().all(dim=0)
    for part in np.array_split(rows, -(-len(rows) * taxonomy.num_classes // MOST_PROBABILITIES)):
        batch = posterior.rows(part)
        found = suite_values(torch.from_numpy(batch.classes), labels[part], taxonomy)
        values[part[:, None], unknown.nonzero()[:, 0][None]] = found[:, unknown]
    return values


def stacked_features(parts: Sequence[Tensor | SparseMatrix]) -> Tensor | SparseMatrix:
    """Features of several parts one after the other; sparse CSR tensors and matrices become one SciPy matrix."""
    dense = [part for part in parts if isinstance(part, Tensor) and part.layout is torch.strided]
    if len(dense) == len(parts):
        return torch.cat(dense)
    return csr_matrix(vstack([scipy_matrix(part) if isinstance(part, Tensor) else part for part in parts]))


def scipy_matrix(tensor: Tensor) -> SparseMatrix:
    """A sparse CSR tensor as a SciPy matrix of the same shape."""
    values, columns, starts = (part.numpy() for part in (tensor.values(), tensor.col_indices(), tensor.crow_indices()))
    return csr_matrix((values, columns, starts), shape=tuple(tensor.shape))


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


def set_metrics(rule: Rule, posterior: Posterior, sets: Tensor) -> dict[str, float]:
    """Metrics for several labels of M samples, shape (M, K): average precision, and agreement with a rule's sets."""
    from hiercos.metrics.functional import average_precision, set_agreement

    taxonomy, sets = posterior.taxonomy, sets.cpu()
    found = {AVERAGE_PRECISION: float(average_precision(torch.from_numpy(posterior.each_node), sets, taxonomy))}
    if isinstance(rule, Several):
        found |= set_agreement(torch.from_numpy(rule.chosen(posterior)), sets, taxonomy)
    return found


def evaluate(fabric: "Fabric", model: Model, data: LabelledSamples) -> dict[str, float]:
    """Default metrics of a model's own answers on labelled samples, by name."""
    return evaluate_scores(fabric, model, data).metrics
