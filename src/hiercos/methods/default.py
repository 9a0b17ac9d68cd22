"""The default method: a committee of what suits the data, chosen by held-out log-loss (docs/default.md)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.sparse import issparse

from hiercos.methods.committee import Committee, CommitteeTraining, committee_method
from hiercos.methods.model import Model
from hiercos.methods.registry import METHODS, Method
from hiercos.methods.solver import LabelledFeatures, MemberTraining, Solved, folds
from hiercos.taxonomy import Taxonomy

DEFAULT = "default"  # name of the default method
DEFAULT_RULE = "hops"  # a name of `hiercos.decisions.RULES`

Effort = Literal["quick", "normal", "best"]
TREE_HEADS = ("barz-denzler", "haframe", "hier-cos")  # beside flat cross-entropy, each another view of the tree
DROPOUTS = (0.1, 0.5)
FEW = 500  # training samples below which only linear heads are tried
FOLDS = 7  # of which one is held out, if there are no validation samples


@METHODS.register(DEFAULT, raw_inputs=True)
def default(
    taxonomy: Taxonomy,
    in_features: int,
    *,
    effort: Effort = "normal",
    width: int = 512,
    members: Sequence[str] | None = None,
    dim: int | None = None,
) -> Method:
    """A committee of linear and wide heads, with and without the tree, weighted by held-out log-loss.

    Args:
        taxonomy: the tree.
        in_features: width F of the input features.
        effort: "quick" for linear heads alone, "normal" for wide heads beside them, "best" for two of each wide head.
        width: width of the transformation modules of wide heads.
        members: methods of a trained committee; None before training.
        dim: width of the projection of a trained committee on sparse inputs; None without one.
    """
    head = Committee(taxonomy, in_features, members or (), {"width": width}, dim)
    return committee_method(head, DefaultSolver(head, effort))


@dataclass(frozen=True, eq=False)
class DefaultSolver:
    """Trains what suits the size of the data, and pools it.

    Attributes:
        head: committee to fill.
        effort: see `default`.
    """

    head: Committee
    effort: Effort

    def __call__(
        self, train: LabelledFeatures, val: LabelledFeatures | None, *, seed: int, train_member: MemberTraining
    ) -> Solved:
        """See `Solver`; without validation samples, a seventh of the training samples is held out."""
        if val is None:
            mask = folds(train.labels, FOLDS, seed)[0]
            train, val = train.rows(~mask), train.rows(mask)
        training = CommitteeTraining(self.head, train, val, seed, train_member)
        linear = ("tree-logistic", "linear-svm") if issparse(train.features) else ("tree-logistic",)
        models = [training.trained(name, place) for place, name in enumerate(linear)]
        if self.effort != "quick" and len(train) >= FEW:
            for repeat in range(2 if self.effort == "best" else 1):
                models += self._wide(training, 10 * (repeat + 1))
        return training.pooled(models)

    def _wide(self, training: CommitteeTraining, place: int) -> list[Model]:
        """Wide heads: flat ones with little and much dropout, and one for each view of the tree at the better rate."""
        flat = [
            training.trained("cross-entropy-mlp", place + index, dropout=rate) for index, rate in enumerate(DROPOUTS)
        ]
        losses = [training.loss(model) for model in flat]
        rate = DROPOUTS[int(np.argmin(losses))]
        others = [
            training.trained(name, place + 2 + index, dropout=rate) for index, name in enumerate(TREE_HEADS)
        ]
        return [*flat, *others]
