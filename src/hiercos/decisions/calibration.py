"""Temperature scaling: probabilities that fit held-out labels."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hiercos.decisions.posterior import softmax
from hiercos.taxonomy import IntArray

COLDEST, HOTTEST = 1e-3, 1e3  # range of temperatures
CHUNK = 1 << 20  # scores processed at a time
MOST_STEPS = 60  # enough for bisection alone to reach 1e-15 of the logarithm of the range


def fit_temperature(scores: ArrayLike, labels: ArrayLike) -> float:
    """The temperature whose softmax gives the labels the highest likelihood [guo2017], and one more label of any class.

    Without that one, a few samples that are all right would get probabilities of 1. It is the mean over the samples of
    a label that may be any class, and weighs as much as one of them. The mean negative log-likelihood is convex in
    b = 1 / T and its slope is the mean of E[score] less the label's score. Newton steps find where the slope is 0; a
    step that would leave the range halves it (in log b) instead.

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
        slope, curvature = _slope_and_curvature(given, true, inverse)
        if slope == 0:
            break
        low, high = (inverse, high) if slope < 0 else (low, inverse)
        step = inverse - slope / curvature if curvature > 0 else 0.0
        following = step if low < step < high else (low * high) ** 0.5
        if abs(following - inverse) <= 1e-12 * inverse:
            break
        inverse = following
    return min(max(1 / inverse, COLDEST), HOTTEST)


def _slope_and_curvature(scores: NDArray[np.floating], labels: IntArray, inverse: float) -> tuple[float, float]:
    """First and second derivative of the mean negative log-likelihood with respect to 1 / T."""
    slope = curvature = 0.0
    any_class = 1 / len(scores)  # weight of a label of any class beside each label
    rows = max(1, CHUNK // scores.shape[1])
    for start in range(0, len(scores), rows):
        part = scores[start : start + rows].astype(np.float64)
        centred = part - part.max(axis=1, keepdims=True)
        probabilities = softmax(centred, 1 / inverse)
        mean = (probabilities * centred).sum(axis=1, keepdims=True)
        own = np.take_along_axis(centred, labels[start : start + rows, None], axis=1)
        slope += float((mean - own).sum() + any_class * (mean - centred.mean(axis=1, keepdims=True)).sum())
        curvature += (1 + any_class) * float((probabilities * np.square(centred - mean)).sum())
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
