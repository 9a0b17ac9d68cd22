"""The flat linear support vector machine that practitioners use on texts."""

from dataclasses import dataclass

import numpy as np
import torch
from scipy.sparse import issparse
from torch import nn

from hiercos.losses import CrossEntropyLoss
from hiercos.methods.linear.logistic import RawLinear, best_inverse
from hiercos.methods.linear.problem_features import DenseFeatures
from hiercos.methods.registry import METHODS, Method, SummedProbabilities
from hiercos.methods.solver import LabelledFeatures, MemberTraining, Solved
from hiercos.taxonomy import Taxonomy

ABSENT = -1.0  # margin of a class without samples less the mean margin of the others: it is never the answer
SCALING = 0.5  # of dense features, see `DenseFeatures`


@METHODS.register("linear-svm", uses_tree=False, graphs=True, solved=True, raw_inputs=True)
def linear_svm(taxonomy: Taxonomy, in_features: int, *, strength: float = 1.0) -> Method:
    """Flat linear support vector machine: one class against the rest, squared hinge, as in scikit-learn's LinearSVC.

    Args:
        taxonomy: the tree; only its number of classes is read.
        in_features: width F of the input features.
        strength: inverse strength of the penalty, `C` of LinearSVC.
    """
    head = RawLinear(in_features, taxonomy.num_classes)
    return Method(
        head=head,
        loss=CrossEntropyLoss(),
        class_scores=nn.Identity(),
        node_scores=SummedProbabilities(taxonomy),
        solver=SupportVectorSolver(head, strength),
    )


@dataclass(frozen=True, eq=False)
class SupportVectorSolver:
    """Sets a linear layer to the weights of scikit-learn's LinearSVC.

    Dense features are centred and scaled to a mean squared norm of 1, so that the same strength suits all of them. The
    margins are multiplied by the inverse temperature that suits validation best.

    Attributes:
        head: layer to set.
        strength: inverse strength of the penalty.
    """

    head: RawLinear
    strength: float

    def __call__(
        self,
        train: LabelledFeatures,
        val: LabelledFeatures | None,
        *,
        seed: int,
        train_member: MemberTraining | None = None,  # noqa: ARG002  # there are no members
    ) -> Solved:
        """See `Solver`; validation samples fix the scale of the margins, so that they are logits."""
        from sklearn.svm import LinearSVC

        scaled = None if issparse(train.features) else DenseFeatures(train.features, SCALING)
        machine = LinearSVC(C=self.strength, random_state=seed, dual="auto")
        inputs = train.features if scaled is None else scaled.rows.numpy()
        machine.fit(inputs, train.labels, sample_weight=train.weights)
        found = np.asarray(machine.classes_)
        rows, biases = machine.coef_, machine.intercept_
        if len(found) == 2:  # one row separates two classes
            rows, biases = np.concatenate([-rows, rows]) / 2, np.concatenate([-biases, biases]) / 2
        weight = torch.as_tensor(rows.mean(axis=0), dtype=self.head.weight.dtype).repeat(len(self.head.weight), 1)
        bias = torch.full_like(self.head.bias, float(biases.mean()) + ABSENT)
        weight[found] = torch.as_tensor(rows, dtype=weight.dtype)
        bias[found] = torch.as_tensor(biases, dtype=bias.dtype)
        if scaled is not None:
            weight /= scaled.scale
            bias -= weight @ scaled.shift
        known = None if val is None else val.rows(np.isin(val.labels, found))
        if known is not None and len(known):
            margins = known.features @ weight.numpy().T + bias.numpy()  # (M, C)
            inverse, _ = best_inverse(margins.astype(np.float64), known.labels)
            weight, bias = weight * inverse, bias * inverse
        self.head.set(weight, bias)
        return Solved()
