"""Scores and metrics of a model on labelled vectors, batch by batch."""

from dataclasses import dataclass

import torch
from lightning_fabric import Fabric
from torch import Tensor

from hiercos.engine.batches import LabelledVectors
from hiercos.engine.model import Model
from hiercos.metrics import default_suite

EVALUATION_BATCH = 1024


@dataclass(frozen=True)
class Answers:
    """What a model says of a batch.

    Attributes:
        scores: of the classes, shape (B, C), float32.
        node_scores: of the nodes, comparable within a level, shape (B, N), float32.
    """

    scores: Tensor
    node_scores: Tensor


@torch.inference_mode()
def answers(fabric: Fabric, model: Model, features: Tensor) -> Answers:
    """Scores of classes and nodes for one batch of features, shape (B, F)."""
    model.to(fabric.device).eval()
    with fabric.autocast():
        outputs = model(features.to(fabric.device))
    outputs = outputs.float()
    return Answers(scores=model.rule(outputs), node_scores=model.levels(outputs))


def evaluate(fabric: Fabric, model: Model, data: LabelledVectors) -> dict[str, float]:
    """The default metrics of a model on data; several processes share the rows and agree on the result."""
    suite = default_suite(model.taxonomy).to(fabric.device)
    rows = torch.arange(fabric.global_rank, len(data), fabric.world_size)
    for batch in torch.split(rows, EVALUATION_BATCH):
        answer = answers(fabric, model, data.features[batch])
        suite.update(answer.scores, data.labels[batch].to(fabric.device), node_scores=answer.node_scores)
    return {name: float(value) for name, value in suite.compute().items()}


def class_scores(fabric: Fabric, model: Model, features: Tensor, *, batch_size: int = EVALUATION_BATCH) -> Tensor:
    """Scores of the classes for all rows, on the CPU, shape (M, C)."""
    batches = [answers(fabric, model, batch).scores.cpu() for batch in torch.split(features, batch_size)]
    return torch.cat(batches) if batches else torch.empty(0, model.taxonomy.num_classes)
