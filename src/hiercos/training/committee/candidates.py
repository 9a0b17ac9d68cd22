"""Members that suit the data: linear heads, and wide ones for as long as they pay on held-out samples."""

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from scipy.sparse import issparse

from hiercos.methods import METHODS, Committee, LabelledFeatures
from hiercos.taxonomy import Taxonomy
from hiercos.training.committee.members import Candidate, CommitteeTraining

LINEAR, SPARSE = "tree-logistic", "linear-svm"  # the second on sparse features at best effort only
ALONG_TREE = ("siblings", "centroids")  # first on sparse features, whose cost does not grow with rows times classes
SHORT = {"variance": 256.0, "steps": 20}  # settings of the linear head beside them, which cost no search
MOST_SHORT_WEIGHTS = 1 << 23  # weights of that head, 32 MB
MOST_DENSE_PRODUCTS = 2 * 10**10  # rows times features times classes of dense ones, beyond which siblings come first
INNER_HEAD = "path-softmax"  # beside solvers that learn from classes alone, if some labels are inner nodes
FLAT_HEAD = "cross-entropy-mlp"
TREE_HEADS = ("barz-denzler", "haframe", "hier-cos")  # each another view of the tree
LAST_FLAT_HEADS = 2  # behind the first two and one tree head, if held-out samples tell when to stop
FEW = 500  # training samples below which only linear heads are tried
ENOUGH_TO_COMPARE_HEADS = 500  # validation samples that are enough to stop and to compare heads by
PATIENCE_HEADS = 2  # wide heads in a row that do not pay, after which no other is trained
LEAST_GAIN = 0.005  # share of the log-loss that a member must save for each doubling of the cost so far


def linear_heads(head: Committee, train: LabelledFeatures) -> list[str]:
    """Linear heads that are trained before any is weighed."""
    sparse, tree = issparse(train.features), head.taxonomy.is_tree
    large = not sparse and train.features.size * head.taxonomy.num_classes > MOST_DENSE_PRODUCTS
    first = [*ALONG_TREE] if tree and (sparse or large) else [LINEAR]
    if head.plan.effort != "best" or not sparse:
        return first
    return [*first, *([LINEAR] if tree else []), SPARSE]


def needs_dense(head: Committee, train: LabelledFeatures) -> bool:
    """Whether members are tried that take dense features, for which sparse ones are projected."""
    if head.plan.members:
        return not all(METHODS.traits(name).raw_inputs for name in head.plan.members)
    needs_inner = _has_inner_labels(head.taxonomy, train) and ALONG_TREE[0] not in linear_heads(head, train)
    return needs_inner or bool(_wide_places(head.plan.effort, train))


def candidates(training: CommitteeTraining) -> list[Candidate]:
    """The trained members to weigh: those of the plan, or linear heads and wide ones that suit the data."""
    plan, train = training.head.plan, training.train[True]
    if plan.members:
        training.total = str(len(plan.members))
        return [training.trained(name, place) for place, name in enumerate(plan.members)]
    names, places = linear_heads(training.head, train), _wide_places(plan.effort, train)
    stops = plan.effort == "normal" and len(training.labels) >= ENOUGH_TO_COMPARE_HEADS
    tree_heads = _allowed(TREE_HEADS, training.head.taxonomy)
    others = [*tree_heads[:1], *[FLAT_HEAD] * LAST_FLAT_HEADS] if stops else tree_heads
    inner = _has_inner_labels(training.head.taxonomy, train) and ALONG_TREE[0] not in names
    short = plan.effort == "normal" and takes_short(names, training.head.taxonomy, train)
    most = len(names) + inner + short + len(places) * (len(plan.dropouts) + len(others))
    training.total = f"at most {most}" if stops and places else str(most)
    found = [training.trained(name, place) for place, name in enumerate(names)]
    if short:
        found = while_they_pay(training, found, [training.trained(LINEAR, len(names), **SHORT)])
    if inner:  # the solvers learn from classes alone
        found.append(training.trained(INNER_HEAD, len(names), dropout=plan.dropouts[0]))
    wide = chain.from_iterable(_wide_heads(training, place, others, found[0]) for place in places)
    return while_they_pay(training, found, wide) if stops else [*found, *wide]


def takes_short(names: Sequence[str], taxonomy: Taxonomy, train: LabelledFeatures) -> bool:
    """Whether a linear head over all classes is tried beside those along the tree."""
    return LINEAR not in names and train.features.shape[1] * taxonomy.num_classes <= MOST_SHORT_WEIGHTS


def _has_inner_labels(taxonomy: Taxonomy, train: LabelledFeatures) -> bool:
    return bool((train.labels >= taxonomy.num_classes).any())


def _wide_places(effort: str, train: LabelledFeatures) -> tuple[int, ...]:
    """Place of the first head of each set of wide heads; none on few samples, and on sparse ones only at best effort.

    Of sparse features wide heads see a projection, so they are seldom better than linear heads on all features.
    """
    if effort == "quick" or len(train) < FEW:
        return ()
    if effort == "best":
        return (10, 20)
    return () if issparse(train.features) else (10,)


def wide_heads(head: Committee, train: LabelledFeatures) -> int:
    """Largest number of wide heads that are trained."""
    return len(_wide_places(head.plan.effort, train)) * (len(head.plan.dropouts) + len(TREE_HEADS))


def while_they_pay(
    training: CommitteeTraining, found: Sequence[Candidate], heads: Iterable[Candidate]
) -> list[Candidate]:
    """Candidates and those further heads that pay; the last head is the `PATIENCE_HEADS`-th in a row that does not.

    Args:
        training: training with the samples to weigh the members on.
        found: candidates to begin with.
        heads: further candidates, each trained when it is asked for.
    """
    kept, in_vain = list(found), 0
    loss = training.loss(kept)
    for head in heads:
        with_head = training.loss([*kept, head])
        if pays(loss, with_head, sum(each.cost for each in kept), head.cost):
            kept, loss, in_vain = [*kept, head], with_head, 0
        elif (in_vain := in_vain + 1) == PATIENCE_HEADS:
            break
    return kept


def pays(before: float, after: float, cost: float, more: float) -> bool:
    """Whether a log-loss falls by `LEAST_GAIN` of it for each doubling of the cost."""
    return before - after >= LEAST_GAIN * before * math.log2(1 + more / cost)


def _wide_heads(
    training: CommitteeTraining, place: int, others: Sequence[str], first: Candidate
) -> Iterator[Candidate]:
    """A flat head at each dropout rate, then the others at the best rate beside the first candidate, one by one."""
    losses, dropouts = [], training.head.plan.dropouts
    for index, rate in enumerate(dropouts):
        head = training.trained(FLAT_HEAD, place + index, dropout=rate)
        losses.append(training.loss_beside(head, first))
        yield head
    rate = dropouts[losses.index(min(losses))]
    for index, name in enumerate(others):
        yield training.trained(name, place + len(dropouts) + index, dropout=rate)


def _allowed(names: Sequence[str], taxonomy: Taxonomy) -> list[str]:
    """Those of some methods that take the taxonomy."""
    return [name for name in names if taxonomy.is_tree or METHODS.traits(name).graphs]
