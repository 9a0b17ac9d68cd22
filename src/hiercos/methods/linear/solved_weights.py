"""Linear weights that a solver sets, dense or sparse, in a layer that takes dense and sparse features."""

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_array, issparse
from torch import Tensor, nn

from hiercos.methods.layers import aligned
from hiercos.taxonomy import Floats, IntArray

MOST_DENSE = 1 << 28  # weights that dense inputs are multiplied with at once, 1 GB


class SolvedWeights(nn.Module, ABC):
    """A head whose weights (F, K) have sizes that no option tells, and are stored sparse where they are sparse.

    Subclasses register their other buffers before they set weights.

    Args:
        in_features: width F of the input features.
    """

    starts: Tensor  # (F + 1,) first weight of each feature; (0,) for dense weights
    columns: Tensor  # (E,) output of each weight; (0,) for dense weights
    values: Tensor  # (E,) weights, or dense ones (F, K)

    def __init__(self, in_features: int) -> None:
        super().__init__()
        self.in_features = in_features
        for name in ("starts", "columns", "values"):
            self.register_buffer(name, torch.empty(0))

    @property
    @abstractmethod
    def out_features(self) -> int:
        """Number of outputs K."""

    def check(self) -> None:  # most have no other buffers
        """Raise a ValueError if other buffers that were loaded do not fit together."""

    def set_weights(self, matrix: Any, **others: Any) -> None:
        """Set weights, an array or CSR matrix of shape (F, K), and arrays of other buffers."""
        none = np.empty(0, np.int32)
        starts, columns, values = (
            (matrix.indptr, matrix.indices, matrix.data) if issparse(matrix) else (none, none, matrix)
        )
        weights = {"starts": starts.astype(np.int32), "columns": columns.astype(np.int32), "values": values}
        arrays = {**weights, **others}
        self._replace({name: torch.from_numpy(array) for name, array in arrays.items()})

    def _replace(self, tensors: dict[str, Tensor]) -> None:
        for name, value in tensors.items():
            setattr(self, name, value)
        for name in [name for name in vars(self) if isinstance(getattr(type(self), name, None), cached_property)]:
            del self.__dict__[name]

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *arguments: Any) -> None:
        """Take the sizes of stored weights; a ValueError for weights that do not fit."""
        given = {name: state_dict.get(prefix + name, buffer) for name, buffer in self.named_buffers()}
        self._replace({name: torch.empty_like(value) for name, value in given.items()})
        super()._load_from_state_dict(state_dict, prefix, *arguments)
        self.check()
        if self.values.ndim == 1:
            self.matrix.check_format(full_check=True)  # a product with other indices would read beyond it
        elif self.values.shape != (self.in_features, self.out_features):
            raise ValueError("expected a weight of each feature and output")

    @cached_property
    def matrix(self) -> csr_array:
        """Sparse weights, shape (F, K)."""
        parts = (self.values.cpu().numpy(), self.columns.cpu().numpy(), self.starts.cpu().numpy())
        return csr_array(parts, (self.in_features, self.out_features))

    @cached_property
    def dense(self) -> Tensor:
        """All weights, shape (K, F), contiguous, so that products do not depend on the place of a row."""
        weights = self.values if self.values.ndim == 2 else torch.from_numpy(self.matrix.toarray())
        return weights.T.contiguous()

    def of_pairs(self, entries: Tensor, own: IntArray, others: IntArray) -> Tensor:
        """Weights of outputs less those of others, at some features: (E,), (P,), (P,) to (P, E)."""
        weights = self.matrix[entries.cpu().numpy()] if self.values.ndim == 1 else self.values[entries].cpu().numpy()
        differences = weights[:, own] - weights[:, others]  # (E, P)
        table: Floats = differences.toarray() if issparse(differences) else differences
        return torch.from_numpy(table).T.to(entries.device)

    def products(self, features: Tensor) -> Tensor:
        """Products with the weights: (B, F) to (B, K); each row of sparse ones is summed on its own, in order."""
        is_dense = features.layout is torch.strided
        fits = self.in_features * self.out_features <= MOST_DENSE or torch.compiler.is_exporting()
        if self.values.ndim == 2 or (is_dense and fits):
            return aligned(features) @ self.dense.T.to(features.device)
        rows = features.cpu()
        parts = () if is_dense else (rows.values().numpy(), rows.col_indices().numpy(), rows.crow_indices().numpy())
        matrix = csr_array(parts or rows.numpy(), shape=tuple(rows.shape))
        return torch.from_numpy((matrix @ self.matrix).toarray()).to(features.device)
