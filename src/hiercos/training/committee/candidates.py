"""Members that suit the data: linear heads, and wide ones for as long as they help on held-out samples."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
from scipy.sparse import issparse

from hiercos.methods import METHODS
from hiercos.taxonomy import Taxonomy
from hiercos.training.committee.members import Candidate, CommitteeTraining, Outcome

LINEAR, SPARSE = "tree-logistic", "linear-svm"  # the second on sparse features only
MOST_SVM_PRODUCTS = 10**9  # stored entries times classes beyond which it takes many minutes, for hardly any weight
INNER_HEAD = "path-softmax"  # beside the solvers if some labels are inner nodes
FLAT_HEAD = "cross-entropy-mlp"
TREE_HEADS = ("barz-denzler", "haframe", "hier-cos")  # each another view of the tree
LAST_FLAT_HEADS = 2  # behind the first two and one tree head, if held-out samples tell when to stop
FEW = 500  # training samples below which only linear heads are tried
ENOUGH_TO_COMPARE_HEADS = 500  # validation samples that are enough to stop and to compare heads by
PATIENCE_HEADS = 2  # wide heads in a row that must help, for the next one to be trained
LEAST_RELATIVE_GAIN = 0.002  # share of the log-loss that these heads together must save
MIN_STANDARD_ERRORS = 2.0  # standard errors of a gain beyond which it is clear


def candidates(training: CommitteeTraining) -> list[Candidate]:
    """The trained members to weigh: those of the plan, or linear heads and wide ones that suit the data."""
    plan = training.head.plan
    if plan.members:
        training.total = str(len(plan.members))
        return [training.trained(name, place) for place, name in enumerate(plan.members)]
    features = training.train[True].features
    names = _linear_heads(training, features)
    places = _wide_places(plan.effort, len(training.train[True]))
    stops = plan.effort == "normal" and (issparse(features) or len(training.labels) >= ENOUGH_TO_COMPARE_HEADS)
    tree_heads = _allowed(TREE_HEADS, training.head.taxonomy)
    others = [*tree_heads[:1], *[FLAT_HEAD] * LAST_FLAT_HEADS] if stops else tree_heads
    most = len(names) + training.has_inner_labels + len(places) * (len(plan.dropouts) + len(others))
    training.total = f"at most {most}" if stops and places else str(most)
    found = [training.trained(name, place) for place, name in enumerate(names)]
    if training.has_inner_labels:  # the solvers learn from classes alone
        found.append(training.trained(INNER_HEAD, len(names), dropout=plan.dropouts[0]))
    wide = chain.from_iterable(_wide_heads(training, place, others, found[0]) for place in places)
    if stops:
        return until_no_gain(training, found, wide, criterion=is_clear_gain if issparse(features) else is_gain)
    return [*found, *wide]


def _linear_heads(training: CommitteeTraining, features: Any) -> list[str]:
    """Linear heads for training features: a support vector machine on sparse ones, if it takes minutes at most."""
    if not issparse(features):
        return [LINEAR]
    is_affordable = features.nnz * training.head.taxonomy.num_classes <= MOST_SVM_PRODUCTS
    return [LINEAR, SPARSE] if is_affordable or training.head.plan.effort == "best" else [LINEAR]


def _wide_places(effort: str, samples: int) -> tuple[int, ...]:
    """Place of the first head of each set of wide heads, on a number of training samples; none on few."""
    if effort == "quick" or samples < FEW:
        return ()
    return (10, 20) if effort == "best" else (10,)


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
    training: CommitteeTraining, place: int, others: Sequence[str], first: Candidate
) -> Iterator[Candidate]:
    """A flat head at each dropout rate, then the others at the best rate beside the first candidate, one by one."""
    losses, dropouts = [], training.head.plan.dropouts
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
