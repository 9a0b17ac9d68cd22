"""Calibrated probabilities of classes and of every node above them, and the temperature that calibrates them."""

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hiercos.checks import LEAST, MOST
from hiercos.errors import FaultsError, RowName, row_name
from hiercos.taxonomy import (
    Floats,
    IntArray,
    Taxonomy,
    ancestor_sums,
    best_children,
    check_is_taxonomy,
    descendant_sums,
    node_values,
)

ROWS_AT_ONCE = 1024  # samples whose node probabilities are in memory at a time
COLDEST, HOTTEST = 1e-3, 1e3  # range of temperatures
CHUNK = 1 << 20  # scores processed at a time
LEAST_SPREAD = 1e-6  # of constants that differ by more than rounding
LEAST_STEP = 1e-7  # relative step of a fit of two numbers at which it ends
MOST_STEPS = 60  # enough for bisection alone to reach 1e-15 of the logarithm of the range


class PosteriorError(FaultsError):
    """Scores or probabilities that do not give a posterior."""


class Posterior:
    """Probabilities of the classes of M samples, and from them of every node; a value that does not change.

    Args:
        classes: probability of each class, shape (M, C), rows of sum 1; None for softmax(scores / temperature), which
            is then computed on first use.
        taxonomy: taxonomy of the classes.
        scores: class scores that break ties between probabilities, shape (M, C); the probabilities by default.
        temperature: temperature of classes = softmax(scores / temperature); None for other scores.
        restricted: whether the probabilities were restricted or re-weighted; then the score of a class that is not
            allowed is minus infinity, and no rule answers with it.
        energies: share of the energy of each sample on the axis of every node, shape (M, N), for explanations; None
            for a method without such axes.
        order: class scores by which the rule `none` orders the classes, shape (M, C), of a method whose probabilities
            come from other scores; None for the same ones.
        marginals: probability of each node for itself, shape (M, N), of a model of samples with several labels; None
            for other models.

    Raises:
        PosteriorError: for another shape, or for the first row with NaN or positive infinity.

    Example:
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> posterior = Posterior([[0.5, 0.25, 0.25]], t)
        >>> posterior.nodes  # pet, vehicle, cat, dog, car
        array([[0.75, 0.25, 0.5 , 0.25, 0.25]])
    """

    def __init__(
        self,
        classes: ArrayLike | None,
        taxonomy: Taxonomy,
        scores: NDArray[np.floating] | None = None,
        temperature: float | None = None,
        *,
        restricted: bool = False,
        energies: NDArray[np.floating] | None = None,
        order: NDArray[np.floating] | None = None,
        marginals: NDArray[np.floating] | None = None,
    ) -> None:
        self.marginals = marginals
        self.taxonomy, self.temperature, self.restricted = taxonomy, temperature, restricted
        self.energies, self.order = energies, order
        if classes is not None:
            self.__dict__["classes"] = _checked(classes, taxonomy)
        elif scores is None or temperature is None:
            raise PosteriorError("expected probabilities, or scores and a temperature")
        self.scores: NDArray[np.floating] = self.classes if scores is None else np.asarray(scores)

    @cached_property
    def classes(self) -> Floats:
        """Probability of each class, shape (M, C)."""
        assert self.temperature is not None
        return softmax(self.scores, self.temperature)

    @classmethod
    def from_scores(
        cls,
        scores: ArrayLike,
        taxonomy: Taxonomy,
        *,
        temperature: float = 1.0,
        class_weights: ArrayLike | None = None,
        energies: NDArray[np.floating] | None = None,
        order: ArrayLike | None = None,
        marginals: NDArray[np.floating] | None = None,
    ) -> "Posterior":
        """softmax(scores / temperature) in float64, so that improbable classes keep their order.

        With class weights w, p(c) is proportional to w(c) softmax(scores / temperature)(c), and the scores of the
        posterior are those with this softmax.

        Args:
            scores: class scores, shape (M, C), higher is better.
            taxonomy: taxonomy of the classes.
            temperature: calibration temperature, see `fit_temperature`.
            class_weights: factor above 0 of each class's probability, shape (C,), see `prior_weights`; 1 by default.
            energies: see `Posterior`.
            order: see `Posterior`; with class weights, which it does not know, it is not used.
            marginals: see `Posterior`.
        """
        if not LEAST <= temperature <= MOST:
            wanted = f"from {LEAST:g} to {MOST:g}" if np.isfinite(temperature) and temperature > 0 else "above 0"
            raise PosteriorError(f"expected a temperature {wanted}, got {temperature}")
        given = _checked(scores, taxonomy, dtype=None)
        own = None if order is None or class_weights is not None else _checked(order, taxonomy, dtype=None)
        if class_weights is not None:
            given = given + score_offsets(class_weights, temperature)
        return cls(None, taxonomy, given, temperature, energies=energies, order=own, marginals=marginals)

    @cached_property
    def nodes(self) -> Floats:
        """Probability of each node, shape (M, N): the sum over the classes at or below it."""
        return descendant_sums(node_values(self.classes, self.taxonomy), self.taxonomy)

    @property
    def each_node(self) -> NDArray[np.floating]:
        """Probability of each node for itself, shape (M, N): the marginals, if there are any."""
        return self.nodes if self.marginals is None else self.marginals

    @property
    def logs(self) -> Floats:
        """Natural logarithm of each class's probability, shape (M, C), finite if computed from scores."""
        if self.temperature is None:
            with np.errstate(divide="ignore"):
                return np.log(self.classes)
        return log_softmax(self.scores, self.temperature)

    def of_nodes(self, nodes: IntArray) -> Floats:
        """Probability of one node for each sample: (M,) to (M,), 1 for the root (-1), never above 1."""
        found = np.minimum(np.take_along_axis(self.nodes, np.maximum(nodes, 0)[:, None], axis=1)[:, 0], 1.0)
        return np.where(nodes < 0, 1.0, found)

    def of_classes(self, classes: IntArray) -> Floats:
        """Probabilities of some classes of each sample: (M, K) to (M, K)."""
        return np.take_along_axis(self.classes, classes, axis=1)

    def best_child(self, nodes: IntArray) -> IntArray:
        """The likeliest child of one node of each sample, -1 the root: (M,) to (M,); -1 for a class."""
        found: IntArray = np.take_along_axis(self._best_children, nodes[:, None], axis=1)[:, 0]
        return found

    @cached_property
    def _best_children(self) -> IntArray:
        return best_children(self.nodes, self.taxonomy)

    def rows(self, chosen: slice | Sequence[int] | IntArray) -> "Posterior":
        """Posterior of the chosen samples."""
        tables = {"energies": self.energies, "order": self.order, "marginals": self.marginals}
        others = {name: None if table is None else table[chosen] for name, table in tables.items()}
        classes, scores = self.__dict__.get("classes"), self.scores[chosen]
        classes = None if classes is None else classes[chosen]
        return Posterior(classes, self.taxonomy, scores, self.temperature, restricted=self.restricted, **others)

    def within(self, nodes: Sequence[int] | IntArray, *, row_name: RowName = row_name) -> "Posterior":
        """The posterior given that the true class is at or below one of the nodes; see `reweighted`.

        Example:
            >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
            >>> Posterior([[0.3, 0.1, 0.6]], t).within([0]).classes  # pets
            array([[0.75, 0.25, 0.  ]])
        """
        return self.reweighted(classes_at_or_below(nodes, self.taxonomy), row_name=row_name)

    def reweighted(self, weights: ArrayLike, *, row_name: RowName = row_name) -> "Posterior":
        """The posterior with every probability multiplied by a weight, each row divided by its sum.

        Args:
            weights: weights >= 0, shape (C,) or (M, C), such as 1 for allowed classes and 0 for others, or the
                prior of each row over that of training. An order of its own remains only under a mask.
            row_name: function from a row index to its name in messages.

        Raises:
            PosteriorError: for other weights, or a row in which every weight or every weighted probability is 0.
        """
        given, classes = _checked_weights(weights, (len(self), self.taxonomy.num_classes), row_name), None
        if self.temperature is None:
            classes = self.classes * given
            scores: NDArray[np.floating] = np.where(given > 0, classes, -np.inf)
            is_left = classes.sum(axis=1) > 0
        else:  # from the scores, so that no product underflows
            scores = _reweighted_scores(self.scores, given, self.temperature)
            is_left = scores.max(axis=1, initial=-np.inf) > -np.inf
        for row in np.flatnonzero(~is_left)[:1]:
            raise PosteriorError(f"{row_name(int(row))}: no class is left: all that are allowed have probability 0")
        if classes is not None:
            classes /= classes.sum(axis=1, keepdims=True)
        others = {
            "energies": self.energies,
            "order": self.order if given.dtype == bool else None,
            "marginals": None if self.marginals is None else self.marginals * _nodes_above(given > 0, self.taxonomy),
        }
        return Posterior(classes, self.taxonomy, scores, self.temperature, restricted=True, **others)

    def batches(self, size: int = ROWS_AT_ONCE) -> Iterator["Posterior"]:
        """Posteriors of consecutive samples, `size` at a time."""
        for start in range(0, len(self), size):
            yield self.rows(slice(start, start + size))

    def __len__(self) -> int:
        return len(self.scores)

    def __repr__(self) -> str:
        return f"Posterior({len(self)} samples, {self.taxonomy!r})"


