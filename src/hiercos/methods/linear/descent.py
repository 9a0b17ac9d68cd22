"""L-BFGS for logistic regression, in coordinates in which the logits are linear and the penalty is an inner product."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from hiercos.methods.linear.problem_features import ProblemFeatures

HISTORY_SIZE = 5  # earlier steps, of which each takes four tables of coefficients
GRADIENT_TOLERANCE, GAIN_TOLERANCE = 1e-5, 1e-6  # of the objective, at which a solution is an optimum
SLOPE_REDUCTION, TRIALS = 0.5, 10  # slope that a step must leave, relative to that at its start; lengths tried for it

Loss = Callable[[Tensor], tuple[float, Tensor]]


@dataclass(eq=False)
class SolverVector:
    """A point, direction or gradient of the solver."""

    coefficients: Tensor  # A, shape (C, R)
    images: Tensor  # image of K A, shape (C, R), see `ProblemFeatures.image`
    bias: Tensor  # bias of each class over `ProblemFeatures.bias_scale`, shape (C,)

    def dot(self, other: SolverVector) -> float:
        """The inner product."""
        along = torch.dot(self.coefficients.flatten(), other.images.flatten())
        return float(along) + float(torch.dot(self.bias, other.bias))

    def add(self, other: SolverVector, factor: float) -> None:
        """Add a multiple of another vector in place."""
        self.coefficients.add_(other.coefficients, alpha=factor)
        self.images.add_(other.images, alpha=factor)
        self.bias.add_(other.bias, alpha=factor)

    def scale(self, factor: float) -> None:
        """Multiply by a factor in place."""
        self.coefficients.mul_(factor)
        self.images.mul_(factor)
        self.bias.mul_(factor)

    def negative(self) -> SolverVector:
        """The vector of opposite direction, as a copy."""
        return SolverVector(-self.coefficients, -self.images, -self.bias)


class Trial(NamedTuple):
    """A tried length of a step."""

    length: float  # multiple of the direction
    loss: float  # loss there, without the penalty
    slopes: Tensor  # slopes of the logits there, shape (C, M)
    gain: float  # decrease of the objective


class Descent:
    """L-BFGS. The logits are linear in the step length, so the line search needs no product with the features.

    Args:
        features: features of M samples.
        covariance: product with K (C, C): (C, R) to (C, R).
        value: loss over M of logits (C, M), without the penalty, and the slopes of the logits, shape (C, M).
        coefficients: A to start from, shape (C, R); changed in place.
        bias: bias of each class to start from, shape (C,).
        free_bias: classes whose bias may change, shape (C,).
    """

    def __init__(
        self,
        features: ProblemFeatures,
        covariance: Callable[[Tensor], Tensor],
        value: Loss,
        *,
        coefficients: Tensor,
        bias: Tensor,
        free_bias: Tensor,
    ) -> None:
        self.features, self.covariance, self.value, self.free_bias = features, covariance, value, free_bias
        self.point = self._vector(coefficients, bias / features.bias_scale)
        self.logits = self._logits(self.point)
        self.loss, slopes = value(self.logits)
        self.gradient = self._gradient(slopes)
        self.history: list[tuple[SolverVector, SolverVector, float]] = []  # step, change of the gradient, their product

    @property
    def bias(self) -> Tensor:
        """Bias of each class, shape (C,)."""
        return self.point.bias * self.features.bias_scale

    def step(self) -> bool:
        """Take a step; False at the optimum."""
        if self.gradient.dot(self.gradient) <= GRADIENT_TOLERANCE**2:
            return False
        direction = self._direction()
        slope = self.gradient.dot(direction)
        if slope >= 0:  # by rounding
            return False
        change = self._logits(direction)
        found = self._line_search(direction, change, slope)
        if found is None:
            return False
        self.point.add(direction, found.length)
        self.logits.add_(change, alpha=found.length)
        self.loss, before = found.loss, self.gradient
        self.gradient = self._gradient(found.slopes)
        direction.scale(found.length)
        self._remember(direction, before)
        return found.gain > GAIN_TOLERANCE

    def _vector(self, coefficients: Tensor, bias: Tensor) -> SolverVector:
        return SolverVector(coefficients, self.features.image(self.covariance(coefficients)), bias)

    def _logits(self, vector: SolverVector) -> Tensor:
        """Logits of the samples, or their change along a direction, shape (C, M)."""
        return self.features.logits(vector.images) + vector.bias[:, None] * self.features.bias_scale

    def _gradient(self, slopes: Tensor) -> SolverVector:
        """The gradient from the slopes of the logits, shape (C, M)."""
        coefficients = self.features.coefficients(slopes).add(self.point.coefficients, alpha=1 / self.features.count)
        return self._vector(coefficients, slopes.sum(dim=1) * self.features.bias_scale * self.free_bias)

    def _direction(self) -> SolverVector:
        """The direction of the next step: the gradient times an estimate of the inverse Hessian, downwards."""
        direction = self.gradient.negative()
        factors = []
        for step, change, product in reversed(self.history):
            factors.append(step.dot(direction) / product)
            direction.add(change, -factors[-1])
        if self.history:
            _, change, product = self.history[-1]
            direction.scale(product / change.dot(change))
        for (step, change, product), factor in zip(self.history, reversed(factors), strict=True):
            direction.add(step, factor - change.dot(direction) / product)
        return direction

    def _line_search(self, direction: SolverVector, change: Tensor, start_slope: float) -> Trial | None:
        """A length at which the objective is lower and much flatter than at the start; None if none is lower.

        The objective is convex, so the length is bracketed by slopes of both signs and sought by linear interpolation.
        If no trial is flat enough, the one with the largest gain is taken.
        """
        count, bias = self.features.count, direction.bias  # whose penalty is 0
        first = self.point.dot(direction) - float(torch.dot(self.point.bias, bias))
        second = direction.dot(direction) - float(torch.dot(bias, bias))  # of M times the penalty |u|²/2
        low, low_slope, high, high_slope = 0.0, start_slope, math.inf, math.inf
        length = 1.0 if self.history else 1 / math.sqrt(-start_slope)
        best: Trial | None = None
        for _ in range(TRIALS):
            loss, slopes = self.value(torch.add(self.logits, change, alpha=length))
            slope = float(torch.dot(slopes.flatten(), change.flatten())) + (first + length * second) / count
            gain = self.loss - loss - (length * first + 0.5 * length**2 * second) / count
            is_flat = abs(slope) <= -SLOPE_REDUCTION * start_slope
            if gain > 0 and (is_flat or best is None or gain > best.gain):
                best = Trial(length, loss, slopes, gain)
            if gain > 0 and is_flat:
                break
            if slope < 0 and gain > 0:
                low, low_slope = length, slope
            else:
                high, high_slope = length, max(slope, 0.0)
            length = _next_length(low, low_slope, high, high_slope)
        return best

    def _remember(self, step: SolverVector, before: SolverVector) -> None:
        """Keep a step with the change of the gradient along it, and forget the oldest; `before` is changed in place."""
        before.scale(-1.0)
        before.add(self.gradient, 1.0)
        product = step.dot(before)
        if product > 0:
            self.history = [*self.history, (step, before, product)][-HISTORY_SIZE:]


def _next_length(low: float, low_slope: float, high: float, high_slope: float) -> float:
    """The next length to try: where the slope would be 0 if it were linear, well within the bracket."""
    if math.isinf(high):
        return 4 * low
    share = -low_slope / (high_slope - low_slope)
    return low + min(max(share, 0.1), 0.9) * (high - low)
