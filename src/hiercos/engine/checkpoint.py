"""Checkpoints: the state of a run after an epoch in one safetensors file, written atomically."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from hiercos.errors import FaultsError
from hiercos.files import write_atomically

CHECKPOINT = "checkpoint.safetensors"


class CheckpointError(FaultsError):
    """A checkpoint that cannot be read, or belongs to another run."""


@dataclass(frozen=True)
class Checkpoint:
    """State that a run resumes from after an epoch. The random state is a function of seed and epoch.

    Attributes:
        model: weights after the last epoch.
        best: weights of the best epoch so far.
        optimizer: tensors of the optimiser, as `optimizer_tensors` names them.
        progress: finished epochs, their history and the time spent, as JSON values.
        config: settings, data and taxonomy of the run, as JSON values.
    """

    model: Mapping[str, Tensor]
    best: Mapping[str, Tensor]
    optimizer: Mapping[str, Tensor]
    progress: Mapping[str, Any]
    config: Mapping[str, Any]


def write_checkpoint(path: Path, checkpoint: Checkpoint) -> None:
    """Write a checkpoint atomically."""
    groups = {"model": checkpoint.model, "best": checkpoint.best, "optimizer": checkpoint.optimizer}
    tensors = {
        f"{group}/{name}": tensor.detach().cpu().contiguous().clone()
        for group, members in groups.items()
        for name, tensor in members.items()
    }
    texts = {"progress": json.dumps(checkpoint.progress), "config": json.dumps(checkpoint.config, sort_keys=True)}
    write_atomically(path, safetensors.torch.save(tensors, metadata=texts))


def read_checkpoint(path: Path, config: Mapping[str, Any]) -> Checkpoint:
    """Read the checkpoint of the run with these settings.

    Raises:
        CheckpointError: if the file is damaged, or names settings that differ from these.
    """
    groups: dict[str, dict[str, Tensor]] = {"model": {}, "best": {}, "optimizer": {}}
    try:
        with safe_open(path, framework="pt") as file:
            texts = file.metadata()
            for key in file.keys():  # noqa: SIM118  # not a dict
                group, _, name = key.partition("/")
                groups[group][name] = file.get_tensor(key)
        progress, written = json.loads(texts["progress"]), json.loads(texts["config"])
    except (SafetensorError, KeyError, TypeError, ValueError) as error:
        raise CheckpointError(f"{path}: not a checkpoint of hiercos ({error})") from error
    expected = json.loads(json.dumps(config))
    changed = sorted(key for key in {*written, *expected} if written.get(key) != expected.get(key))
    if changed:
        values = ", ".join(
            key if key in ("data", "taxonomy") else f"{key} was {written.get(key)!r}, now {expected.get(key)!r}"
            for key in changed
        )
        raise CheckpointError(f"{path}: cannot resume, the settings differ: {values}")
    return Checkpoint(**groups, progress=progress, config=written)


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """State of an optimiser as named tensors, without its learning rates and options."""
    return {
        f"{parameter}/{name}": torch.as_tensor(value)
        for parameter, state in optimizer.state_dict()["state"].items()
        for name, value in state.items()
        if value is not None
    }


def restore_optimizer(optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor]) -> None:
    """Restore the state of an optimiser from `optimizer_tensors`."""
    state: dict[int, dict[str, Tensor]] = {}
    for key, tensor in tensors.items():
        parameter, _, name = key.partition("/")
        state.setdefault(int(parameter), {})[name] = tensor
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
