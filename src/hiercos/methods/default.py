"""The default method: a committee of what suits the data, chosen by held-out log-loss (docs/default.md)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.sparse import issparse

from hiercos.methods.committee import Committee, CommitteeSolver, CommitteeTraining, committee_method
from hiercos.methods.model import Model
from hiercos.methods.registry import METHODS, Method
from hiercos.taxonomy import Taxonomy

DEFAULT = "default"  # name of the default method
DEFAULT_RULE = "default"  # a name of `hiercos.decisions.RULES`
FINE_TUNED_DEFAULT = "path-softmax"  # where a backbone is trained too, whose features a solver cannot take

Effort = Literal["quick", "normal", "best"]
LINEAR, SPARSE = ("tree-logistic",), ("linear-svm",)  # the second on sparse features only
TREE_HEADS = ("barz-denzler", "haframe", "hier-cos")  # beside flat cross-entropy, each another view of the tree
WIDTH = 512
DROPOUTS = (0.1, 0.5)
FEW = 500  # training samples below which only linear heads are tried


@METHODS.register(DEFAULT, raw_inputs=True)
def default(
    taxonomy: Taxonomy,
    in_features: int,
    *,
    effort: Effort = "normal",
    width: int | None = None,
    dropouts: Sequence[float] = DROPOUTS,
    members: Sequence[str] | None = None,
    dim: int | None = None,
) -> Method:
    """A committee of linear and wide heads, with and without the tree, weighted by held-out log-loss.

    Args:
        taxonomy: the tree.
        in_features: width F of the input features.
        effort: "quick" for linear heads alone, "normal" for wide heads beside them, "best" for two of each wide head.
        width: width of the transformation modules of wide heads; None for 512.
        dropouts: dropout rates of wide heads to choose from.
        members: methods of a trained committee, whose solver sets this option.
        dim: width of the projection of a trained committee on sparse inputs; None without one.
    """
    head = Committee(taxonomy, in_features, members or LINEAR, {"width": width or WIDTH}, dim)
    return committee_method(head, DefaultSolver(head, (), effort, dropouts))


@dataclass(frozen=True, eq=False)
class DefaultSolver(CommitteeSolver):
    """Trains what suits the size of the data, and pools it.

    Attributes:
        effort: see `default`.
        dropouts: see `default`.
    """

    effort: Effort = "normal"
    dropouts: Sequence[float] = DROPOUTS

    def candidates(self, training: CommitteeTraining) -> list[Model]:
        """Linear heads, and wide ones if there are enough samples and the effort allows them."""
        names = [*LINEAR, *SPARSE] if issparse(training.train[True].features) else LINEAR
        models = [training.trained(name, place) for place, name in enumerate(names)]
        if self.effort != "quick" and len(training.train[True]) >= FEW:
            for repeat in range(2 if self.effort == "best" else 1):
                models += _wide_heads(training, 10 * (repeat + 1), self.dropouts)
        return models


def _wide_heads(training: CommitteeTraining, place: int, dropouts: Sequence[float]) -> list[Model]:
    """A flat head at each dropout rate, and a head for each view of the tree at the best rate."""
    flat = [training.trained("cross-entropy-mlp", place + index, dropout=rate) for index, rate in enumerate(dropouts)]
    rate = dropouts[int(np.argmin([training.loss(model) for model in flat]))]
    start = place + len(flat)
    return [*flat, *(training.trained(name, start + index, dropout=rate) for index, name in enumerate(TREE_HEADS))]
