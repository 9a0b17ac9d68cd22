"""The cosine between a sample and the centroid of each class, with sparse centroids."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_array, issparse
from torch import Tensor, nn

from hiercos.losses import CrossEntropyLoss
from hiercos.methods.contributions import Comparison
from hiercos.methods.heads import SummedProbabilities
from hiercos.methods.linear.solved_weights import SolvedWeights
from hiercos.methods.model import Method
from hiercos.methods.solver import LabelledFeatures, Solved, Solver
from hiercos.taxonomy import Taxonomy

SCALE = 10.0  # of the cosines
SMALL = 0.01  # entries of centroids of length 1 that are dropped if features are sparse
ABSENT = -2.0  # cosine of a class without samples, below that of any other


def centroids(taxonomy: Taxonomy, in_features: int) -> Method:
    """Nearest centroid: the cosine between a sample and the mean of the directions of each class's training samples.

    One pass over the features, nothing chosen: weak alone, a good second member of a committee. The scores are 10
    times the cosines; sparse centroids drop entries below 0.01; a class without samples stands below all others.

    Args:
        taxonomy: the tree; only its number of classes is read.
        in_features: width F of the input features.
    """
    head = CentroidHead(in_features, taxonomy.num_classes)
    loss, node_scores = CrossEntropyLoss(), SummedProbabilities(taxonomy)
    solver = CentroidSolver(head)
    return Method(head, loss, nn.Identity(), node_scores, contributions=head.contributions, solver=solver)


class CentroidHead(SolvedWeights):
    """Scaled cosines between samples and the centroids of the classes, which a solver sets.

    Args:
        in_features: width F of the input features.
        num_classes: number of classes C.

    Shape:
        features: (B, F), dense or sparse CSR. Output: (B, C).
    """

    def __init__(self, in_features: int, num_classes: int) -> None:
        super().__init__(in_features)
        self.num_classes = num_classes
        self.set_weights(csr_array((in_features, num_classes), dtype=np.float32))

    @property
    def out_features(self) -> int:
        """Number of classes C."""
        return self.num_classes

    @cached_property
    def offset(self) -> Tensor:
        """Offset of each class's score, shape (C,): 0 for classes with training samples, else below every cosine."""
        seen = np.zeros(self.num_classes, np.bool_)
        seen[self.matrix.indices if self.values.ndim == 1 else self.dense.any(dim=1).nonzero()[:, 0].cpu()] = True
        return torch.from_numpy(np.where(seen, 0, SCALE * ABSENT).astype(np.float32))

    def forward(self, features: Tensor) -> Tensor:
        """Shape (B, F) to (B, C)."""
        cosines = self.products(features) / lengths(features)[:, None]
        return SCALE * cosines + self.offset.to(cosines.device)

    def contributions(self, given: Comparison) -> Tensor:
        """See `Contributions`: exact but for classes without training samples."""
        length = given.values.square().sum().sqrt().clamp(min=torch.finfo(torch.float32).tiny)
        weights = self.of_pairs(given.columns, given.classes.cpu().numpy(), given.rivals.cpu().numpy())
        return SCALE * weights * given.values / length


def lengths(features: Tensor) -> Tensor:
    """Length of each row, dense or sparse CSR, shape (B,); the least positive number for rows of zeros."""
    if features.layout is torch.strided:
        squares = features.square().sum(dim=1)
    else:
        rows = csr_array((features.values().cpu().numpy(), features.col_indices().cpu(), features.crow_indices().cpu()))
        sums = np.add.reduceat(np.append(np.square(rows.data, dtype=np.float64), 0), rows.indptr[:-1])
        squares = torch.from_numpy(np.where(np.diff(rows.indptr) > 0, sums, 0).astype(np.float32)).to(features.device)
    return squares.sqrt().clamp(min=torch.finfo(torch.float32).tiny)


@dataclass(eq=False)
class CentroidSolver(Solver):
    """Sets the centroids, of length 1, of samples of length 1; nothing is chosen."""

    head: CentroidHead

    def __call__(
        self,
        train: LabelledFeatures,
        val: LabelledFeatures | None,  # noqa: ARG002  # nothing to choose
        *,
        seed: int,  # noqa: ARG002  # nothing is random
    ) -> Solved:
        """See `Solver`."""
        weights = np.ones(len(train)) if train.weights is None else train.weights
        rows: Any = csr_array(train.features, dtype=np.float64)
        parts = (weights / _row_lengths(rows), (train.labels, np.arange(len(train))))
        sums = csr_array(csr_array(parts, (self.head.num_classes, len(train))) @ rows)  # (C, F)
        sums.data /= np.repeat(_row_lengths(sums), np.diff(sums.indptr))
        if issparse(train.features):
            sums.data[np.abs(sums.data) < SMALL] = 0
            sums.eliminate_zeros()
        found = csr_array(sums.T, dtype=np.float32)
        self.head.set_weights(found if issparse(train.features) else found.toarray())
        return Solved()


def _row_lengths(rows: Any) -> Any:
    """Length of each row of a sparse matrix, 1 for rows of zeros, shape (M,)."""
    squares = np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
    return np.sqrt(np.where(squares > 0, squares, 1))
