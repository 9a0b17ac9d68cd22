"""A finished run under a decision rule: the same model, its classes ranked anew."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from hiercos.decisions import RULES, fit_temperature
from hiercos.engine.evaluation import class_scores
from hiercos.engine.model_folder import StoredModel, load_model, write_config
from hiercos.engine.run import RunData
from hiercos.records import Record, record_file
from hiercos.taxonomy import Taxonomy

if TYPE_CHECKING:
    from lightning_fabric import Fabric

ROWS_AT_ONCE = 1024  # whose classes a rule ranks together


def decided_scores(scores: Tensor, stored: StoredModel) -> Tensor:
    """A model's scores of the classes under its own rule, shape (M, C)."""
    batches = ruled_batches(scores, stored.rule, stored.temperature, stored.model.taxonomy)
    return torch.cat([scores[:0], *batches])


def ruled_batches(scores: Tensor, rule: str, temperature: float, taxonomy: Taxonomy) -> Iterator[Tensor]:
    """Scores under a rule, some rows at a time."""
    for batch in torch.split(scores, ROWS_AT_ONCE):
        yield RULES[rule](batch, temperature, taxonomy)


def rule_records(
    fabric: Fabric,
    data: RunData,
    record: Record,
    folder: Path,
    rules: Sequence[str],
    *,
    temperature: float | None = None,
) -> list[Record]:
    """The records of a finished run under rules; what an earlier call found is read, not computed again.

    Under a rule the answer at every level is the ancestor of the class ranked first, so full-path accuracy equals
    top-1 accuracy.

    Args:
        fabric: where to run, launched.
        data: the data of the run.
        record: the run's own record.
        folder: the run's folder.
        rules: names of `RULES`; "none" gives the run's own record.
        temperature: of the probabilities that the rules read; fitted on the validation split by default.

    Returns:
        For each rule the record with its temperature and the metrics of the test split under it.
    """
    found = {rule: _earlier(record, folder, rule, temperature) for rule in rules}
    if missing := [rule for rule, earlier in found.items() if earlier is None]:
        model = load_model(folder).model
        val, test = data.samples("val"), data.samples("test")
        if temperature is None:
            temperature = fit_temperature(class_scores(fabric, model, val), val.labels)
        scores = class_scores(fabric, model, test)
        for rule in missing:
            metrics = _metrics(ruled_batches(scores, rule, temperature, data.taxonomy), test.labels, data.taxonomy)
            found[rule] = ruled = replace(record, rule=rule, temperature=temperature, metrics=metrics)
            if fabric.is_global_zero:
                ruled.write(folder)
    return [ruled for ruled in found.values() if ruled is not None]


def _earlier(record: Record, folder: Path, rule: str, temperature: float | None) -> Record | None:
    """The record under a rule, if an earlier call of the same run left it (at the temperature given, if any)."""
    if rule == "none":
        return record
    if not (folder / record_file(rule)).exists():
        return None
    earlier = Record.read(folder, rule)
    same = earlier.identity == record.identity and temperature in (None, earlier.temperature)
    return earlier if same else None


def _metrics(batches: Iterator[Tensor], true: Tensor, taxonomy: Taxonomy) -> dict[str, float]:
    from hiercos.metrics import default_suite

    suite = default_suite(taxonomy)
    for scores, labels in zip(batches, torch.split(true, ROWS_AT_ONCE), strict=True):
        suite.update(scores, labels)
    return {name: float(value) for name, value in suite.compute().items()}


def adopt_rule(folder: Path, record: Record) -> None:
    """Make the rule and temperature of a record those of the model in the folder."""
    write_config(folder, replace(load_model(folder), rule=record.rule, temperature=record.temperature or 1.0))
