"""The model card: description, taxonomy, usage and results of a model, and the command that trained it."""

import json
import math
import shlex
from pathlib import Path
from typing import Any

import yaml

from hiercos.data import BUILT_IN, PREFIX
from hiercos.decisions import rule_from_dict
from hiercos.encoders import ColumnEncoder, FineTunedEncoder, FrozenEncoder, JoinedEncoder
from hiercos.metrics import legend, metric_spec
from hiercos.model import TAXONOMY, WEIGHTS, Classifier
from hiercos.records import Record, variant_name
from hiercos.report import COLUMNS, markdown_table, render
from hiercos.taxonomy import TaxonomyFacts, taxonomy_facts
from hiercos.training import setting_words


def train_command(record: Record, *, taxonomy: str, weights: str | None = None) -> str | None:
    """The `hiercos train` command of a run, in one line.

    Args:
        record: record of the run.
        taxonomy: file name of the taxonomy, for data without a built-in one.
        weights: file name of the weights of a frozen backbone that cannot be loaded by name.

    Returns:
        The command, or None for one with a number for each class.
    """
    rule = record.rule if record.fitted_rule is None else rule_from_dict(record.fitted_rule).text
    config = {**record.config, "method": record.method, "rule": rule}
    if not isinstance(config.get("class_prior"), str | None):
        return None
    words = ["hiercos", "train", published_source(str(record.data["source"]))]
    words += [] if _brings_taxonomy(record) else ["--taxonomy", taxonomy]
    fine_tuned = bool(record.data.get("backbone", {}).get("fine_tuned"))
    words += setting_words(config, record.data["sizes"]["train"], trains_backbone=fine_tuned)
    words += _backbone_words(record, weights)
    return shlex.join([*words, "--out", "model"])


def published_source(source: str) -> str:
    """The source of the data without private folders: a data set's name unchanged, else only the name of the file."""
    return source if source.startswith(PREFIX) or source.partition(":")[0] in BUILT_IN else Path(source).name


def _brings_taxonomy(record: Record) -> bool:
    return str(record.data["source"]).partition(":")[0] in BUILT_IN


def _backbone_words(record: Record, weights: str | None) -> list[str]:
    """Arguments for the backbone."""
    backbone = record.data.get("backbone")
    if backbone is None:
        return []
    words = ["--backbone", "+".join([*filter(None, [backbone.get("beside")]), backbone["name"]])]
    options = {**backbone["options"], **({} if weights is None else {"weights": weights})}
    for name, value in options.items():
        words += ["--set", f"backbone.{name}={value if isinstance(value, str) else json.dumps(value)}"]
    if backbone.get("fine_tuned"):
        words += ["--unfreeze", *(["--set", "from_scratch=true"] if backbone["weights"] is None else [])]
    return words


TASKS = {"texts": "text-classification", "images": "image-classification", "vectors": "tabular-classification"}
EXTRAS = {  # prefix of a backbone's name -> extra of hiercos
    "minilm": "text",
    "transformers": "transformers",
    "sentence-transformers": "sentence-transformers",
    "timm": "timm",
    "onnx": "onnx",
}
SAMPLES = {"texts": '["a text", "another"]', "images": '["photo.jpg", "other.png"]', "vectors": "vectors"}


def model_card(stored: Classifier, record: Record | None, name: str) -> str:
    """The card of a model as Markdown with a YAML header, in the format of the Hugging Face Hub.

    Args:
        stored: model with its rule and temperature.
        record: record of the training run, for its results and settings; None if there is none.
        name: name of the repository or folder.
    """
    taxonomy, frozen = stored.model.taxonomy, _frozen(stored)
    facts = taxonomy_facts(taxonomy)
    return render(
        "card.md",
        header=yaml.safe_dump(metadata(stored, record, name), sort_keys=False, allow_unicode=True),
        title=name.rpartition("/")[2],
        stored=stored,
        kept=stored.kept,
        variant=variant_name(stored.model.method, stored.rule.name),
        taxonomy=taxonomy,
        taxonomy_file=TAXONOMY,
        facts=facts,
        levels=_levels_table(facts, record),
        requirement=_requirement(stored, name),
        quoted_name=json.dumps(name),
        sample=SAMPLES[stored.kind],
        missing_backbone=_backbone_name(stored) if frozen is not None and frozen.found_by_name else "",
        record=record,
        **(_training_values(record, frozen) if record is not None else {}),
    )


