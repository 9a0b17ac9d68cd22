"""A finished run under a decision rule: the same model, its classes ranked anew."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import torch
from lightning_fabric import Fabric
from torch import Tensor

from hiercos.decisions import RULES, fit_temperature
from hiercos.engine.batches import LabelledVectors
from hiercos.engine.evaluate import EVALUATION_BATCH, class_scores
from hiercos.engine.folder import StoredModel, load_model, save_model
from hiercos.engine.prepare import PreparedData
from hiercos.metrics import default_suite
from hiercos.records import Record, record_file
from hiercos.taxonomy import Taxonomy


def decided_scores(fabric: Fabric, stored: StoredModel, features: Tensor) -> Tensor:
    """Scores of the classes under the model's own rule, on the CPU, shape (M, C)."""
    scores = class_scores(fabric, stored.model, features)
    batches = ruled_batches(scores, stored.rule, stored.temperature, stored.model.taxonomy)
    return torch.cat([scores[:0], *batches])


def ruled_batches(scores: Tensor, rule: str, temperature: float, taxonomy: Taxonomy) -> Iterator[Tensor]:
    """Scores under a rule, some rows at a time."""
    for batch in torch.split(scores, EVALUATION_BATCH):
        yield RULES[rule](batch, temperature, taxonomy)


def rule_record(fabric: Fabric, data: PreparedData, record: Record, folder: Path, rule: str) -> Record:
    """The record of a finished run under a rule; what an earlier call found is read, not computed again.

    The temperature is fitted on the validation split. The answer at every level is the ancestor of the class ranked
    first, so full-path accuracy equals top-1 accuracy.

    Args:
        fabric: where to run, launched.
        data: the data of the run.
        record: the run's own record.
        folder: the run's folder.
        rule: a name of `RULES`.

    Returns:
        The same record with the rule, its temperature and the metrics of the test split under it.
    """
    if rule == "none":
        return record
    if (folder / record_file(rule)).exists() and (earlier := Record.read(folder, rule)).identity == record.identity:
        return earlier
    model = load_model(folder).model
    val, test = data.vectors("val"), data.vectors("test")
    temperature = fit_temperature(class_scores(fabric, model, val.features), val.labels)
    scores = class_scores(fabric, model, test.features)
    metrics = _metrics(ruled_batches(scores, rule, temperature, data.taxonomy), test, data.taxonomy)
    ruled = replace(record, rule=rule, temperature=temperature, metrics=metrics)
    if fabric.is_global_zero:
        ruled.write(folder)
    return ruled


def _metrics(batches: Iterator[Tensor], test: LabelledVectors, taxonomy: Taxonomy) -> dict[str, float]:
    suite = default_suite(taxonomy)
    for scores, labels in zip(batches, torch.split(test.labels, EVALUATION_BATCH), strict=True):
        suite.update(scores, labels)
    return {name: float(value) for name, value in suite.compute().items()}


def adopt_rule(folder: Path, record: Record) -> None:
    """Make the rule and temperature of a record those of the model in the folder."""
    if record.temperature is not None:
        save_model(folder, replace(load_model(folder), rule=record.rule, temperature=record.temperature))
