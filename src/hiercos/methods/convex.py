"""Logistic regression along a taxonomy, solved to its optimum: class weights are sums of node weights.

The weights of a class are w_c = Σ_v u_v over its ancestors and itself, with a Gaussian prior on every u_v: recursive
regularisation [gopal2013]. The prior gives all classes the same variance; the share of it that inner nodes carry is the
correlation of siblings, and with a share of 0 the problem is flat logistic regression.
"""

from dataclasses import dataclass

import numpy as np
import torch
from scipy.sparse import csr_array, issparse
from torch import Tensor

from hiercos.geometry import tree_operations
from hiercos.nn import SparseMatrix, csr_tensor, feature_scale
from hiercos.taxonomy import Floats, IntArray, Taxonomy
from hiercos.turns import own_turn

REMEMBERED = 5  # earlier steps, of which each takes two copies of the weights
MOST_STEPS = 300


@dataclass(frozen=True)
class Prior:
    """Prior of the weights.

    Attributes:
        variance: variance of a class's weights, with all its ancestors; large for little regularisation.
        shared: largest share of the variance that the ancestors of a class carry, from 0 (flat) to below 1.
    """

    variance: float
    shared: float = 0.0

    def node_variances(self, taxonomy: Taxonomy) -> Floats:
        """Variance of each node's weights, shape (N,); over a class and its ancestors they sum to `variance`."""
        inner = self.variance * self.shared / max(taxonomy.most_ancestors - 1, 1)
        variances = np.full(taxonomy.num_nodes, inner)
        variances[taxonomy.leaves] = self.variance - inner * (taxonomy.ancestor_counts[taxonomy.leaves] - 1)
        return variances


class Inputs:
    """Features of M samples on which linear problems are solved, scaled to a mean squared norm of 1.

    Dense features are standardized first; sparse ones are not, since centring would fill them.

    Args:
        features: shape (M, F).
    """

    def __init__(self, features: Floats | SparseMatrix) -> None:
        if issparse(features):
            matrix = csr_array(features, dtype=np.float32)
            squares = float(matrix.multiply(matrix).sum()) / matrix.shape[0]
            self.shift, self.scale = torch.zeros(matrix.shape[1]), torch.full(matrix.shape[1:], squares or 1.0).sqrt()
            scaled = csr_array(matrix, copy=True)
            scaled.data /= self.scale[0].item()
            self.rows, self.columns = csr_tensor(scaled), csr_tensor(csr_array(scaled.T))
        else:
            dense = torch.as_tensor(np.asarray(features), dtype=torch.float32)
            self.shift, deviation = feature_scale(dense)
            self.scale = deviation * dense.shape[1] ** 0.5
            self.rows = (dense - self.shift) / self.scale
            self.columns = self.rows.T
        self.count, self.width = int(self.rows.shape[0]), int(self.rows.shape[1])


@dataclass(frozen=True, eq=False)
class Solution:
    """Optimal weights of one problem.

    Attributes:
        nodes: weights of each node over the square root of its variance, shape (F, N).
        bias: bias of each class, shape (C,).
        steps: number of steps that the solver took.
    """

    nodes: Tensor
    bias: Tensor
    steps: int


class PathProblem:
    """Σ_i weight_i · -log softmax(w x_i + b)_{y_i} + Σ_v |u_v|² / (2 variance_v), minimised over u and b.

    Args:
        inputs: features of M samples.
        labels: class of each sample, shape (M,).
        taxonomy: the tree or graph.
        weights: weight of each sample, shape (M,); equal weights by default.
    """

    def __init__(self, inputs: Inputs, labels: IntArray, taxonomy: Taxonomy, weights: Floats | None = None) -> None:
        self.inputs, self.taxonomy = inputs, taxonomy
        self.labels = torch.as_tensor(labels)
        given = torch.ones(inputs.count) if weights is None else torch.as_tensor(weights, dtype=torch.float32)
        self.weights = given[:, None]  # (M, 1)
        self.operations = tree_operations(taxonomy, torch.device("cpu"))

    def solve(self, prior: Prior, start: Solution | None = None, *, most_steps: int = MOST_STEPS) -> Solution:
        """The optimum under a prior, by L-BFGS from a start, zeros by default."""
        roots = torch.as_tensor(prior.node_variances(self.taxonomy), dtype=torch.float32).sqrt()
        shape = (self.inputs.width, self.taxonomy.num_nodes)
        nodes = torch.zeros(shape) if start is None else start.nodes.clone()
        bias = torch.zeros(self.taxonomy.num_classes) if start is None else start.bias.clone()
        optimizer = torch.optim.LBFGS(
            [nodes, bias],
            max_iter=most_steps,
            tolerance_grad=1e-5,
            tolerance_change=1e-7,
            history_size=REMEMBERED,
            line_search_fn="strong_wolfe",
        )

        def value() -> float:
            with own_turn():
                loss, nodes.grad, bias.grad = self.value(nodes, bias, roots)
            return loss

        optimizer.step(value)  # type: ignore[no-untyped-call]  # torch gives it no types
        steps = int(optimizer.state[nodes]["n_iter"])
        return Solution(nodes.detach(), bias.detach(), steps)

    def value(self, nodes: Tensor, bias: Tensor, roots: Tensor) -> tuple[float, Tensor, Tensor]:
        """Objective over M, and its gradients for the scaled node weights (F, N) and the bias (C,)."""
        count = self.inputs.count
        logs = (self.inputs.rows @ self.class_weights(nodes, roots) + bias).log_softmax(dim=1)  # (M, C)
        own = logs.gather(1, self.labels[:, None])
        loss = (-(own * self.weights).sum(dtype=torch.float64) + 0.5 * nodes.square().sum(dtype=torch.float64)) / count
        slope = logs.exp_()
        slope.scatter_add_(1, self.labels[:, None], torch.full_like(own, -1.0))
        slope *= self.weights / count
        classes = self.inputs.columns @ slope  # (F, C)
        summed = self.operations.descendant_sums(self.operations.node_values(classes))  # (F, N)
        return float(loss), summed * roots + nodes / count, slope.sum(dim=0)

    def class_weights(self, nodes: Tensor, roots: Tensor) -> Tensor:
        """Weights of the classes, shape (F, C), from scaled node weights, shape (F, N)."""
        return self.operations.class_values(self.operations.ancestor_sums(nodes * roots))

    def layer(self, solution: Solution, prior: Prior) -> tuple[Tensor, Tensor]:
        """Weight (C, F) and bias (C,) of a linear layer on the features as they are given."""
        roots = torch.as_tensor(prior.node_variances(self.taxonomy), dtype=torch.float32).sqrt()
        weight = self.class_weights(solution.nodes, roots).T / self.inputs.scale
        return weight.contiguous(), solution.bias - weight @ self.inputs.shift
