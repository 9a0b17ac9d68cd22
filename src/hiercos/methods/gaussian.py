"""A Gaussian for each class with one covariance: a linear head without training."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from hiercos.losses import CrossEntropyLoss
from hiercos.methods.contributions import linear_contributions
from hiercos.methods.model import Method
from hiercos.methods.solver import LabelledFeatures, Solved, Solver
from hiercos.taxonomy import Taxonomy


def gaussian(taxonomy: Taxonomy, in_features: int) -> Method:
    """Gaussian discriminant analysis: class means and one shrunk covariance, without training.

    The covariance is shrunk as Ledoit and Wolf do. Nothing is chosen: the baseline in seconds. Node probabilities are
    sums over classes.

    Args:
        taxonomy: the tree; only its number of classes is read.
        in_features: width F of the input features.
    """
    head = nn.Linear(in_features, taxonomy.num_classes)
    given = linear_contributions(head)
    return Method.of_class_logits(head, CrossEntropyLoss(), taxonomy, contributions=given, solver=GaussianSolver(head))


@dataclass(frozen=True, eq=False)
class GaussianSolver(Solver):
    """Sets a linear layer to the posterior of Gaussians with the shrinkage of Ledoit and Wolf [ledoit2004].

    Classes without samples get the mean of all samples and the smallest share.
    """

    head: nn.Linear

    def __call__(
        self,
        train: LabelledFeatures,
        val: LabelledFeatures | None,  # noqa: ARG002  # nothing to choose
        *,
        seed: int,  # noqa: ARG002  # nothing is random
    ) -> Solved:
        """See `Solver`."""
        from sklearn.covariance import ledoit_wolf

        features = np.asarray(train.features, dtype=np.float64)
        weights = np.ones(len(train)) if train.weights is None else np.asarray(train.weights, dtype=np.float64)
        classes = self.head.out_features
        totals = np.bincount(train.labels, weights, minlength=classes)  # (C,)
        sums = np.zeros((classes, features.shape[1]))
        np.add.at(sums, train.labels, features * weights[:, None])
        overall = sums.sum(axis=0) / totals.sum()
        means = np.where(totals[:, None] > 0, sums / np.maximum(totals, 1e-12)[:, None], overall)  # (C, F)
        residuals = (features - means[train.labels]) * np.sqrt(weights / weights.mean())[:, None]
        covariance, _ = ledoit_wolf(residuals, assume_centered=True)
        weight = np.linalg.solve(covariance + 1e-9 * np.eye(len(covariance)), means.T).T  # (C, F)
        shares = np.maximum(totals, totals[totals > 0].min() / 2) / totals.sum()
        bias = np.log(shares) - 0.5 * (weight * means).sum(axis=1)
        with torch.no_grad():
            self.head.weight.copy_(torch.as_tensor(weight))
            self.head.bias.copy_(torch.as_tensor(bias))
        return Solved()
