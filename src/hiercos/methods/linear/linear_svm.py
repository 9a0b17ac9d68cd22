"""The flat linear support vector machine that practitioners use on texts."""

import warnings
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from scipy.sparse import issparse
from torch import Tensor, nn
from torch.nn import functional as F

from hiercos.losses import CrossEntropyLoss
from hiercos.methods.contributions import Comparison
from hiercos.methods.heads import SummedProbabilities
from hiercos.methods.linear.logistic import RawLinear, log_probabilities, lowest
from hiercos.methods.linear.problem_features import DenseFeatures
from hiercos.methods.model import Method
from hiercos.methods.solver import LabelledFeatures, Solved, Solver
from hiercos.methods.table import MethodError
from hiercos.taxonomy import Floats, IntArray, Taxonomy

ABSENT = -1.0  # margin of a class without samples less the mean margin of the others: it is never the answer
SCALING = 0.5  # of dense features, see `DenseFeatures`
STRENGTHS = tuple(2.0**power for power in range(-3, 4))  # to choose from
USUAL_STRENGTH = 1.0
ENOUGH_TO_CHOOSE_STRENGTH = 200  # validation samples
SATURATED = 80.0  # input beyond which a sigmoid is 1 to the last bit; scores rise on, so that no two of them are equal


@dataclass(frozen=True)
class Sigmoid:
    """Map from a margin to a score, the logarithm of a probability: log sigmoid(slope * margin + shift) [platt1999]."""

    slope: float = 8.0  # above 0
    shift: float = 1.0

    @classmethod
    def fit(cls, margins: Floats, labels: IntArray, weights: Floats | None = None) -> tuple["Sigmoid", float]:
        """The map with the smallest log-loss of the classes, and that log-loss, see `held_out_loss`.

        The probabilities of the classes are the sigmoids, divided by their sum.

        Args:
            margins: margins of M held-out samples, shape (M, C).
            labels: class of each sample, shape (M,).
            weights: weight of each sample, shape (M,); equal weights by default.
        """
        from scipy.optimize import minimize  # late: predictions without it start sooner

        table, rows = margins.astype(np.float64), np.arange(len(labels))
        sizes = np.ones(len(labels)) if weights is None else weights.astype(np.float64)

        def value(point: Floats) -> tuple[float, Floats]:
            slope = np.exp(point[0])
            scaled = slope * table + point[1]
            logs = log_probabilities(log_sigmoid(scaled))
            slopes = np.exp(logs) * (sizes[:, None] + 1 / len(rows)) - 1 / logs.size
            slopes[rows, labels] -= sizes
            slopes *= np.exp(-np.logaddexp(0, scaled))  # the sigmoid of -scaled
            return float(-(sizes * logs[rows, labels]).sum() - logs.mean()), np.array(
                [slope * (slopes * table).sum(), slopes.sum()]
            )

        usual = cls()
        start, bounds = [np.log(usual.slope), usual.shift], [(-5, 5), (-10, 10)]
        found = minimize(value, start, jac=True, method="L-BFGS-B", bounds=bounds)
        return cls(float(np.exp(found.x[0])), float(found.x[1])), float(found.fun)

    def scores(self, margins: Floats) -> Floats:
        """Scores of margins, shape (M, C) to (M, C)."""
        return log_sigmoid(self.slope * margins + self.shift)


def log_sigmoid(values: Floats) -> Floats:
    """Logarithms of sigmoids, of any shape; beyond `SATURATED` they rise linearly."""
    logs: Floats = -np.logaddexp(0, -values) + np.maximum(values - SATURATED, 0)
    return logs


class LogSigmoidLayer(RawLinear):
    """A linear layer whose outputs are the log-sigmoids of its margins.

    Shape:
        features: (B, F), dense or sparse CSR. Output: (B, C).
    """

    def forward(self, features: Tensor) -> Tensor:
        """Shape (B, F) to (B, C)."""
        return _log_sigmoids(super().forward(features))

    def contributions(self, given: Comparison) -> Tensor:
        """See `Contributions`: parts of a margin, each times the mean slope of the sigmoid between bias and margin."""
        own, others = (self._parts(rows, given) for rows in (given.classes, given.rivals))
        return own - others

    def _parts(self, rows: Tensor, given: Comparison) -> Tensor:
        parts, bias = self.weight[rows[:, None], given.columns] * given.values, self.bias[rows]
        change = parts.sum(dim=1)
        slopes = (_log_sigmoids(bias + change) - _log_sigmoids(bias)) / change
        return parts * torch.where(change == 0, 0, slopes)[:, None]


def _log_sigmoids(margins: Tensor) -> Tensor:
    """`log_sigmoid` of a tensor."""
    return F.relu(margins - SATURATED) - F.softplus(-margins)  # ONNX has no stable logsigmoid


