"""The command that would make a recorded run again."""

import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hiercos.data import BUILT_IN, PREFIX
from hiercos.methods import METHODS
from hiercos.records import Record

FLAGS = {
    "epochs": "--epochs",
    "batch_size": "--batch-size",
    "optimizer": "--optimizer",
    "learning_rate": "--lr",
    "weight_decay": "--weight-decay",
    "schedule": "--schedule",
    "gradient_clip": "--gradient-clip",
    "precision": "--precision",
    "seed": "--seed",
    "backbone_learning_rate": "--backbone-lr",
}
ONLY_IN_PYTHON = {"standardize": True, "border": "reflect"}  # what `hiercos train` leaves as it is
BLOCKS = ("width", "dropout")  # options that have flags of their own


def train_command(record: Record, *, taxonomy: str, weights: str | None = None) -> str | None:
    """The `hiercos train` of a run, in one line.

    Args:
        record: of the run.
        taxonomy: the file of the taxonomy, for data that do not bring their own.
        weights: the file of the weights of a frozen backbone that no name stands for.

    Returns:
        The command, or None for settings that only Python can ask for.
    """
    config = record.config
    if any(config.get(name, usual) != usual for name, usual in ONLY_IN_PYTHON.items()):
        return None
    words = ["hiercos", "train", published_source(str(record.data["source"]))]
    words += [] if _brings_taxonomy(record) else ["--taxonomy", taxonomy]
    words += ["--method", record.method, "--rule", record.rule]
    words += _option_words(record.method, config["options"])
    for name, flag in FLAGS.items():
        if config.get(name) is not None:
            words += [flag, str(config[name])]
    words += _backbone_words(record, weights)
    return shlex.join([*words, "--out", "model"])


def published_source(source: str) -> str:
    """The source of data as others may see it: a name as it is, of a path the last part alone."""
    return source if source.startswith(PREFIX) or source.partition(":")[0] in BUILT_IN else Path(source).name


def _brings_taxonomy(record: Record) -> bool:
    return str(record.data["source"]).partition(":")[0] in BUILT_IN


def _option_words(method: str, options: Mapping[str, Any]) -> list[str]:
    """Options of the method: those of its blocks by their flags, the others by --set."""
    own = [name for name in BLOCKS if name in METHODS.options(method)]
    with_flags = [name for name in own if isinstance(options.get(name), int | float)]
    words = ["--as-published"] if with_flags != own else []
    flagged = [] if words else with_flags
    for name in flagged:
        words += [f"--{name}", str(options[name])]
    for name, value in options.items():
        if name not in flagged:
            words += ["--set", f"{name}={value if isinstance(value, str) else json.dumps(value)}"]
    return words


def _backbone_words(record: Record, weights: str | None) -> list[str]:
    """What makes the features."""
    backbone = record.data.get("backbone")
    if backbone is None:
        return ["--dim", str(record.data["features"])] if record.data.get("kind") == "texts" else []
    words = ["--backbone", backbone["name"]]
    options = {**backbone["options"], **({} if weights is None else {"weights": weights})}
    for name, value in options.items():
        words += ["--backbone-option", f"{name}={value if isinstance(value, str) else json.dumps(value)}"]
    if backbone.get("fine_tuned"):
        words += ["--unfreeze", *(["--from-scratch"] if backbone["weights"] is None else [])]
        words += ["--augment", str(record.config.get("augment", "none"))]
    return words
