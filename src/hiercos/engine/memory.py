"""A small memory of training samples, as features, kept in a model folder for later training."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import safetensors.numpy
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from torch import Tensor

from hiercos.manifest import Manifest, Write
from hiercos.nn import SparseMatrix

MEMORY = "memory.safetensors"
SPARSE_PARTS = ("values", "columns", "starts")  # of a SciPy CSR matrix


@dataclass(frozen=True)
class Memory:
    """Features of old training samples.

    Attributes:
        features: feature vectors, shape (M, F), float32: a dense tensor, or a SciPy CSR matrix.
        labels: label of each sample, a class index or C + node, shape (M,), int64.
    """

    features: Tensor | SparseMatrix
    labels: Tensor

    @classmethod
    def choose(cls, features: Tensor | SparseMatrix, labels: Tensor, per_class: int, *, seed: int = 0) -> "Memory":
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
        chosen = np.sort(order[np.arange(len(order)) - starts < per_class])
        return cls(features[chosen], labels[chosen])

    def rows(self, chosen: Tensor) -> "Memory":
        """The samples of a mask of shape (M,)."""
        rows = chosen.nonzero().flatten().numpy()
        return Memory(self.features[rows], self.labels[rows])

    def __len__(self) -> int:
        return len(self.labels)


def save_memory(write: Write, memory: Memory | None) -> None:
    """Write the memory of a model folder; a folder without one lists no such file."""
    if memory is not None and len(memory):
        arrays = {**_arrays(memory.features), "labels": memory.labels.numpy()}
        write(MEMORY, safetensors.numpy.save(arrays))


def load_memory(files: Manifest) -> Memory | None:
    """Read the memory of a model folder; None without one."""
    if MEMORY not in files:
        return None
    arrays = safetensors.numpy.load(files.content(MEMORY))
    labels = torch.from_numpy(arrays["labels"])
    if "features" in arrays:
        return Memory(torch.from_numpy(arrays["features"]), labels)
    parts = tuple(arrays[name] for name in SPARSE_PARTS)
    features = csr_matrix(parts, shape=(len(labels), int(arrays["width"][0])))
    features.check_format()  # a column beyond the width is a ValueError
    return Memory(features, labels)


def _arrays(features: Tensor | SparseMatrix) -> dict[str, NDArray[Any]]:
    """Features as arrays by name; those of a sparse matrix are its parts and its width."""
    if isinstance(features, Tensor):
        return {"features": features.numpy()}
    parts = (features.data, features.indices, features.indptr)
    return {**dict(zip(SPARSE_PARTS, parts, strict=True)), "width": np.array([features.shape[1]])}
