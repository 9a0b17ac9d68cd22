"""The model card: description, taxonomy, usage and results of a model, and the command that trained it."""

import json
import math
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from hiercos.data import BUILT_IN, PREFIX
from hiercos.engine import BACKBONE_WEIGHTS, TAXONOMY, FineTunedEncoder, FrozenEncoder, JoinedEncoder, StoredModel
from hiercos.methods import METHODS
from hiercos.metric_table import legend, metric_spec
from hiercos.records import Record, variant_name
from hiercos.report import COLUMNS
from hiercos.taxonomy import Taxonomy, taxonomy_facts

FLAGS = {
    "patience": "--patience",
    "batch_size": "--batch-size",
    "optimizer": "--optimizer",
    "learning_rate": "--lr",
    "weight_decay": "--weight-decay",
    "schedule": "--schedule",
    "gradient_clip": "--gradient-clip",
    "precision": "--precision",
    "seed": "--seed",
    "backbone_learning_rate": "--backbone-lr",
    "class_prior": "--class-prior",
}
ONLY_IN_PYTHON = {"standardize": True, "border": "reflect"}  # settings without an option of `hiercos train`
BLOCKS = ("width", "dropout")  # method options with their own command-line options


def train_command(record: Record, *, taxonomy: str, weights: str | None = None) -> str | None:
    """The `hiercos train` command of a run, in one line.

    Args:
        record: record of the run.
        taxonomy: file name of the taxonomy, for data without a built-in one.
        weights: file name of the weights of a frozen backbone that cannot be loaded by name.

    Returns:
        The command, or None for settings that can be set only in Python or by a file that the record does not name.
    """
    config = record.config
    if any(config.get(name, usual) != usual for name, usual in ONLY_IN_PYTHON.items()):
        return None
    if not isinstance(config.get("class_prior"), str | None):
        return None  # its file is not known
    words = ["hiercos", "train", published_source(str(record.data["source"]))]
    words += [] if _brings_taxonomy(record) else ["--taxonomy", taxonomy]
    words += ["--method", record.method, "--rule", record.rule]
    words += _option_words(record.method, config["options"])
    length = "--epochs" if config.get("patience") is None else "--max-epochs"
    for name, flag in {"epochs": length, **FLAGS}.items():
        if config.get(name) is not None:
            words += [flag, str(config[name])]
    words += _backbone_words(record, weights)
    return shlex.join([*words, "--out", "model"])


def published_source(source: str) -> str:
    """The source of the data without private folders: a data set's name unchanged, else only the name of the file."""
    return source if source.startswith(PREFIX) or source.partition(":")[0] in BUILT_IN else Path(source).name


def _brings_taxonomy(record: Record) -> bool:
    return str(record.data["source"]).partition(":")[0] in BUILT_IN


def _option_words(method: str, options: Mapping[str, Any]) -> list[str]:
    """Arguments for the method's options: --width and --dropout, and --set for all others."""
    own = [name for name in BLOCKS if name in METHODS.options(method)]
    with_flags = [name for name in own if isinstance(options.get(name), int | float)]
    words = ["--as-published"] if with_flags != own else []
    flagged = [] if words else with_flags
    for name in flagged:
        words += [f"--{name}", str(options[name])]
    usual = METHODS.options(method)
    recommended = {} if "--as-published" in words else {name: usual[name] for name in METHODS.recommended(method)}
    for name, value in {**recommended, **options}.items():
        if name not in flagged:
            words += ["--set", f"{name}={value if isinstance(value, str) else json.dumps(value)}"]
    return words


def _backbone_words(record: Record, weights: str | None) -> list[str]:
    """Arguments for the backbone or the text features."""
    backbone = record.data.get("backbone")
    if backbone is None:
        return ["--dim", str(record.data["features"])] if record.data.get("kind") == "texts" else []
    words = ["--backbone", "+".join([*filter(None, [backbone.get("beside")]), backbone["name"]])]
    options = {**backbone["options"], **({} if weights is None else {"weights": weights})}
    for name, value in options.items():
        words += ["--backbone-option", f"{name}={value if isinstance(value, str) else json.dumps(value)}"]
    if backbone.get("fine_tuned"):
        words += ["--unfreeze", *(["--from-scratch"] if backbone["weights"] is None else [])]
        words += ["--augment", str(record.config.get("augment", "none"))]
    return words


TASKS = {"texts": "text-classification", "images": "image-classification", "vectors": "tabular-classification"}
OWN_LEVELS = (
    "The accuracy of a level is that of the level's own best node. The path of the best class, which is the answer, "
    "can differ from it."
)
ORDER = (
    "Classes are ordered, and the best one chosen, by the decision rule `{rule}`, which reads the tree, too: `score` "
    "is what it ranks by, `probability` the chance of the class, and the likeliest class need not come first."
)
EXTRAS = {  # prefix of a backbone's name -> extra of hiercos
    "minilm": "text",
    "transformers": "transformers",
    "sentence-transformers": "sentence-transformers",
    "timm": "timm",
    "onnx": "onnx",
}
SAMPLES = {"texts": '["a text", "another"]', "images": '["photo.jpg", "other.png"]', "vectors": "vectors"}