def _nodes_above(classes: NDArray[np.bool_], taxonomy: Taxonomy) -> NDArray[np.bool_]:
    """Mask of the nodes above classes of a mask: (M, C) or (C,) to (M, N) or (1, N)."""
    above: NDArray[np.bool_] = (
        descendant_sums(node_values(np.atleast_2d(classes).astype(float), taxonomy), taxonomy) > 0
    )
    return above


def log_softmax(scores: NDArray[np.floating], temperature: float) -> Floats:
    """Logarithm of `softmax`, finite for finite scores, shape (M, C), float64."""
    scaled = np.ascontiguousarray(scores, dtype=np.float64) / temperature
    scaled -= scaled.max(axis=1, keepdims=True)
    scaled -= np.log(np.exp(scaled).sum(axis=1, keepdims=True))
    return scaled


def softmax(scores: NDArray[np.floating], temperature: float) -> Floats:
    """softmax(scores / temperature) of every row, shape (M, C), float64."""
    scaled = np.ascontiguousarray(scores, dtype=np.float64) / temperature
    scaled -= scaled.max(axis=1, keepdims=True)
    np.exp(scaled, out=scaled)
    scaled /= scaled.sum(axis=1, keepdims=True)
    return scaled


def score_offsets(class_weights: ArrayLike, temperature: float) -> Floats:
    """Offsets to add to scores, shape (C,), so that softmax(scores / temperature) is weighted by class."""
    offsets: Floats = temperature * np.log(np.asarray(class_weights, dtype=np.float64))
    return offsets


