"""The flat linear support vector machine that practitioners use on texts."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.sparse import issparse
from torch import Tensor, nn
from torch.nn import functional as F

from hiercos.losses import CrossEntropyLoss
from hiercos.methods.linear.logistic import RawLinear, held_out_loss, lowest
from hiercos.methods.linear.problem_features import DenseFeatures
from hiercos.methods.registry import METHODS, Method, SummedProbabilities
from hiercos.methods.solver import LabelledFeatures, MemberTraining, Solved
from hiercos.taxonomy import Floats, IntArray, Taxonomy

ABSENT = -1.0  # margin of a class without samples less the mean margin of the others: it is never the answer
SCALING = 0.5  # of dense features, see `DenseFeatures`
STRENGTHS = tuple(2.0**power for power in range(-3, 4))  # to choose from
USUAL_STRENGTH = 1.0
ENOUGH_TO_CHOOSE_STRENGTH = 200  # validation samples
SATURATED = 80.0  # input beyond which a sigmoid is 1 to the last bit; scores rise on, so that no two become equal


@dataclass(frozen=True)
class Sigmoid:
    """Map from a margin to the logarithm of a probability: log sigmoid(slope * margin + shift) [platt1999].

    Attributes:
        slope: above 0.
        shift: any number.
    """

    slope: float = 8.0
    shift: float = 1.0

    @classmethod
    def fit(cls, margins: Floats, labels: IntArray) -> tuple["Sigmoid", float]:
        """The map with the smallest log-loss of the classes, and that log-loss.

        The probabilities of the classes are the sigmoids, divided by their sum.

        Args:
            margins: margins of M held-out samples, shape (M, C).
            labels: class of each sample, shape (M,).
        """
        from scipy.optimize import minimize  # late: predictions without it start sooner

        table = margins.astype(np.float64)

        def loss(point: Floats) -> float:
            return held_out_loss(cls(float(np.exp(point[0])), float(point[1])).scores(table), labels)

        usual = cls()
        found = minimize(loss, [np.log(usual.slope), usual.shift], method="L-BFGS-B", bounds=[(-5, 5), (-10, 10)])
        return cls(float(np.exp(found.x[0])), float(found.x[1])), float(found.fun)

    def scores(self, margins: Floats) -> Floats:
        """Scores of margins, shape (M, C) to (M, C)."""
        scaled = self.slope * margins + self.shift
        values: Floats = -np.logaddexp(0, -scaled) + np.maximum(scaled - SATURATED, 0)
        return values


class MarginLayer(RawLinear):
    """A linear layer whose outputs are the log-sigmoids of its margins; in models of older versions, the margins.

    Shape:
        features: (B, F), dense or sparse CSR. Output: (B, C).
    """

    has_sigmoid: Tensor  # scalar, 0 in models of older versions

    def __init__(self, in_features: int, out_features: int) -> None:
        super().__init__(in_features, out_features)
        self.register_buffer("has_sigmoid", torch.ones(()))

    def forward(self, features: Tensor) -> Tensor:
        """Shape (B, F) to (B, C)."""
        margins = super().forward(features)
        scores = F.logsigmoid(margins) + F.relu(margins - SATURATED)
        return torch.where(self.has_sigmoid > 0, scores, margins)

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *others: Any) -> None:
        """Load the weights; without the mark of the sigmoid they are of an older version."""
        state_dict.setdefault(f"{prefix}has_sigmoid", torch.zeros(()))
        super()._load_from_state_dict(state_dict, prefix, *others)


@METHODS.register("linear-svm", uses_tree=False, graphs=True, solved=True, raw_inputs=True)
def linear_svm(taxonomy: Taxonomy, in_features: int, *, strength: float | None = None) -> Method:
    """Flat linear support vector machine: one class against the rest, squared hinge, as in scikit-learn's LinearSVC.

    Args:
        taxonomy: the tree; only its number of classes is read.
        in_features: width F of the input features.
        strength: inverse strength of the penalty, `C` of LinearSVC; None (default) to choose it on validation samples.
    """
    head = MarginLayer(in_features, taxonomy.num_classes)
    return Method(
        head=head,
        loss=CrossEntropyLoss(),
        class_scores=nn.Identity(),
        node_scores=SummedProbabilities(taxonomy),
        solver=SupportVectorSolver(head, strength),
    )


@dataclass(eq=False)
class SupportVectorSolver:
    """Sets a linear layer to the weights of scikit-learn's LinearSVC.

    Dense features are centred and scaled to a mean squared norm of 1, so that the same strengths suit all of them.
    Strength and sigmoid are chosen in the first call; later calls keep them.

    Attributes:
        head: layer to set.
        strength: inverse strength of the penalty; None before it is chosen.
        sigmoid: map from margins to scores; None before the first call.
    """

    head: MarginLayer
    strength: float | None
    sigmoid: Sigmoid | None = None

    def __call__(
        self,
        train: LabelledFeatures,
        val: LabelledFeatures | None,
        *,
        seed: int,
        train_member: MemberTraining | None = None,  # noqa: ARG002  # there are no members
    ) -> Solved:
        """See `Solver`; without validation samples in the first call, strength and sigmoid are usual ones."""
        known = None if val is None or self.sigmoid is not None else val.rows(np.isin(val.labels, train.labels))
        layer = self._chosen_layer(train, known, seed) if known else None
        self.strength, self.sigmoid = self.strength or USUAL_STRENGTH, self.sigmoid or Sigmoid()
        weight, bias = layer or margin_layer(train, self.strength, self.head, seed=seed)
        self.head.set(weight * self.sigmoid.slope, bias * self.sigmoid.slope + self.sigmoid.shift)
        return Solved(f"C {self.strength:g}")

    def _chosen_layer(self, train: LabelledFeatures, val: LabelledFeatures, seed: int) -> tuple[Tensor, Tensor]:
        """Choose strength and sigmoid by log-loss on validation samples; the layer with that strength."""
        layers: dict[float, tuple[Tensor, Tensor]] = {}
        sigmoids: dict[float, Sigmoid] = {}

        def loss(strength: float) -> float:
            weight, bias = layers[strength] = margin_layer(train, strength, self.head, seed=seed)
            margins = val.features @ weight.numpy().T + bias.numpy()  # (M, C)
            sigmoids[strength], found = Sigmoid.fit(margins, val.labels)
            return found

        usual = self.strength or USUAL_STRENGTH
        has_choice = self.strength is None and len(val) >= ENOUGH_TO_CHOOSE_STRENGTH
        strengths = STRENGTHS if has_choice else (usual,)
        chosen, _ = lowest(loss, strengths, strengths.index(usual))
        self.strength, self.sigmoid = chosen, sigmoids[chosen]
        return layers[chosen]


def margin_layer(train: LabelledFeatures, strength: float, head: RawLinear, *, seed: int) -> tuple[Tensor, Tensor]:
    """Weight (C, F) and bias (C,) of LinearSVC on features as they are given, in the shape of a layer.

    Args:
        train: training samples.
        strength: inverse strength of the penalty.
        head: layer of the shape that is asked for.
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
    weight = torch.as_tensor(rows.mean(axis=0), dtype=head.weight.dtype).repeat(len(head.weight), 1)
    bias = torch.full_like(head.bias, float(biases.mean()) + ABSENT).detach()
    weight[found] = torch.as_tensor(rows, dtype=weight.dtype)
    bias[found] = torch.as_tensor(biases, dtype=bias.dtype)
    if scaled is not None:
        weight /= scaled.scale
        bias -= weight @ scaled.shift
    return weight, bias
