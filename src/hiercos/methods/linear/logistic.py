"""Logistic regression on the features, flat or along the tree, with a strength chosen on held-out samples."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
import torch
from scipy.sparse import issparse
from torch import Tensor, nn

from hiercos.checks import check_count
from hiercos.losses import CrossEntropyLoss
from hiercos.methods.contributions import linear_contributions
from hiercos.methods.heads import SummedProbabilities
from hiercos.methods.layers import SparseMatrix, aligned
from hiercos.methods.linear.convex import MOST_STEPS, PathProblem, Prior, Solution
from hiercos.methods.linear.problem_features import problem_features
from hiercos.methods.model import Method
from hiercos.methods.solver import LabelledFeatures, Solved, Solver, folds
from hiercos.methods.table import MethodError
from hiercos.taxonomy import Floats, IntArray, Taxonomy

VARIANCES = tuple(4.0**power for power in range(-3, 9))  # of a class's weights, on features of mean squared norm 1
FIRST_VARIANCE, FIRST_SPARSE_VARIANCE = 64.0, 256.0  # where the search begins
SHARES = (0.5, 0.0, 0.8)  # of the variance, in the inner nodes; the variance is chosen with the first
SCALINGS = (1.0, 0.5, 0.0)  # of dense features, see `Prior`; the variance is chosen with the first, and again after it
DEFAULT_PRIOR, DEFAULT_SPARSE_PRIOR = Prior(4.0**6, 0.8), Prior(4.0**7, 0.8)  # where samples are too few to choose by
MIXED_UNITS = 10.0  # ratio of the largest deviations to the median, beyond which features probably mix units
ENOUGH_TO_CHOOSE_PRIOR = 1000  # validation samples; with fewer, small data are cross-validated, too
CROSS_VALIDATION_FOLDS = 5
FEWEST_PER_CLASS = 1.5  # training samples of a class, on average, for a cross-validation
MOST_CROSS_VALIDATED = 5000  # training samples up to which data are cross-validated
SEARCH_STEPS = 20

Setting = TypeVar("Setting")


class RawLinear(nn.Module):
    """A linear layer on dense or sparse CSR features.

    Shape:
        features: (B, F). Output: (B, C).
    """

    def __init__(self, in_features: int, out_features: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(out_features, in_features))
        self.bias = nn.Parameter(torch.zeros(out_features))

    def forward(self, features: Tensor) -> Tensor:
        """Shape (B, F) to (B, C)."""
        return aligned(features) @ self.weight.T + self.bias

    @torch.no_grad()
    def set(self, weight: Tensor, bias: Tensor) -> None:
        """Set weight (C, F) and bias (C,)."""
        self.weight.copy_(weight)
        self.bias.copy_(bias)


class EarlierLayer(NamedTuple):
    """Weights of an earlier model, at which a prior is centred."""

    weight: Tensor  # (C, F)
    bias: Tensor  # (C,)


def logistic(taxonomy: Taxonomy, in_features: int) -> Method:
    """Flat logistic regression, solved to its optimum, with the strength of the penalty chosen on held-out samples.

    Args:
        taxonomy: the tree; only its number of classes is read.
        in_features: width F of the input features.
    """
    return _logistic(taxonomy, in_features, (0.0,))


def tree_logistic(
    taxonomy: Taxonomy, in_features: int, *, variance: float | None = None, steps: int = MOST_STEPS
) -> Method:
    """Logistic regression whose class weights are sums over the class and its ancestors [gopal2013].

    The problem is convex and solved to its optimum. The strength of the penalty and the share of inner nodes are chosen
    on held-out samples; a share of 0 is flat logistic regression, so the tree is used only where it helps.

    Variance, scaling of dense features (deviation to the power of 1, 0.5 or 0) and share (0.5, 0 or 0.8) are those
    with the smallest log-loss on validation; with fewer than 1,000 samples there and at most 5,000 for training, in a
    five-fold cross-validation. Without validation and with fewer than 1.5 samples a class (or 10 in all) nothing is
    chosen: variance 4,096 (16,384 if sparse), share 0.8. It suits frozen features and few samples; beside it,
    `logistic` shows what the tree buys. `hiercos extend` centres the prior at the old weights.

    Args:
        taxonomy: the tree or graph.
        in_features: width F of the input features.
        variance: variance of a class's weights, half of it in the inner nodes; None (default) to choose both.
        steps: largest number of steps of the solver; few of them are a penalty, too.
    """
    if variance is not None and variance <= 0:
        raise MethodError(f"variance: expected a number above 0, got {variance:g}")
    check_count("steps", steps)
    prior = None if variance is None else Prior(variance, SHARES[0] if taxonomy.height > 1 else 0.0)
    return _logistic(taxonomy, in_features, SHARES, prior=prior, most_steps=steps)


def _logistic(taxonomy: Taxonomy, in_features: int, shares: Sequence[float], **known: Any) -> Method:
    head = RawLinear(in_features, taxonomy.num_classes)
    solver = LogisticSolver(head, taxonomy, shares, **known)
    return Method(
        head=head,
        loss=CrossEntropyLoss(),
        class_scores=nn.Identity(),
        node_scores=SummedProbabilities(taxonomy),
        contributions=linear_contributions(head),
        solver=solver,
        keep_weights=solver.centre_prior_at_weights,
    )


@dataclass(eq=False)
class LogisticSolver(Solver):
    """Solves a linear head along the tree, under the prior with the smallest log-loss on held-out samples.

    The prior is chosen in the first call, by weights that start from 0: earlier weights may have learned from the
    held-out samples. Later calls keep it.
    """

    head: RawLinear  # layer to set
    taxonomy: Taxonomy  # the tree
    shares: Sequence[float]  # shares of the variance in inner nodes to choose from
    prior: Prior | None = None  # chosen prior; None before the first call
    earlier: EarlierLayer | None = None  # weights that the prior is centred at; None for zeros
    most_steps: int = MOST_STEPS  # of the last solution
    chosen: ClassVar = ("prior",)

    def centre_prior_at_weights(self) -> None:
        """Centre the prior at the weights that the head has now, those of a model over fewer classes for example."""
        self.earlier = EarlierLayer(self.head.weight.detach().clone(), self.head.bias.detach().clone())

    def __call__(self, train: LabelledFeatures, val: LabelledFeatures | None, *, seed: int) -> Solved:
        """See `Solver`; without enough validation samples, small data are cross-validated."""
        start = None
        if self.prior is None:
            self.prior, start = choose_prior(train, val, self.taxonomy, self.shares, seed=seed)
        prior = self.prior
        problem = path_problem(train, self.taxonomy, self.earlier, prior.scaling)
        start = start if self.earlier is None else None
        weight, bias = problem.layer(problem.solve(prior, start, most_steps=self.most_steps))
        if self.earlier is not None:
            weight, bias = weight + self.earlier.weight, bias + self.earlier.bias
        self.head.set(weight, bias)
        shared = f", {prior.shared:.0%} of it shared by siblings" if len(self.shares) > 1 else ""
        scaled = (
            "" if prior.scaling == 1 else f", of features divided by their deviation to the power of {prior.scaling:g}"
        )
        return Solved(f"variance of the weights {prior.variance:g}{shared}{scaled}")


def path_problem(
    train: LabelledFeatures, taxonomy: Taxonomy, earlier: EarlierLayer | None, scaling: float
) -> PathProblem:
    """The problem of training samples, whose solution is added to earlier weights; see `Prior` for the scaling."""
    offsets = None if earlier is None else train.features @ earlier.weight.numpy().T + earlier.bias.numpy()
    return PathProblem(problem_features(train.features, scaling), train.labels, taxonomy, train.weights, offsets)


def choose_prior(
    train: LabelledFeatures,
    val: LabelledFeatures | None,
    taxonomy: Taxonomy,
    shares: Sequence[float],
    *,
    seed: int,
) -> tuple[Prior, Solution | None]:
    """The prior with the smallest log-loss on validation samples; if these are few, plus that of a cross-validation.

    Validation samples may differ from training samples as later ones do, photographs of another shop for example, so
    that they count as much as the cross-validation, however few they are. Without them, and with too few training
    samples to cross-validate, see `default_prior`.

    Args:
        train: training samples.
        val: validation samples; None if there are none.
        taxonomy: the tree or graph.
        shares: shares of the variance in inner nodes to choose from.
        seed: seed of the folds.

    Returns:
        The prior, and a solution on all training samples to start from; None without validation samples.
    """
    if val is not None and not len(val):
        val = None
    first_variance = FIRST_SPARSE_VARIANCE if issparse(train.features) else FIRST_VARIANCE
    validated = val is not None and (len(val) >= ENOUGH_TO_CHOOSE_PRIOR or len(train) > MOST_CROSS_VALIDATED)
    parts = []
    if not validated and len(train) >= max(2 * CROSS_VALIDATION_FOLDS, FEWEST_PER_CLASS * len(np.unique(train.labels))):
        masks = folds(train.labels, CROSS_VALIDATION_FOLDS, seed, train.groups)
        parts = [(train.rows(~mask), train.rows(mask), 1 / len(train)) for mask in masks]
    if val is not None:
        parts.append((train, val, 1 / len(val)))
    if not parts:
        share = min(DEFAULT_PRIOR.shared, max(shares)) if taxonomy.height > 1 else 0.0
        return replace(default_prior(train.features), shared=share), None
    searches = [(PriorSearch(learned, held_out, taxonomy), weight) for learned, held_out, weight in parts]

    def loss(prior: Prior) -> float:
        return sum(weight * search.loss(prior) for search, weight in searches)

    first, *others = shares if taxonomy.height > 1 else (0.0,)
    best, least = lowest(loss, [Prior(variance, first) for variance in VARIANCES], VARIANCES.index(first_variance))
    if not issparse(train.features):
        tried = {scaling: loss(replace(best, scaling=scaling)) for scaling in SCALINGS[1:]}
        scaling = min(tried, key=tried.__getitem__)
        if tried[scaling] < least:
            priors = [Prior(variance, first, scaling) for variance in VARIANCES]
            best, least = lowest(loss, priors, VARIANCES.index(best.variance))
    for share in others:
        prior = replace(best, shared=share)
        if (found := loss(prior)) < least:
            best, least = prior, found
    return best, None if val is None else searches[-1][0].start(best.scaling)


def default_prior(features: Floats | SparseMatrix) -> Prior:
    """The prior of features of shape (M, F) if there is nothing to choose it by.

    Dense features keep their proportions, which few samples estimate badly, if they seem to be of one unit.
    """
    if issparse(features):
        return DEFAULT_SPARSE_PRIOR
    deviation = np.asarray(features).std(axis=0)
    varied = deviation[deviation > 0]
    has_units = bool(len(varied)) and float(np.quantile(varied, 0.95)) > MIXED_UNITS * float(np.median(varied))
    return replace(DEFAULT_PRIOR, scaling=0.5 if has_units else 0.0)


def lowest(loss: Callable[[Setting], float], settings: Sequence[Setting], start: int) -> tuple[Setting, float]:
    """The setting with the smallest loss and that loss, searched upwards from a place, then downwards if that is worse.

    Args:
        loss: loss of a setting, such as a prior.
        settings: settings in the order of their strength.
        start: place of the first one to try.
    """
    tried = {start: loss(settings[start])}
    for step in (1, -1):
        place = start + step
        while 0 <= place < len(settings):
            tried[place] = loss(settings[place])
            if tried[place] > tried[place - step]:
                break
            place += step
        if min(tried, key=tried.__getitem__) != start:
            break
    best = min(tried, key=tried.__getitem__)
    return settings[best], tried[best]


class PriorSearch:
    """Held-out log-loss of priors, each solved on training samples from the solution of the last one."""

    def __init__(self, train: LabelledFeatures, val: LabelledFeatures, taxonomy: Taxonomy) -> None:
        self.train, self.taxonomy, self.val = train, taxonomy, val
        self.scaling = SCALINGS[0]
        self.problem = path_problem(train, taxonomy, None, self.scaling)
        self.solutions: dict[float, Solution] = {}  # the last one for each scaling

    def start(self, scaling: float) -> Solution | None:
        """The last solution for a scaling, at first with the weights of that for the scaling before; None if none is.

        The problem is that of the scaling from now on.
        """
        if scaling != self.scaling:
            before, last = self.problem.features.scale, self.solutions.get(self.scaling)
            self.scaling, self.problem = scaling, path_problem(self.train, self.taxonomy, None, scaling)
            if last is not None and scaling not in self.solutions:
                ratio = self.problem.features.scale / before
                self.solutions[scaling] = replace(last, coefficients=last.coefficients * ratio)
        return self.solutions.get(scaling)

    def loss(self, prior: Prior) -> float:
        """Sum of the held-out samples' -log p, see `held_out_loss`."""
        start = self.start(prior.scaling)
        solution = self.problem.solve(prior, start, most_steps=SEARCH_STEPS)
        self.solutions[prior.scaling] = solution
        weight, bias = (part.numpy() for part in self.problem.layer(solution))
        return held_out_loss(self.val.features @ weight.T + bias, self.val.labels, self.val.weights)


def log_probabilities(logits: Floats) -> Floats:
    """Logarithms of class probabilities: (M, C) to (M, C)."""
    top = logits.max(axis=1, keepdims=True)
    logs: Floats = logits - top - np.log(np.exp(logits - top).sum(axis=1, keepdims=True))
    return logs


def held_out_loss(logits: Floats, labels: IntArray, weights: Floats | None = None) -> float:
    """Summed log-loss of samples and of one pseudo-sample whose label is uniform over the classes.

    Without the latter, the smallest loss of samples that are all right would need probabilities of 0 and 1.

    Args:
        logits: shape (M, C).
        labels: class of each sample, shape (M,).
        weights: weight of each sample, shape (M,); equal weights by default.
    """
    logs = log_probabilities(logits)
    own = np.take_along_axis(logs, labels[:, None], axis=1)[:, 0]
    return float(-(own if weights is None else own * weights).sum() - logs.mean())