def prior_weights(prior: ArrayLike, counts: ArrayLike) -> Floats:
    """Factors that turn the posterior of a model into the one for other class frequencies: prior / training share.

    By Bayes' rule p(c | x) is proportional to p(x | c) p(c); the model was trained with p(c) = the training share, so
    this replaces the share by the prior [menon2021].

    Args:
        prior: frequency of each class where the model will be used, shape (C,), above 0, in any scale.
        counts: number of training samples of each class, shape (C,); a class without samples counts as if it had one.

    Returns:
        Factors above 0, shape (C,), scaled to a geometric mean of 1.

    Raises:
        PosteriorError: for another number of priors, or one that is not a number above 0.

    Example:
        >>> prior_weights([1, 1, 1], [8, 4, 2])  # equal frequencies: the rarest class gains most
        array([0.5, 1. , 2. ])
    """
    wanted, seen = np.asarray(prior, dtype=np.float64), np.maximum(counts, 1)
    if wanted.shape != seen.shape:
        raise PosteriorError(f"expected a prior of each of the {len(seen)} classes, got {wanted.size}")
    if not ((wanted > 0) & np.isfinite(wanted)).all():
        raise PosteriorError("expected priors above 0")
    logs = np.log(wanted) - np.log(seen)
    weights: Floats = np.exp(logs - logs.mean())
    return weights


def classes_at_or_below(nodes: Sequence[int] | IntArray, taxonomy: Taxonomy) -> NDArray[np.bool_]:
    """Mask of the classes at or below one of the nodes, shape (C,); every class for the root, -1."""
    marked = np.zeros((1, taxonomy.num_nodes + 1))
    marked[:, np.asarray(nodes, dtype=np.int64)] = 1.0
    found: NDArray[np.bool_] = ancestor_sums(marked[:, :-1], taxonomy)[0, taxonomy.leaves] + marked[0, -1] > 0
    return found


