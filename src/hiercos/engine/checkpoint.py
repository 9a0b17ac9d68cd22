"""Checkpoints: the state of a run after an epoch in one safetensors file, written atomically and with a checksum.

The checkpoint of the epoch before is kept beside it, and is used if the last one is damaged.
"""

import hashlib
import json
import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from hiercos.errors import FaultsError, HiercosWarning
from hiercos.files import check_regular, write_atomically
from hiercos.records import CHECKPOINT, PREVIOUS_CHECKPOINT

SHA256 = "sha256"  # metadata key of the checksum


class CheckpointError(FaultsError):
    """A checkpoint that cannot be read, or belongs to another run."""


class DamagedCheckpointError(CheckpointError):
    """A checkpoint that was changed after it was written."""


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
    """Write a checkpoint atomically; the one before is kept as `PREVIOUS_CHECKPOINT` in the same folder."""
    groups = {"model": checkpoint.model, "best": checkpoint.best, "optimizer": checkpoint.optimizer}
    tensors = {
        f"{group}/{name}": tensor.detach().cpu().contiguous().clone()
        for group, members in groups.items()
        for name, tensor in members.items()
    }
    texts = {"progress": json.dumps(checkpoint.progress), "config": json.dumps(checkpoint.config, sort_keys=True)}
    content = safetensors.torch.save(tensors, metadata={**texts, SHA256: _checksum(tensors, texts)})
    if path.exists():
        check_regular(path, CheckpointError)  # a pipe would be written to, and wait for a reader
        os.replace(path, path.with_name(PREVIOUS_CHECKPOINT))
    write_atomically(path, content)


def _checksum(tensors: Mapping[str, Tensor], texts: Mapping[str, str]) -> str:
    """SHA-256 of the names, types, shapes and numbers of tensors, and of texts by name."""
    digest = hashlib.sha256(json.dumps(sorted(texts.items())).encode())
    for name in sorted(tensors):
        tensor = tensors[name]
        digest.update(json.dumps([name, str(tensor.dtype), list(tensor.shape)]).encode())
        digest.update(tensor.contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def find_checkpoint(folder: Path, config: Mapping[str, Any]) -> Checkpoint | None:
    """The last undamaged checkpoint of a run in a folder; None if there is none.

    Raises:
        CheckpointError: if all checkpoints are damaged, or they belong to a run with other settings.
    """
    faults: list[str] = []
    for path in (folder / CHECKPOINT, folder / PREVIOUS_CHECKPOINT):
        if path.is_file():
            try:
                found = read_checkpoint(path, config)
            except DamagedCheckpointError as error:
                faults += error.faults
                continue
            if faults:
                warnings.warn(f"{faults[0]}; resuming from {path.name}", HiercosWarning, stacklevel=2)
            return found
    if faults:
        raise CheckpointError(f"{fault}; remove it to train from the beginning" for fault in faults)
    return None


def remove_checkpoints(folder: Path) -> None:
    """Remove the checkpoints of a finished run."""
    for name in (CHECKPOINT, PREVIOUS_CHECKPOINT):
        (folder / name).unlink(missing_ok=True)


def read_checkpoint(path: Path, config: Mapping[str, Any]) -> Checkpoint:
    """Read the checkpoint of the run with these settings.

    Raises:
        DamagedCheckpointError: if the file is not a checkpoint, or was changed after it was written.
        CheckpointError: if it names settings that differ from these.
    """
    groups: dict[str, dict[str, Tensor]] = {"model": {}, "best": {}, "optimizer": {}}
    try:
        with safe_open(path, framework="pt") as file:
            texts = dict(file.metadata())
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118  # not a dict
        if texts.pop(SHA256) != _checksum(tensors, texts):
            raise ValueError("its checksum differs")
        for key, tensor in tensors.items():
            group, _, name = key.partition("/")
            groups[group][name] = tensor
        progress, written = json.loads(texts["progress"]), json.loads(texts["config"])
    except (SafetensorError, OSError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise DamagedCheckpointError(f"{path}: not a checkpoint of hiercos, or damaged ({error})") from error
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
