"""A committee of linear and wide heads that suit the data, chosen by held-out log-loss; the default method."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal

import numpy as np
from scipy.sparse import issparse

from hiercos.methods.committees.committee import Committee
from hiercos.methods.committees.flat_committee import checked_width
from hiercos.methods.committees.solver import ENOUGH_TO_COMPARE_HEADS, CommitteeSolver, committee_method
from hiercos.methods.committees.training import FLAT_HEAD, Candidate, CommitteeTraining, Outcome
from hiercos.methods.model import Method
from hiercos.methods.solver import LabelledFeatures, MemberTraining, Solved
from hiercos.methods.table import METHODS
from hiercos.taxonomy import Taxonomy

Effort = Literal["quick", "normal", "best"]
LINEAR, SPARSE = "tree-logistic", "linear-svm"  # the second on sparse features only
MOST_SVM_PRODUCTS = 10**9  # stored entries times classes beyond which it takes many minutes, for hardly any weight
INNER_HEAD = "path-softmax"  # beside the solvers if some labels are inner nodes
TREE_HEADS = ("barz-denzler", "haframe", "hier-cos")  # each another view of the tree
LAST_FLAT_HEADS = 2  # behind the first two and one tree head, if held-out samples tell when to stop
DROPOUTS = (0.1, 0.5)
FEW = 500  # training samples below which only linear heads are tried
PATIENCE_HEADS = 2  # wide heads in a row that must help, for the next one to be trained
LEAST_RELATIVE_GAIN = 0.002  # share of the log-loss that these heads together must save
MIN_STANDARD_ERRORS = 2.0  # standard errors of a gain beyond which it is clear


def committee(
    taxonomy: Taxonomy,
    in_features: int,
    *,
    effort: Effort = "normal",
    width: int | None = None,
    dropouts: Sequence[float] = DROPOUTS,
    members: Sequence[str] | None = None,
    dim: int | None = None,
    first_share: float = 0.0,
) -> Method:
    """A committee of linear and wide heads, with and without the tree, weighted by held-out log-loss.

    Args:
        taxonomy: the tree.
        in_features: width F of the input features.
        effort: "quick" for linear heads alone, "normal" for wide heads beside them while they help on held-out samples,
            "best" for two of each wide head.
        width: width of the transformation modules of wide heads; None for 512.
        dropouts: dropout rates of wide heads to choose from.
        members: methods of a trained committee, whose solver sets this option.
        dim: width of the projection of a trained committee on sparse inputs; None without one.
        first_share: share of the linear head alone in the probabilities of a trained committee, set by its solver.
    """
    options = {"width": checked_width(width), "probabilities": "norm"}  # class scores are what is pooled
    head = Committee(taxonomy, in_features, members or (LINEAR,), options, dim=dim, first_share=first_share)
    return committee_method(head, MixedSolver(head, (), effort, dropouts))


@dataclass(frozen=True, eq=False)
class MixedSolver(CommitteeSolver):
    """Trains what suits the size of the data, and pools it.

    Attributes:
        effort: see `committee`.
        dropouts: see `committee`.
    """

    effort: Effort = "normal"
    dropouts: Sequence[float] = DROPOUTS
    has_first_share = True

    def __call__(
        self, train: LabelledFeatures, val: LabelledFeatures | None, *, seed: int, train_member: MemberTraining
    ) -> Solved:
        """See `Solver`; few samples of classes without validation have one linear head, chosen by cross-validation."""
        if val is not None or len(train) >= FEW or self.head.continues or not self._is_class(train).all():
            return super().__call__(train, val, seed=seed, train_member=train_member)
        member = self.head.new_member(LINEAR)
        solved = member.solve(train, None, seed=seed, train_member=train_member)
        self.head.set_members([member], np.ones(1), first_share=0.0)
        return Solved(f"{LINEAR}, {solved.choice}", {"members": [LINEAR], "dim": None, "first_share": 0.0})

    def candidates(self, training: CommitteeTraining) -> list[Candidate]:
        """Linear heads, and wide ones if there are enough samples and the effort allows them."""
        is_sparse = issparse(training.train[True].features)
        names = self._linear_heads(training.train[True].features)
        places = self._wide_places(len(training.train[True]))
        stops = self.effort == "normal" and (is_sparse or len(training.labels) >= ENOUGH_TO_COMPARE_HEADS)
        tree_heads = _allowed(TREE_HEADS, training.head.taxonomy)
        others = [*tree_heads[:1], *[FLAT_HEAD] * LAST_FLAT_HEADS] if stops else tree_heads
        most = len(names) + training.has_inner_labels + len(places) * (len(self.dropouts) + len(others))
        training.total = f"at most {most}" if stops and places else str(most)
        found = [training.trained(name, place) for place, name in enumerate(names)]
        if training.has_inner_labels:  # the solvers learn from classes alone
            found.append(training.trained(INNER_HEAD, len(names), dropout=self.dropouts[0]))
        wide = chain.from_iterable(_wide_heads(training, place, self.dropouts, others, found[0]) for place in places)
        if stops:
            return until_no_gain(training, found, wide, criterion=is_clear_gain if is_sparse else is_gain)
        return [*found, *wide]

    def _linear_heads(self, features: Any) -> list[str]:
        """Linear heads for training features: a support vector machine on sparse ones, if it takes minutes at most."""
        if not issparse(features):
            return [LINEAR]
        is_affordable = self.effort == "best" or features.nnz * self.head.taxonomy.num_classes <= MOST_SVM_PRODUCTS
        return [LINEAR, SPARSE] if is_affordable else [LINEAR]

    def _wide_places(self, samples: int) -> tuple[int, ...]:
        """Place of the first head of each set of wide heads, on a number of training samples; none on few."""
        if self.effort == "quick" or samples < FEW:
            return ()
        return (10, 20) if self.effort == "best" else (10,)


def until_no_gain(
    training: CommitteeTraining,
    found: Sequence[Candidate],
    heads: Iterable[Candidate],
    *,
    criterion: Callable[[Outcome, Outcome], bool],
) -> list[Candidate]:
    """Candidates and further heads, until `PATIENCE_HEADS` in a row are no gain; these are left out.

    Args:
        training: training with the samples to weigh the members on.
        found: candidates to begin with.
        heads: further candidates, each trained when it is asked for.
        criterion: whether the second outcome is better than the first, on the same samples.
    """
    candidates = list(found)
    outcomes = [training.outcome(candidates)]
    for head in heads:
        candidates.append(head)
        outcomes.append(training.outcome(candidates))
        if len(outcomes) > PATIENCE_HEADS and not criterion(outcomes[-1 - PATIENCE_HEADS], outcomes[-1]):
            return candidates[:-PATIENCE_HEADS]
    return candidates


def is_gain(before: Outcome, after: Outcome) -> bool:
    """Whether the log-loss is lower by a noticeable share."""
    return float(after.losses.mean()) <= (1 - LEAST_RELATIVE_GAIN) * float(before.losses.mean())


def is_clear_gain(before: Outcome, after: Outcome) -> bool:
    """Whether the log-loss is lower by more than `MIN_STANDARD_ERRORS` as well, and no fewer classes are right.

    For sparse features, of which wide heads see a projection: they are seldom better than linear heads on all features.
    """
    gain = before.losses - after.losses
    error = float(gain.std()) / len(gain) ** 0.5
    return is_gain(before, after) and float(gain.mean()) > MIN_STANDARD_ERRORS * error and after.top1 >= before.top1


def _wide_heads(
    training: CommitteeTraining, place: int, dropouts: Sequence[float], others: Sequence[str], first: Candidate
) -> Iterator[Candidate]:
    """A flat head at each dropout rate, then the others at the best rate beside the first candidate, one by one."""
    losses = []
    for index, rate in enumerate(dropouts):
        head = training.trained(FLAT_HEAD, place + index, dropout=rate)
        losses.append(training.loss(head, first))
        yield head
    rate = dropouts[int(np.argmin(losses))]
    for index, name in enumerate(others):
        yield training.trained(name, place + len(dropouts) + index, dropout=rate)


def _allowed(names: Sequence[str], taxonomy: Taxonomy) -> list[str]:
    """Those of some methods that take the taxonomy."""
    return [name for name in names if taxonomy.is_tree or METHODS.traits(name).graphs]