def _reweighted_scores(
    scores: NDArray[np.floating], weights: Floats | NDArray[np.bool_], temperature: float
) -> NDArray[np.floating]:
    """Scores whose softmax is re-weighted, score + T log w: minus infinity for weight 0, shape (M, C)."""
    if weights.dtype == bool:
        return np.where(weights, scores, scores.dtype.type(-np.inf))
    with np.errstate(divide="ignore"):
        return scores + temperature * np.log(weights)


def _checked_weights(weights: ArrayLike, shape: tuple[int, ...], row_name: RowName) -> Floats | NDArray[np.bool_]:
    array = np.asarray(weights)
    if array.shape not in (shape, shape[1:]):
        raise PosteriorError(f"expected weights of shape {shape[1:]} or {shape}, got {array.shape}")
    if array.dtype == bool:
        return array
    array = array.astype(np.float64, copy=False)
    for row in np.flatnonzero(~((array >= 0) & (array < np.inf)).reshape(-1, shape[1]).all(axis=1))[:1]:
        raise PosteriorError(f"{row_name(int(row))}: expected weights of at least 0, got another number")
    return array


def _checked(values: ArrayLike, taxonomy: Taxonomy, dtype: type | None = np.float64) -> NDArray[np.floating]:
    check_is_taxonomy(taxonomy)
    array = np.asarray(values, dtype=dtype)
    if array.ndim != 2 or array.shape[1] != taxonomy.num_classes:
        raise PosteriorError(
            f"expected class scores or probabilities of shape (M, {taxonomy.num_classes}), got {array.shape}; "
            "a class that was not scored has a column of -inf (as a probability: 0)"
        )
    if array.max(initial=-np.inf) < np.inf:  # false for NaN, too; minus infinity is probability 0
        return array
    for row in np.flatnonzero(~(array < np.inf).all(axis=1))[:1]:
        fault = "not a number" if np.isnan(array[row]).any() else "infinite, expected a finite one (-inf: impossible)"
        raise PosteriorError(f"{row_name(int(row))}: a score is {fault}")
    return array


def fit_temperature(scores: ArrayLike, labels: ArrayLike) -> float:
    """Temperature of the softmax with the highest likelihood of held-out labels and of one pseudo-label [guo2017].

    The pseudo-label is uniform over the classes and weighs as much as one sample: without it, a few samples that are
    all right would get probabilities of 1. The mean negative log-likelihood is convex in b = 1 / T and its slope is the
    mean of E[score] less the label's score. Newton steps find where the slope is 0; a step that would leave the range
    halves it (in log b) instead.

    Args:
        scores: finite class scores on held-out data, shape (M, C).
        labels: true class of each sample, shape (M,).

    Returns:
        Temperature T from 0.001 to 1000: the upper bound if the scores are uninformative or worse, and 1 if T makes no
        difference (equal scores within each sample).

    Raises:
        ValueError: for no samples, another shape, a label that is not a class, or a score that is not finite.

    Example:
        >>> scores = np.array([[2.0, 0.0], [2.0, 0.0], [2.0, 0.0], [2.0, 0.0]])
        >>> round(fit_temperature(scores, [0, 0, 0, 1]), 4)  # 3.5 of 5: log 7/3 apart, not 2
        2.3604
    """
    given, true = np.asarray(scores), np.asarray(labels)
    _check(given, true)
    low, high, inverse = 1 / HOTTEST, 1 / COLDEST, 1.0
    for _ in range(MOST_STEPS):
        slope, curvature = (float(each.item()) for each in _slope_and_curvature(given, true, inverse))
        if slope == 0:
            break
        low, high = (inverse, high) if slope < 0 else (low, inverse)
        step = inverse - slope / curvature if curvature > 0 else 0.0
        following = step if low < step < high else (low * high) ** 0.5
        if abs(following - inverse) <= 1e-12 * inverse:
            break
        inverse = following
    return min(max(1 / inverse, COLDEST), HOTTEST)


