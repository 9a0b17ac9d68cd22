"""The answers of a model folder or of an exported model as `hiercos predict` writes them, a dict for each row."""

from collections.abc import Iterable
from typing import Any

from lightning_fabric import Fabric

from hiercos.data import InputBatch, Source
from hiercos.decisions import Posterior, Rule
from hiercos.encoders import ReadConfig
from hiercos.model import Classifier, answer_columns
from hiercos.onnx import InferenceConfig, OnnxModel


def stored_rows(stored: Classifier, inputs: Source, fabric: Fabric, top: int | None = None) -> list[dict[str, Any]]:
    return _rows(stored.batches(inputs, ReadConfig(fabric)), stored.rule, top)


def exported_rows(
    model: OnnxModel, inputs: Source, config: InferenceConfig | None = None, top: int | None = None
) -> list[dict[str, Any]]:
    return _rows(model.batches(inputs, config), model.rule, top)


def _rows(batches: Iterable[tuple[InputBatch, Posterior]], rule: Rule, top: int | None) -> list[dict[str, Any]]:
    tables = [answer_columns(batch, posterior, rule, top=top) for batch, posterior in batches]
    return [dict(zip(table, row, strict=True)) for table in tables for row in zip(*table.values(), strict=True)]