def metadata(stored: Classifier, record: Record | None, name: str) -> dict[str, Any]:
    """The metadata that the Hub indexes: library, task, tags, and the results on the test split."""
    task = TASKS[stored.kind]
    values: dict[str, Any] = {
        "library_name": "hiercos",
        "pipeline_tag": task,
        "tags": ["hiercos", "hierarchical-classification", "taxonomy", stored.model.method],
    }
    if record is not None:
        data = record.data
        dataset = {"type": published_source(str(data["source"])), "name": data["name"], "split": "test"}
        results = [{"task": {"type": task}, "dataset": dataset, "metrics": _index_metrics(record)}]
        values["model-index"] = [{"name": name.rpartition("/")[2], "results": results}]
    return values


def _index_metrics(record: Record) -> list[dict[str, Any]]:
    figures = {"accuracy": "top1", "hops": "hops", **{key: key for key in _level_keys(record)}}
    return [
        {"type": kind, "value": round(float(record.metrics[key]), 6)}
        for kind, key in figures.items()
        if not math.isnan(record.metrics[key])
    ]


def _level_keys(record: Record) -> list[str]:
    return [key for key in record.metrics if key.startswith("accuracy_level_")]


def _levels_table(facts: TaxonomyFacts, record: Record | None) -> str:
    """A table with a row for each level: number of nodes, number of classes, and accuracy."""
    rows = []
    for level, counts in enumerate(zip(facts.nodes_per_level, facts.classes_per_level, strict=True), 1):
        accuracy = [] if record is None else [_level_accuracy(record, level)]
        rows.append([str(level), *(f"{count:,}" for count in counts), *accuracy])
    heading = ["level", "nodes", "classes", *(["accuracy %"] if record else [])]
    return markdown_table(heading, rows, "r" * len(heading)).rstrip()


def _level_accuracy(record: Record, level: int) -> str:
    name = f"accuracy_level_{level}"
    return metric_spec(name).text(record.metrics[name])


def _training_values(record: Record, frozen: FrozenEncoder | None) -> dict[str, Any]:
    """The results on the test split, and the command or the settings that made the model."""
    known = [spec for spec in COLUMNS if not math.isnan(record.metrics.get(spec.name, math.nan))]
    figures = [spec.text(record.metrics[spec.name]) for spec in known]
    in_folder = frozen is not None and not frozen.found_by_name
    return {
        "results": markdown_table([spec.directed_heading for spec in known], [figures], "r" * len(known)).rstrip(),
        "legend": legend(known),
        "command": train_command(record, taxonomy=TAXONOMY, weights=WEIGHTS if in_folder else None),
        "settings": json.dumps(dict(record.config), indent=2),
    }


def _requirement(stored: Classifier, name: str) -> str:
    """The pip requirement: hiercos with the extras that this model needs."""
    backbone = _backbone_name(stored)
    needed = ["hf"] * ("/" in name) + ["images"] * (stored.kind == "images")
    needed += [extra for start, extra in EXTRAS.items() if backbone.partition(":")[0] == start]
    return f"'hiercos[{','.join(needed)}]'" if needed else "hiercos"


def _backbone_name(stored: Classifier) -> str:
    encoder = stored.encoder if isinstance(stored.encoder, FineTunedEncoder) else _frozen(stored)
    return "" if encoder is None else encoder.backbone.name


def _frozen(stored: Classifier) -> FrozenEncoder | None:
    """The encoder of a frozen backbone; None for a model without one."""
    encoder = stored.encoder.frozen if isinstance(stored.encoder, JoinedEncoder | ColumnEncoder) else stored.encoder
    return encoder if isinstance(encoder, FrozenEncoder) else None
