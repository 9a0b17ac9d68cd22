"""The model card: what a model answers, how well at every level, over which tree, and the command that made it."""

import json
import math
from collections.abc import Sequence
from typing import Any

import yaml

from hiercos.engine import BACKBONE_WEIGHTS, TAXONOMY, FineTunedEncoder, FrozenEncoder, StoredModel
from hiercos.hub.commands import published_source, train_command
from hiercos.records import Record, line_name
from hiercos.report import COLUMNS
from hiercos.taxonomy import Taxonomy, taxonomy_facts

TASKS = {"texts": "text-classification", "images": "image-classification", "vectors": "tabular-classification"}
OWN_LEVELS = (
    "The accuracy of a level is that of the level's own best node. The path of the best class, which is the answer, "
    "can differ from it."
)
MEANINGS = (
    "MS, mistake severity: the mean tree distance of the wrong answers alone. AHD@k, average hierarchical distance: "
    "that of the first k answers, right ones included. Lower is better for both. HOPS: how close the order of the "
    "classes is to the one that the tree prefers, from 0 to 1; HOPS@k, of its first k. FPA, full-path accuracy: the "
    "share of samples whose answers are right at every level."
)
ORDER = (
    "Classes are ordered, and the best one chosen, by the decision rule `{rule}`, which reads the tree, too: `score` "
    "is what it ranks by, `probability` the chance of the class, and the likeliest class need not come first."
)
EXTRAS = {  # of hiercos, by what the name of a backbone begins with
    "minilm": "text",
    "transformers": "transformers",
    "sentence-transformers": "sentence-transformers",
    "timm": "timm",
    "onnx": "onnx",
}
SAMPLES = {"texts": '["a text", "another"]', "images": '["photo.jpg", "other.png"]', "vectors": "vectors"}


def model_card(stored: StoredModel, record: Record | None, name: str) -> str:
    """The card of a model as Markdown with a YAML header, as the Hugging Face Hub reads it.

    Args:
        stored: the model.
        record: of the run that made it, for its figures and settings; None where there is none.
        name: of the repository or folder.
    """
    header = yaml.safe_dump(metadata(stored, record, name), sort_keys=False, allow_unicode=True)
    parts = [f"---\n{header}---", f"# {name.rpartition('/')[2]}", _opening(stored)]
    parts += ["## Taxonomy", _taxonomy_section(stored.model.taxonomy, record)]
    parts += ["## Use", _use_section(stored, name)]
    if record is not None:
        parts += ["## Results", _results_section(record), "## How it was made", _making_section(stored, record)]
    return "\n\n".join(parts) + "\n"


def metadata(stored: StoredModel, record: Record | None, name: str) -> dict[str, Any]:
    """What the Hub searches by: library, task, tags, and the figures of the test split."""
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


def _opening(stored: StoredModel) -> str:
    taxonomy, line = stored.model.taxonomy, line_name(stored.model.method, stored.rule.name)
    return (
        f"A classifier of {stored.kind} over a taxonomy, trained with hiercos (`{line}`). It names one of "
        f"{taxonomy.num_classes:,} classes together with its ancestors: the answers at all {taxonomy.height} levels "
        "always form a path of the tree."
    )


def _taxonomy_section(taxonomy: Taxonomy, record: Record | None) -> str:
    """A row for each level: its nodes, the classes that end there, and how often its answers are right."""
    facts = taxonomy_facts(taxonomy)
    heading = ("level", "nodes", "classes", *(("accuracy %",) if record else ()))
    rows = []
    for level, counts in enumerate(zip(facts.nodes_per_level, facts.classes_per_level, strict=True), 1):
        accuracy = [] if record is None else [_figure(record.metrics[f"accuracy_level_{level}"], 100, 2)]
        rows.append([str(level), *(f"{count:,}" for count in counts), *accuracy])
    shape = (
        f"{taxonomy.num_nodes:,} nodes on {taxonomy.height} levels, {taxonomy.num_classes:,} of them classes; the root "
        f"and inner nodes have {facts.fewest_children:,} to {facts.most_children:,} children. See `{TAXONOMY}`."
    )
    note = f"\n\n{OWN_LEVELS}" if record is not None and record.rule == "none" else ""
    return f"{shape}\n\n{_table(heading, rows)}{note}"


def _use_section(stored: StoredModel, name: str) -> str:
    lines = (
        "```sh",
        f"pip install {_requirement(stored, name)}",
        "```",
        "",
        "```python",
        "from hiercos.hub import load_pipeline",
        "",
        f"pipeline = load_pipeline({json.dumps(name)})",
        f"pipeline({SAMPLES[stored.kind]})  # of each: label, path, score, probability; top_k=5 for more",
        "```",
    )
    order = "" if stored.rule.name == "none" else f" {ORDER.format(rule=stored.rule.name)}"
    return "\n".join(lines) + f"\n\nThe name is that of the repository or folder.{order}{_backbone_note(stored)}"


def _requirement(stored: StoredModel, name: str) -> str:
    """What pip is asked for: hiercos with the extras that this model needs."""
    backbone = _backbone_name(stored)
    needed = ["hf"] * ("/" in name) + ["images"] * (stored.kind == "images")
    needed += [extra for start, extra in EXTRAS.items() if backbone.partition(":")[0] == start]
    return f"'hiercos[{','.join(needed)}]'" if needed else "hiercos"


def _backbone_name(stored: StoredModel) -> str:
    return stored.encoder.backbone.name if isinstance(stored.encoder, FrozenEncoder | FineTunedEncoder) else ""


def _backbone_note(stored: StoredModel) -> str:
    """What must be found elsewhere, for a model that does not bring its backbone along."""
    if not isinstance(stored.encoder, FrozenEncoder) or not stored.encoder.found_by_name:
        return ""
    return f" The frozen backbone `{_backbone_name(stored)}` is not among the files: it is found by its name."


def _results_section(record: Record) -> str:
    """The figures of the test split."""
    columns = [column for column in COLUMNS if column.key in record.metrics]
    figures = [_figure(record.metrics[column.key], column.scale, column.digits) for column in columns]
    sizes = record.data["sizes"]
    said = f"On the {sizes['test']:,} test samples of {record.data['name']} ({sizes['train']:,} were trained on):"
    return f"{said}\n\n{_table([column.heading for column in columns], [figures])}\n\n{MEANINGS}"


def _making_section(stored: StoredModel, record: Record) -> str:
    in_folder = isinstance(stored.encoder, FrozenEncoder) and not stored.encoder.found_by_name
    command = train_command(record, taxonomy=TAXONOMY, weights=BACKBONE_WEIGHTS if in_folder else None)
    versions = ", ".join(f"{package} {version}" for package, version in record.versions.items())
    if command is None:
        settings = json.dumps(dict(record.config), indent=2)
        return f"From Python, with these settings and {versions}:\n\n```json\n{settings}\n```"
    return f"With {versions}; names of columns and `--root` are not on record:\n\n```sh\n{command}\n```"


def _figure(value: float, scale: float, digits: int) -> str:
    return "–" if math.isnan(value) else f"{value * scale:.{digits}f}"


def _table(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heading, ["---"] * len(heading), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