def linear_svm(taxonomy: Taxonomy, in_features: int, *, strength: float | None = None) -> Method:
    """Flat linear support vector machine: one class against the rest, squared hinge, as in scikit-learn's LinearSVC.

    What practitioners use on texts, and hard to beat there. The class scores are log-sigmoids of the margins, whose
    two parameters are fitted by log-loss on validation (8 and 1 without), so that their softmax is a usable
    probability. The strength is chosen from 1 in powers of two between 1/8 and 8; it is 1 with fewer than 200
    validation samples. Dense features are centred, divided by the root of their deviation and scaled; n-grams are used
    as they are.

    Args:
        taxonomy: the tree; only its number of classes is read.
        in_features: width F of the input features.
        strength: inverse strength of the penalty, `C` of LinearSVC; None (default) to choose it on validation samples.
    """
    if strength is not None and strength <= 0:
        raise MethodError(f"strength: expected a number above 0, got {strength:g}")
    head = LogSigmoidLayer(in_features, taxonomy.num_classes)
    return Method(
        head=head,
        loss=CrossEntropyLoss(),
        class_scores=nn.Identity(),
        node_scores=SummedProbabilities(taxonomy),
        contributions=head.contributions,
        solver=SupportVectorSolver(head, strength),
    )


@dataclass(eq=False)
class SupportVectorSolver(Solver):
    """Sets a linear layer to the weights of scikit-learn's LinearSVC.

    Dense features are centred and scaled to a mean squared norm of 1, so that the same strengths suit all of them.
    Strength and sigmoid are chosen in the first call; later calls keep them.
    """

    head: LogSigmoidLayer  # layer to set
    strength: float | None  # inverse strength of the penalty; None before it is chosen
    sigmoid: Sigmoid | None = None  # map from margins to scores; None before the first call
    chosen: ClassVar = ("strength", "sigmoid")

    def __call__(self, train: LabelledFeatures, val: LabelledFeatures | None, *, seed: int) -> Solved:
        """See `Solver`; without validation samples in the first call, strength and sigmoid are usual ones."""
        known = None if val is None or self.sigmoid is not None else val.rows(np.isin(val.labels, train.labels))
        if known:
            return self._choose(train, known, seed)
        self.strength = USUAL_STRENGTH if self.strength is None else self.strength
        self.sigmoid = self.sigmoid or Sigmoid()
        self._set(*margin_weights(train, self.strength, len(self.head.bias), seed=seed))
        return Solved()

    def _choose(self, train: LabelledFeatures, val: LabelledFeatures, seed: int) -> Solved:
        """Set the layer with the strength and the sigmoid of the smallest log-loss on validation samples."""
        least = np.inf

        def loss(strength: float) -> float:
            nonlocal least
            weight, bias = margin_weights(train, strength, len(self.head.bias), seed=seed)
            margins = val.features @ weight.numpy().T + bias.numpy()  # (M, C)
            sigmoid, found = Sigmoid.fit(margins, val.labels, val.weights)
            if found < least:
                least, self.strength, self.sigmoid = found, strength, sigmoid
                self._set(weight, bias)
            return found

        if self.strength is not None or len(val) < ENOUGH_TO_CHOOSE_STRENGTH:
            loss(USUAL_STRENGTH if self.strength is None else self.strength)
            return Solved()
        lowest(loss, STRENGTHS, STRENGTHS.index(USUAL_STRENGTH))
        return Solved(f"C {self.strength:g}")

    def _set(self, weight: Tensor, bias: Tensor) -> None:
        """Set the layer to the weights of margins, scaled for the sigmoid."""
        assert self.sigmoid is not None
        self.head.set(weight * self.sigmoid.slope, bias * self.sigmoid.slope + self.sigmoid.shift)


def margin_weights(train: LabelledFeatures, strength: float, classes: int, *, seed: int) -> tuple[Tensor, Tensor]:
    """Weight (C, F) and bias (C,) of LinearSVC, for features as they are given.

    Args:
        train: training samples.
        strength: inverse strength of the penalty.
        classes: number of classes C, of which some may have no samples.
        seed: seed of the order of the samples.
    """
    from sklearn.svm import LinearSVC

    scaled = None if issparse(train.features) else DenseFeatures(train.features, SCALING)
    machine = LinearSVC(C=strength, random_state=seed, dual="auto")
    inputs = train.features if scaled is None else scaled.rows.numpy()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)  # few samples of each, as given
        machine.fit(inputs, train.labels, sample_weight=train.weights)
    found = np.asarray(machine.classes_)
    rows, biases = machine.coef_, machine.intercept_
    if len(found) == 2:  # one row separates two classes
        rows, biases = np.concatenate([-rows, rows]) / 2, np.concatenate([-biases, biases]) / 2
    weight = torch.as_tensor(rows.mean(axis=0), dtype=torch.float32).repeat(classes, 1)
    bias = torch.full((classes,), float(biases.mean()) + ABSENT)
    weight[found] = torch.as_tensor(rows, dtype=weight.dtype)
    bias[found] = torch.as_tensor(biases, dtype=bias.dtype)
    if scaled is not None:
        weight /= scaled.scale
        bias -= weight @ scaled.shift
    return weight, bias
