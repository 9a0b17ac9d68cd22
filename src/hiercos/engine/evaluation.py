"""Scores and metrics of a model on samples, batch by batch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from hiercos.engine.batches import Samples
from hiercos.engine.model import Model

if TYPE_CHECKING:
    from lightning_fabric import Fabric


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
def answers(fabric: Fabric, model: Model, inputs: Any) -> Answers:
    """Scores of classes and nodes for one batch of what the model takes."""
    model.to(fabric.device).eval()
    with fabric.autocast():
        outputs = model(fabric.to_device(inputs))
    outputs = outputs.float()
    return Answers(scores=model.rule(outputs), node_scores=model.levels(outputs))


def all_answers(fabric: Fabric, model: Model, samples: Samples, rows: Tensor) -> Iterator[tuple[Tensor, Answers]]:
    """The answers for some rows, batch by batch, each with its rows."""
    parts = torch.split(rows, samples.at_once) if len(rows) else ()
    for part, inputs in zip(parts, samples.batches(parts), strict=True):
        yield part, answers(fabric, model, inputs)


def evaluate(fabric: Fabric, model: Model, data: Samples) -> dict[str, float]:
    """The default metrics of a model on data; several processes share the rows and agree on the result."""
    from hiercos.metrics import default_suite

    suite = default_suite(model.taxonomy).to(fabric.device)
    rows = torch.arange(fabric.global_rank, len(data), fabric.world_size)
    for part, answer in all_answers(fabric, model, data, rows):
        suite.update(answer.scores, data.labels[part].to(fabric.device), node_scores=answer.node_scores)
    return {name: float(value) for name, value in suite.compute().items()}


def class_scores(fabric: Fabric, model: Model, data: Samples) -> Tensor:
    """Scores of the classes for all samples, on the CPU, shape (M, C)."""
    batches = [answer.scores.cpu() for _, answer in all_answers(fabric, model, data, torch.arange(len(data)))]
    return torch.cat(batches) if batches else torch.empty(0, model.taxonomy.num_classes)
