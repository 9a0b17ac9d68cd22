"""Logistic regression along a taxonomy, solved to its optimum: class weights are sums of node weights.

The weights of a class are w_c = Σ_v u_v over its ancestors and itself, with a Gaussian prior on every u_v: recursive
regularisation [gopal2013]. The prior gives all classes the same variance; the share of it that inner nodes carry is the
correlation of siblings, and with a share of 0 the problem is flat logistic regression.

Whatever the number of nodes, the optimum is W = K A Φ for the covariance K (C, C) of the classes and coefficients
A (C, R) of R directions Φ (R, F): the features themselves if they are dense, the samples if they are sparse, since
there are more features than samples then. The solver moves in the coefficients. The inner product of two of them is
Σ A ∘ (K B ΦΦᵀ), so its steps are those of a solver in the node weights divided by their deviations.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from scipy.sparse import csr_array, issparse
from torch import Tensor

from hiercos.nn import SparseMatrix, csr_tensor, feature_scale
from hiercos.taxonomy import Floats, IntArray, Taxonomy, ancestor_matrix
from hiercos.turns import own_turn

REMEMBERED = 5  # earlier steps, of which each takes four tables of coefficients
MOST_STEPS = 300
LEAST_SLOPE, LEAST_GAIN = 1e-5, 1e-7  # of the objective, at which a solution is an optimum
FLATTER, TRIALS = 0.5, 10  # slope that a step must leave, relative to that at its start; lengths tried for it
CLASSES_AT_ONCE = 32  # whose products with sparse features stay in the processor's cache


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


class Covariance:
    """Covariance K (C, C) of the classes' weights, as a product of sparse matrices.

    Args:
        taxonomy: the tree or graph.
        prior: prior of the weights.
    """

    def __init__(self, taxonomy: Taxonomy, prior: Prior) -> None:
        paths = csr_array(ancestor_matrix(taxonomy)[taxonomy.leaves], dtype=np.float32, copy=True)  # (C, N)
        paths.data *= np.sqrt(prior.node_variances(taxonomy)).astype(np.float32)[paths.indices]
        paths.eliminate_zeros()
        self.paths, self.members = csr_tensor(paths), csr_tensor(csr_array(paths.T))

    def __call__(self, coefficients: Tensor) -> Tensor:
        """Shape (C, R) to (C, R)."""
        product: Tensor = self.paths @ (self.members @ coefficients)
        return product


class Inputs(Protocol):
    """Features of M samples, scaled to a mean squared norm of 1, and the directions Φ (R, F) of the coefficients.

    Attributes:
        count: number of samples M.
        directions: number of directions R.
        shift: what is subtracted from the features as they are given, shape (F,).
        scale: what they are divided by then, shape (F,).
        bias_scale: unit in which the solver moves the bias.
    """

    count: int
    directions: int
    shift: Tensor
    scale: Tensor
    bias_scale: float

    def image(self, values: Tensor) -> Tensor:
        """Product with ΦΦᵀ (R, R): (C, R) to (C, R)."""

    def logits(self, images: Tensor) -> Tensor:
        """Logits of the samples from K A ΦΦᵀ: (C, R) to (C, M)."""

    def coefficients(self, slopes: Tensor) -> Tensor:
        """Coefficients of a gradient from the slopes of the logits: (C, M) to (C, R)."""

    def weights(self, values: Tensor) -> Tensor:
        """Weights of the scaled features from K A: (C, R) to (C, F)."""


class DenseInputs:
    """Dense features, standardized; the directions are the features. See `Inputs`.

    Args:
        features: shape (M, F).
    """

    bias_scale = 1.0  # features are centred

    def __init__(self, features: Floats) -> None:
        dense = torch.as_tensor(np.asarray(features), dtype=torch.float32)
        self.shift, deviation = feature_scale(dense)
        self.scale = deviation * dense.shape[1] ** 0.5
        self.rows = (dense - self.shift) / self.scale
        self.count, self.directions = int(self.rows.shape[0]), int(self.rows.shape[1])

    def image(self, values: Tensor) -> Tensor:
        """See `Inputs`."""
        return values

    def logits(self, images: Tensor) -> Tensor:
        """See `Inputs`."""
        return torch.mm(images, self.rows.T)

    def coefficients(self, slopes: Tensor) -> Tensor:
        """See `Inputs`."""
        return torch.mm(slopes, self.rows)

    def weights(self, values: Tensor) -> Tensor:
        """See `Inputs`."""
        return values


class SparseInputs:
    """Sparse features, not standardized since centring would fill them; the directions are the samples. See `Inputs`.

    Args:
        features: shape (M, F).
    """

    bias_scale = 4.0  # half as many steps as with 1

    def __init__(self, features: SparseMatrix) -> None:
        matrix = csr_array(features, dtype=np.float32, copy=True)
        self.count = self.directions = int(matrix.shape[0])
        scale = (float(matrix.multiply(matrix).sum()) / self.count or 1.0) ** 0.5
        matrix.data /= scale
        self.shift, self.scale = torch.zeros(matrix.shape[1]), torch.full((matrix.shape[1],), scale)
        self.rows, self.columns = csr_tensor(matrix), csr_tensor(csr_array(matrix.T))

    def image(self, values: Tensor) -> Tensor:
        """See `Inputs`."""
        images = torch.empty_like(values)
        for part, image in zip(torch.split(values, CLASSES_AT_ONCE), torch.split(images, CLASSES_AT_ONCE), strict=True):
            image.copy_((self.rows @ (self.columns @ part.T.contiguous())).T)
        return images

    def logits(self, images: Tensor) -> Tensor:
        """See `Inputs`."""
        return images

    def coefficients(self, slopes: Tensor) -> Tensor:
        """See `Inputs`."""
        return slopes

    def weights(self, values: Tensor) -> Tensor:
        """See `Inputs`."""
        parts = [(self.columns @ part.T.contiguous()).T for part in torch.split(values, CLASSES_AT_ONCE)]
        return torch.cat(parts)


def problem_inputs(features: Floats | SparseMatrix) -> Inputs:
    """Inputs of a problem from dense or sparse features, shape (M, F)."""
    return SparseInputs(features) if issparse(features) else DenseInputs(features)


@dataclass(eq=False)
class Vector:
    """A place, direction or gradient of the solver.

    Attributes:
        coefficients: A, shape (C, R).
        images: K A ΦΦᵀ, shape (C, R).
        bias: bias of each class over `Inputs.bias_scale`, shape (C,).
    """

    coefficients: Tensor
    images: Tensor
    bias: Tensor

    def dot(self, other: Vector) -> float:
        """The inner product."""
        along = torch.dot(self.coefficients.flatten(), other.images.flatten())
        return float(along) + float(torch.dot(self.bias, other.bias))

    def add(self, other: Vector, factor: float) -> None:
        """Add a multiple of another one in place."""
        self.coefficients.add_(other.coefficients, alpha=factor)
        self.images.add_(other.images, alpha=factor)
        self.bias.add_(other.bias, alpha=factor)

    def times(self, factor: float) -> Vector:
        """A multiple."""
        return Vector(self.coefficients * factor, self.images * factor, self.bias * factor)


@dataclass(frozen=True, eq=False)
class Solution:
    """Optimal weights of one problem.

    Attributes:
        coefficients: A, shape (C, R).
        bias: bias of each class, shape (C,).
        prior: prior of the weights.
        steps: number of steps that the solver took.
    """

    coefficients: Tensor
    bias: Tensor
    prior: Prior
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
        self.labels = torch.as_tensor(labels)[None]  # (1, M)
        self.weights = torch.ones(inputs.count) if weights is None else torch.as_tensor(weights, dtype=torch.float32)

    def solve(self, prior: Prior, start: Solution | None = None, *, most_steps: int = MOST_STEPS) -> Solution:
        """The optimum under a prior, by L-BFGS from a start, zeros by default."""
        descent = Descent(self, prior, start)
        steps = 0
        while steps < most_steps and descent.step():
            steps += 1
        return Solution(descent.place.coefficients, descent.bias(descent.place), prior, steps)

    def value(self, logits: Tensor) -> tuple[float, Tensor]:
        """Loss over M of logits (C, M), without the penalty, and the slopes of the logits, shape (C, M)."""
        logs = logits.log_softmax(dim=0)
        own = logs.gather(0, self.labels)
        loss = -float((own * self.weights).sum(dtype=torch.float64)) / self.inputs.count
        slopes = logs.exp_()
        slopes.scatter_add_(0, self.labels, torch.full_like(own, -1.0))
        slopes *= self.weights / self.inputs.count
        return loss, slopes

    def layer(self, solution: Solution) -> tuple[Tensor, Tensor]:
        """Weight (C, F) and bias (C,) of a linear layer on the features as they are given."""
        weights = self.inputs.weights(Covariance(self.taxonomy, solution.prior)(solution.coefficients))
        weights = weights / self.inputs.scale
        return weights, solution.bias - weights @ self.inputs.shift


class Descent:
    """L-BFGS on a problem. Logits are linear in a step, so its length is sought without any product with the features.

    Args:
        problem: the problem.
        prior: prior of the weights.
        start: solution under any prior to start from; zeros for None.
    """

    def __init__(self, problem: PathProblem, prior: Prior, start: Solution | None) -> None:
        self.problem, self.inputs = problem, problem.inputs
        self.covariance = Covariance(problem.taxonomy, prior)
        classes = problem.taxonomy.num_classes
        if start is None:
            coefficients, bias = torch.zeros(classes, self.inputs.directions), torch.zeros(classes)
        else:  # the weights shrink and grow with their deviation
            ratio = (start.prior.variance / prior.variance) ** 0.5
            coefficients, bias = start.coefficients * ratio, start.bias / self.inputs.bias_scale
        with own_turn():
            self.place = self._vector(coefficients, bias)
            self.logits = self._logits(self.place)
            self.loss, slopes = problem.value(self.logits)
            self.gradient = self._gradient(slopes)
        self.earlier: list[tuple[Vector, Vector, float]] = []  # steps, changes of the gradient, their inner product

    def bias(self, vector: Vector) -> Tensor:
        """Bias of the classes, shape (C,)."""
        return vector.bias * self.inputs.bias_scale

    def step(self) -> bool:
        """Take a step; False at the optimum."""
        with own_turn():
            if self.gradient.dot(self.gradient) <= LEAST_SLOPE**2:
                return False
            direction = self._direction()
            steepness = -self.gradient.dot(direction)
            if steepness <= 0:  # by rounding
                return False
            change = self._logits(direction)
            length, loss, slopes, gain = self._length(direction, change, steepness)
            if gain <= 0:
                return False
            self.place.add(direction, length)
            self.logits.add_(change, alpha=length)
            self.loss, before = loss, self.gradient
            self.gradient = self._gradient(slopes)
            self._remember(direction.times(length), self.gradient, before)
            return gain > LEAST_GAIN

    def _vector(self, coefficients: Tensor, bias: Tensor) -> Vector:
        return Vector(coefficients, self.inputs.image(self.covariance(coefficients)), bias)

    def _logits(self, vector: Vector) -> Tensor:
        """Logits of the samples, or their change along a direction, shape (C, M)."""
        return self.inputs.logits(vector.images) + self.bias(vector)[:, None]

    def _gradient(self, slopes: Tensor) -> Vector:
        """The gradient from the slopes of the logits, shape (C, M)."""
        coefficients = self.inputs.coefficients(slopes).add(self.place.coefficients, alpha=1 / self.inputs.count)
        return self._vector(coefficients, slopes.sum(dim=1) * self.inputs.bias_scale)

    def _direction(self) -> Vector:
        """The direction of the next step: the gradient times an estimate of the inverse Hessian, downwards."""
        direction = self.gradient.times(-1.0)
        factors = []
        for step, change, product in reversed(self.earlier):
            factors.append(step.dot(direction) / product)
            direction.add(change, -factors[-1])
        if self.earlier:
            _, change, product = self.earlier[-1]
            direction = direction.times(product / change.dot(change))
        for (step, change, product), factor in zip(self.earlier, reversed(factors), strict=True):
            direction.add(step, factor - change.dot(direction) / product)
        return direction

    def _length(self, direction: Vector, change: Tensor, steepness: float) -> tuple[float, float, Tensor, float]:
        """A length at which the objective is lower and much flatter than at the start of the step.

        The objective is convex, so the length is bracketed by slopes of both signs and sought by linear interpolation.

        Returns:
            The length, loss and slopes there, and what the objective gains.
        """
        count, penalty = self.inputs.count, Penalty(self.place, direction)
        low, low_slope, high, high_slope = 0.0, -steepness, math.inf, math.inf
        length = 1.0 if self.earlier else 1 / math.sqrt(steepness)
        for _ in range(TRIALS):
            loss, slopes = self.problem.value(torch.add(self.logits, change, alpha=length))
            slope = float(torch.dot(slopes.flatten(), change.flatten())) + penalty.slope(length) / count
            gain = self.loss - loss - penalty.growth(length) / count
            if gain > 0 and abs(slope) <= FLATTER * steepness:
                break
            if slope < 0 and gain > 0:
                low, low_slope = length, slope
            else:
                high, high_slope = length, max(slope, 0.0)
            length = _between(low, low_slope, high, high_slope)
        return length, loss, slopes, gain

    def _remember(self, step: Vector, gradient: Vector, before: Vector) -> None:
        """Keep a step and the change of the gradient along it, and forget the oldest."""
        change = gradient.times(1.0)
        change.add(before, -1.0)
        product = step.dot(change)
        if product > 0:
            self.earlier = [*self.earlier, (step, change, product)][-REMEMBERED:]


class Penalty:
    """M times the penalty |u|²/2 along a step, without that of the bias.

    Args:
        place: start of the step.
        direction: its direction.
    """

    def __init__(self, place: Vector, direction: Vector) -> None:
        bias = torch.dot(place.bias, direction.bias), torch.dot(direction.bias, direction.bias)
        self.first = place.dot(direction) - float(bias[0])
        self.second = direction.dot(direction) - float(bias[1])

    def growth(self, length: float) -> float:
        """Growth from the start to a length."""
        return length * self.first + 0.5 * length**2 * self.second

    def slope(self, length: float) -> float:
        """Slope at a length."""
        return self.first + length * self.second


def _between(low: float, low_slope: float, high: float, high_slope: float) -> float:
    """The next length to try: where the slope would be 0 if it were linear, well within the bracket."""
    if math.isinf(high):
        return 4 * low
    share = -low_slope / (high_slope - low_slope)
    return low + min(max(share, 0.1), 0.9) * (high - low)
