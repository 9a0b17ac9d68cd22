"""A small memory of training samples, as features, kept in a model folder for later training."""

from dataclasses import dataclass

import numpy as np
import safetensors.numpy
import torch
from torch import Tensor

from hiercos.manifest import Manifest, Write

MEMORY = "memory.safetensors"


@dataclass(frozen=True)
class Memory:
    """Features of old training samples.

    Attributes:
        features: feature vectors, shape (M, F), float32.
        labels: label of each sample, a class index or C + node, shape (M,), int64.
    """

    features: Tensor
    labels: Tensor

    @classmethod
    def choose(cls, features: Tensor, labels: Tensor, per_class: int, *, seed: int = 0) -> "Memory":
        """At most `per_class` samples of each label, drawn at random.

        Args:
            features: feature vectors, shape (M, F).
            labels: labels of the samples, shape (M,).
            per_class: largest number of samples of a label.
            seed: seed of the draw.
        """
        values = labels.numpy()
        order = np.lexsort((np.random.default_rng(seed).random(len(values)), values))  # by label, shuffled within each
        starts = np.searchsorted(values[order], values[order])
        chosen = torch.from_numpy(np.sort(order[np.arange(len(order)) - starts < per_class]))
        return cls(features[chosen].clone(), labels[chosen].clone())

    def __len__(self) -> int:
        return len(self.labels)


def save_memory(write: Write, memory: Memory | None) -> None:
    """Write the memory of a model folder; a folder without one lists no such file."""
    if memory is not None and len(memory):
        arrays = {"features": memory.features.numpy(), "labels": memory.labels.numpy()}
        write(MEMORY, safetensors.numpy.save(arrays))


def load_memory(files: Manifest) -> Memory | None:
    """Read the memory of a model folder; None without one."""
    if MEMORY not in files:
        return None
    arrays = safetensors.numpy.load(files.content(MEMORY))
    return Memory(*(torch.from_numpy(arrays[name]) for name in ("features", "labels")))
