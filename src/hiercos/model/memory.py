"""A small memory of training samples, as features, kept in a model folder for later training."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from scipy.sparse import csr_matrix
from torch import Tensor

from hiercos.methods import SparseMatrix

USUAL = 20  # samples of a label
MOST_BYTES = 10_000_000  # of a memory whose size nobody chose
SPARSE_PARTS = ("values", "columns", "starts")  # of a SciPy CSR matrix


@dataclass(frozen=True)
class Memory:
    """Features of old training samples."""

    features: Tensor | SparseMatrix  # feature vectors, shape (M, F), float32: a dense tensor, or a SciPy CSR matrix
    labels: Tensor  # label of each sample, a class index or C + node, shape (M,), int64

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

    @classmethod
    def small(cls, features: Tensor | SparseMatrix, labels: Tensor, *, seed: int = 0) -> "Memory | None":
        """At most `USUAL` samples of each label, fewer where they take more than `MOST_BYTES`; None if one does."""
        found = (cls.choose(features, labels, count, seed=seed) for count in range(USUAL, 0, -1))
        return next((each for each in found if each.num_bytes <= MOST_BYTES), None)

    @property
    def num_bytes(self) -> int:
        """Size of its tensors."""
        return sum(part.nbytes for part in self.tensors().values())

    def rows(self, chosen: Tensor) -> "Memory":
        """The samples of a mask of shape (M,)."""
        rows = chosen.nonzero().flatten().numpy()
        return Memory(self.features[rows], self.labels[rows])

    def __len__(self) -> int:
        return len(self.labels)

    def tensors(self) -> dict[str, Tensor]:
        """The memory as tensors by name, which `of_tensors` reads back."""
        if isinstance(self.features, Tensor):
            return {"features": self.features, "labels": self.labels}
        parts = (self.features.data, self.features.indices, self.features.indptr)
        sparse = {name: torch.from_numpy(part) for name, part in zip(SPARSE_PARTS, parts, strict=True)}
        return {**sparse, "width": torch.tensor([self.features.shape[1]]), "labels": self.labels}

    @classmethod
    def of_tensors(cls, tensors: Mapping[str, Tensor]) -> "Memory":
        """The memory from its `tensors`."""
        labels = tensors["labels"]
        if "features" in tensors:
            return cls(tensors["features"], labels)
        parts = tuple(tensors[name].numpy() for name in SPARSE_PARTS)
        features = csr_matrix(parts, shape=(len(labels), int(tensors["width"][0])))
        features.check_format()  # a column beyond the width is a ValueError
        return cls(features, labels)