def fit_factor(scores: ArrayLike, constants: ArrayLike, labels: ArrayLike) -> tuple[float, float]:
    """Temperature T and factor a of softmax((scores + a constants) / T) with the highest likelihood of held-out labels.

    The likelihood is that of `fit_temperature`, pseudo-label included, times a normal prior of a with mean 0 and
    deviation 1 at its temperature: without it, a few samples would move a far. The product is log-concave in
    (1 / T, a / T), so damped Newton steps from that temperature and a = 0 find the best pair.

    Args:
        scores: finite class scores on held-out data, shape (M, C).
        constants: a constant of each class, shape (C,).
        labels: true class of each sample, shape (M,).

    Returns:
        Temperature and factor; those of `fit_temperature` and 0 if all constants are equal, or if its temperature is at
        a bound.
    """
    given, offsets, true = np.asarray(scores), np.asarray(constants, dtype=np.float64), np.asarray(labels)
    temperature = fit_temperature(given, true)
    if np.ptp(offsets) < LEAST_SPREAD or not COLDEST < temperature < HOTTEST:
        return temperature, 0.0
    prior = np.diag([0.0, temperature**2 / len(given)])  # its curvature by (1 / T, a / T)
    point = np.array([1 / temperature, 0.0])
    slope, curvature = _slope_and_curvature(given, true, point[0], offsets)
    for _ in range(MOST_STEPS):
        step = -np.linalg.lstsq(curvature + prior, slope)[0]
        while np.abs(step).max() > LEAST_STEP * np.abs(point).max():
            following = point + step
            if 1 / HOTTEST < following[0] < 1 / COLDEST:
                found = _slope_and_curvature(given, true, following[0], offsets, following[1] / following[0])
                found = (found[0] + prior @ following, found[1])
                if found[0] @ step <= -0.5 * (slope @ step):  # not far beyond the lowest point in this direction
                    break
            step /= 2
        else:
            break
        point, (slope, curvature) = following, found
    return float(1 / point[0]), float(point[1] / point[0])


def _slope_and_curvature(
    scores: NDArray[np.floating], labels: IntArray, inverse: float, constants: Floats | None = None, factor: float = 0.0
) -> tuple[Floats, Floats]:
    """Slope and curvature of the mean negative log-likelihood by 1 / T, and by a / T if there are constants."""
    count = 1 if constants is None else 2
    slope, curvature = np.zeros(count), np.zeros((count, count))
    any_class = 1 / len(scores)  # weight of a label of any class beside each label
    rows = max(1, CHUNK // scores.shape[1])
    for start in range(0, len(scores), rows):
        part = scores[start : start + rows].astype(np.float64)
        centred = part - part.max(axis=1, keepdims=True)
        terms = [centred] if constants is None else [centred, np.broadcast_to(constants, centred.shape)]
        probabilities = softmax(centred if constants is None else centred + factor * constants, 1 / inverse)
        gaps = []
        for place, term in enumerate(terms):
            mean = (probabilities * term).sum(axis=1, keepdims=True)
            own = np.take_along_axis(term, labels[start : start + rows, None], axis=1)
            slope[place] += (mean - own).sum() + any_class * (mean - term.mean(axis=1, keepdims=True)).sum()
            gaps.append(term - mean)
        products = [[(probabilities * (first * second)).sum() for first in gaps] for second in gaps]
        curvature += (1 + any_class) * np.array(products)
    return slope / len(scores), curvature / len(scores)


def _check(scores: NDArray[np.floating], labels: IntArray) -> None:
    """Raise a ValueError for scores or labels without a likelihood."""
    if scores.ndim != 2 or not scores.size:
        raise ValueError(f"expected scores of at least one sample, shape (M, C), got shape {scores.shape}")
    if labels.shape != scores.shape[:1]:
        raise ValueError(f"expected {len(scores)} labels, one per row of scores, got shape {labels.shape}")
    for row in np.flatnonzero((labels < 0) | (labels >= scores.shape[1]))[:1]:
        raise ValueError(f"row {row}: expected a class from 0 to {scores.shape[1] - 1}, got label {labels[row]}")
    for row in np.flatnonzero(~np.isfinite(scores).all(axis=1))[:1]:
        raise ValueError(f"row {row}: expected finite scores, got one that is not")
