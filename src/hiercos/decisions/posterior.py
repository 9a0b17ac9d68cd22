"""Calibrated probabilities of classes and of every node above them."""

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hiercos.errors import FaultsError, RowName, row_name
from hiercos.taxonomy import Floats, IntArray, Taxonomy, ancestor_sums, check_is_taxonomy, descendant_sums, node_values

ROWS_AT_ONCE = 1024  # samples whose node probabilities are in memory at a time


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
    ) -> None:
        self.taxonomy, self.temperature, self.restricted, self.energies = taxonomy, temperature, restricted, energies
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
        """
        if not (np.isfinite(temperature) and temperature > 0):
            raise PosteriorError(f"expected a temperature above 0, got {temperature}")
        given = _checked(scores, taxonomy, dtype=None)
        if class_weights is not None:
            given = given + score_offsets(class_weights, temperature)
        return cls(None, taxonomy, given, temperature, energies=energies)

    @cached_property
    def nodes(self) -> Floats:
        """Probability of each node, shape (M, N): the sum over the classes at or below it."""
        return descendant_sums(node_values(self.classes, self.taxonomy), self.taxonomy)

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

    def rows(self, chosen: slice | Sequence[int] | IntArray) -> "Posterior":
        """Posterior of the chosen samples."""
        energies = None if self.energies is None else self.energies[chosen]
        computed = self.__dict__.get("classes")
        classes = None if computed is None else computed[chosen]
        scores, temperature = self.scores[chosen], self.temperature
        return Posterior(classes, self.taxonomy, scores, temperature, restricted=self.restricted, energies=energies)

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
                prior of each row over that of training.
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
        return Posterior(classes, self.taxonomy, scores, self.temperature, restricted=True, energies=self.energies)

    def batches(self, size: int = ROWS_AT_ONCE) -> Iterator["Posterior"]:
        """Posteriors of consecutive samples, `size` at a time."""
        for start in range(0, len(self), size):
            yield self.rows(slice(start, start + size))

    def __len__(self) -> int:
        return len(self.scores)

    def __repr__(self) -> str:
        return f"Posterior({len(self)} samples, {self.taxonomy!r})"


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
