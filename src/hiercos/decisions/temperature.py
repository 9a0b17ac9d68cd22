"""Probabilities from scores, with a temperature fitted where labels are known."""

from torch import Tensor

COLDEST, HOTTEST = 1e-3, 1e3  # the temperatures tried
CHUNK = 1 << 20  # scores handled at a time, in double precision
MOST_STEPS = 60  # bisection alone would find the temperature to 1e-15 of the range's logarithm


def class_probabilities(scores: Tensor, temperature: float = 1.0) -> Tensor:
    """softmax(scores / temperature), shape (B, C), in float64 so that improbable classes keep their order."""
    return (scores.double() / temperature).softmax(dim=1)


def fit_temperature(scores: Tensor, labels: Tensor) -> float:
    """The temperature whose softmax gives the labels the highest likelihood [guo2017].

    The mean negative log-likelihood is convex in b = 1 / T and its slope is the mean of E[score] less the label's
    score. Newton steps find where the slope is 0, halving the range (of log b) wherever one would leave it.

    Args:
        scores: of the classes on data that was not trained on, shape (M, C), finite.
        labels: true classes, shape (M,).

    Returns:
        T from 0.001 to 1000; at a bound where the likelihood rises to it (all labels have the highest score, or the
        scores say nothing or worse), and 1 where T makes no difference (all scores of each sample are equal).

    Raises:
        ValueError: for no samples, another shape, a label that is no class, or a score that is not finite.

    Example:
        >>> import torch
        >>> scores = torch.tensor([[2.0, 0.0], [2.0, 0.0], [2.0, 0.0], [2.0, 0.0]])
        >>> round(fit_temperature(scores, torch.tensor([0, 0, 0, 1])), 4)  # 3 of 4: log 3 apart, not 2
        1.8205
    """
    _check(scores, labels)
    low, high, inverse = 1 / HOTTEST, 1 / COLDEST, 1.0
    for _ in range(MOST_STEPS):
        slope, curvature = _slope_and_curvature(scores, labels, inverse)
        if slope == 0:
            break
        low, high = (inverse, high) if slope < 0 else (low, inverse)
        step = inverse - slope / curvature if curvature > 0 else 0.0
        following = step if low < step < high else (low * high) ** 0.5
        if abs(following - inverse) <= 1e-12 * inverse:
            break
        inverse = following
    return min(max(1 / inverse, COLDEST), HOTTEST)


def _slope_and_curvature(scores: Tensor, labels: Tensor, inverse: float) -> tuple[float, float]:
    """First and second derivative of the mean negative log-likelihood with respect to 1 / T."""
    slope = curvature = 0.0
    rows = max(1, CHUNK // scores.shape[1])
    for start in range(0, len(scores), rows):
        part, own = scores[start : start + rows].double(), labels[start : start + rows].long()
        centred = part - part.amax(dim=1, keepdim=True)
        probabilities = (centred * inverse).softmax(dim=1)
        mean = (probabilities * centred).sum(dim=1, keepdim=True)
        slope += float((mean - centred.gather(1, own[:, None])).sum())
        curvature += float((probabilities * (centred - mean).square()).sum())
    return slope / len(scores), curvature / len(scores)


def _check(scores: Tensor, labels: Tensor) -> None:
    """Refuse what has no likelihood."""
    if scores.ndim != 2 or not scores.numel():
        raise ValueError(f"expected scores of at least one sample, shape (M, C), got shape {tuple(scores.shape)}")
    if labels.shape != scores.shape[:1]:
        raise ValueError(f"expected {len(scores)} labels, one per row of scores, got shape {tuple(labels.shape)}")
    for row in ((labels < 0) | (labels >= scores.shape[1])).nonzero()[:1, 0].tolist():
        raise ValueError(f"row {row}: expected a class from 0 to {scores.shape[1] - 1}, got label {int(labels[row])}")
    for row in (~scores.isfinite()).any(dim=1).nonzero()[:1, 0].tolist():
        raise ValueError(f"row {row}: expected finite scores, got one that is not")