def model_card(stored: StoredModel, record: Record | None, name: str) -> str:
    """The card of a model as Markdown with a YAML header, in the format of the Hugging Face Hub.

    Args:
        stored: model with its rule and temperature.
        record: record of the training run, for its results and settings; None if there is none.
        name: name of the repository or folder.
    """
    header = yaml.safe_dump(metadata(stored, record, name), sort_keys=False, allow_unicode=True)
    parts = [f"---\n{header}---", f"# {name.rpartition('/')[2]}", _opening(stored)]
    parts += ["## Taxonomy", _taxonomy_section(stored.model.taxonomy, record)]
    parts += ["## Use", _use_section(stored, name)]
    if record is not None:
        parts += ["## Results", _results_section(record), "## How it was made", _making_section(stored, record)]
    return "\n\n".join(parts) + "\n"


def metadata(stored: StoredModel, record: Record | None, name: str) -> dict[str, Any]:
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


def _opening(stored: StoredModel) -> str:
    taxonomy, variant = stored.model.taxonomy, variant_name(stored.model.method, stored.rule.name)
    return (
        f"A classifier of {stored.kind} over a taxonomy, trained with hiercos (`{variant}`). It names one of "
        f"{taxonomy.num_classes:,} classes together with its ancestors: the answers at all {taxonomy.height} levels "
        "always form a path of the tree."
    )


def _taxonomy_section(taxonomy: Taxonomy, record: Record | None) -> str:
    """A table with a row for each level: number of nodes, number of classes, and accuracy."""
    facts = taxonomy_facts(taxonomy)
    heading = ("level", "nodes", "classes", *(("accuracy %",) if record else ()))
    rows = []
    for level, counts in enumerate(zip(facts.nodes_per_level, facts.classes_per_level, strict=True), 1):
        accuracy = [] if record is None else [_level_accuracy(record, level)]
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
    """The pip requirement: hiercos with the extras that this model needs."""
    backbone = _backbone_name(stored)
    needed = ["hf"] * ("/" in name) + ["images"] * (stored.kind == "images")
    needed += [extra for start, extra in EXTRAS.items() if backbone.partition(":")[0] == start]
    return f"'hiercos[{','.join(needed)}]'" if needed else "hiercos"


def _backbone_name(stored: StoredModel) -> str:
    encoder = stored.encoder if isinstance(stored.encoder, FineTunedEncoder) else _frozen(stored)
    return "" if encoder is None else encoder.backbone.name


def _frozen(stored: StoredModel) -> FrozenEncoder | None:
    """The encoder of a frozen backbone; None for a model without one."""
    encoder = stored.encoder.frozen if isinstance(stored.encoder, JoinedEncoder) else stored.encoder
    return encoder if isinstance(encoder, FrozenEncoder) else None


def _backbone_note(stored: StoredModel) -> str:
    """A note on the backbone, for a model that does not include it."""
    frozen = _frozen(stored)
    if frozen is None or not frozen.found_by_name:
        return ""
    return f" The frozen backbone `{_backbone_name(stored)}` is not among the files: it is loaded by its name."


def _results_section(record: Record) -> str:
    """The results on the test split."""
    known = [spec for spec in COLUMNS if not math.isnan(record.metrics.get(spec.name, math.nan))]
    figures = [spec.text(record.metrics[spec.name]) for spec in known]
    sizes = record.data["sizes"]
    said = f"On the {sizes['test']:,} test samples of {record.data['name']} ({sizes['train']:,} were trained on):"
    return f"{said}\n\n{_table([spec.directed_heading for spec in known], [figures])}\n\n{legend(known)}"


def _making_section(stored: StoredModel, record: Record) -> str:
    frozen = _frozen(stored)
    in_folder = frozen is not None and not frozen.found_by_name
    command = train_command(record, taxonomy=TAXONOMY, weights=BACKBONE_WEIGHTS if in_folder else None)
    versions = ", ".join(f"{package} {version}" for package, version in record.versions.items())
    if command is None:
        settings = json.dumps(dict(record.config), indent=2)
        return f"From Python, with these settings and {versions}:\n\n```json\n{settings}\n```"
    return f"With {versions}; names of columns and `--root` are not recorded:\n\n```sh\n{command}\n```"


def _level_accuracy(record: Record, level: int) -> str:
    name = f"accuracy_level_{level}"
    return metric_spec(name).text(record.metrics[name])


def _table(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heading, ["---"] * len(heading), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
