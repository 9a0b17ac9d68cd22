"""Logistic regression along a taxonomy, solved to its optimum: class weights are sums of node weights.

The weights of a class are w_c = Σ_v u_v over its ancestors and itself, with a Gaussian prior on every u_v: recursive
regularisation [gopal2013]. The prior gives all classes the same variance; the share of it that inner nodes carry is the
correlation of siblings, and with a share of 0 the problem is flat logistic regression.

Whatever the number of nodes, the optimum is W = K A Φ for the covariance K (C, C) of the classes and coefficients
A (C, R) of R directions Φ (R, F): the features, or the samples if these are fewer. The solver moves in the
coefficients. The inner product of two of them is Σ A ∘ (K B ΦΦᵀ) (of dense features without ΦΦᵀ), so its steps are
those of a solver in the node weights divided by their deviations.
"""

from dataclasses import dataclass

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor

from hiercos.methods.layers import csr_tensor
from hiercos.methods.linear.descent import Descent
from hiercos.methods.linear.problem_features import ProblemFeatures
from hiercos.taxonomy import Floats, IntArray, Taxonomy, ancestor_matrix

MOST_STEPS = 300


@dataclass(frozen=True)
class Prior:
    """Prior of the weights."""

    variance: float  # variance of a class's weights, with all its ancestors; large for little regularisation
    shared: float = 0.0  # largest share of the variance that the ancestors of a class carry, from 0 (flat) to below 1
    # exponent of the deviations of dense features that the weights are meant for, see `DenseFeatures`
    scaling: float = 1.0

    def node_variances(self, taxonomy: Taxonomy) -> Floats:
        """Variance of each node's weights, shape (N,); over a class and its ancestors they sum to `variance`."""
        inner = self.variance * self.shared / max(taxonomy.most_ancestors - 1, 1)
        variances = np.full(taxonomy.num_nodes, inner)
        variances[taxonomy.leaves] = self.variance - inner * (taxonomy.ancestor_counts[taxonomy.leaves] - 1)
        return variances


class Covariance:
    """Covariance K (C, C) of the classes' weights, as a product of sparse matrices."""

    def __init__(self, taxonomy: Taxonomy, prior: Prior) -> None:
        paths = csr_array(ancestor_matrix(taxonomy)[taxonomy.leaves], dtype=np.float32, copy=True)  # (C, N)
        paths.data *= np.sqrt(prior.node_variances(taxonomy)).astype(np.float32)[paths.indices]
        paths.eliminate_zeros()
        self.paths, self.members = csr_tensor(paths), csr_tensor(csr_array(paths.T))

    def __call__(self, coefficients: Tensor) -> Tensor:
        """Shape (C, R) to (C, R)."""
        product: Tensor = self.paths @ (self.members @ coefficients)
        return product


@dataclass(frozen=True, eq=False)
class Solution:
    """Optimal weights of one problem."""

    coefficients: Tensor  # A, shape (C, R)
    bias: Tensor  # bias of each class, shape (C,)
    prior: Prior  # prior of the weights
    steps: int  # number of steps that the solver took


class PathProblem:
    """Σ_i weight_i · -log softmax(w x_i + b + o_i)_{y_i} + Σ_v |u_v|² / (2 variance_v), minimised over u and b.

    Args:
        features: features of M samples.
        labels: class of each sample, shape (M,).
        taxonomy: the tree or graph.
        weights: weight of each sample, shape (M,); equal weights by default.
        offsets: logits o of an earlier model, shape (M, C); zeros by default. With them, the bias of a class without
            samples stays 0: these samples say nothing about it, and no penalty would hold it.
    """

    def __init__(
        self,
        features: ProblemFeatures,
        labels: IntArray,
        taxonomy: Taxonomy,
        weights: Floats | None = None,
        offsets: Floats | None = None,
    ) -> None:
        self.features, self.taxonomy = features, taxonomy
        self.offsets = None if offsets is None else torch.as_tensor(offsets.T, dtype=torch.float32)  # (C, M)
        self.labels = torch.as_tensor(labels)[None]  # (1, M)
        self.free_bias = torch.ones(taxonomy.num_classes, dtype=torch.bool)
        if offsets is not None:
            self.free_bias = torch.isin(torch.arange(taxonomy.num_classes), self.labels)
        self.weights = torch.ones(features.count) if weights is None else torch.as_tensor(weights, dtype=torch.float32)

    def solve(self, prior: Prior, start: Solution | None = None, *, most_steps: int = MOST_STEPS) -> Solution:
        """The optimum under a prior, by L-BFGS from a start, zeros by default."""
        descent = self.descent(prior, start)
        steps = 0
        while steps < most_steps and descent.step():
            steps += 1
        return Solution(descent.point.coefficients, descent.bias, prior, steps)

    def descent(self, prior: Prior, start: Solution | None) -> Descent:
        """L-BFGS under a prior, from a solution under any prior or from zeros."""
        classes = self.taxonomy.num_classes
        if start is None:
            coefficients, bias = torch.zeros(classes, self.features.directions), torch.zeros(classes)
        else:  # the weights shrink and grow with their deviation
            coefficients, bias = start.coefficients * (start.prior.variance / prior.variance) ** 0.5, start.bias
        covariance = Covariance(self.taxonomy, prior)
        return Descent(
            self.features, covariance, self.value, coefficients=coefficients, bias=bias, free_bias=self.free_bias
        )

    def value(self, logits: Tensor) -> tuple[float, Tensor]:
        """Loss over M of logits w x + b, shape (C, M), without the penalty, and their slopes, shape (C, M)."""
        logs = (logits if self.offsets is None else logits + self.offsets).log_softmax(dim=0)
        own = logs.gather(0, self.labels)
        loss = -float((own * self.weights).sum(dtype=torch.float64)) / self.features.count
        slopes = logs.exp_()
        slopes.scatter_add_(0, self.labels, torch.full_like(own, -1.0))
        slopes *= self.weights / self.features.count
        return loss, slopes

    def layer(self, solution: Solution) -> tuple[Tensor, Tensor]:
        """Weight (C, F) and bias (C,) of a linear layer on the features as they are given."""
        weights = self.features.weights(Covariance(self.taxonomy, solution.prior)(solution.coefficients))
        weights = weights / self.features.scale
        return weights, solution.bias - weights @ self.features.shift
