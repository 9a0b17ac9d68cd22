"""The mean that every loss ends in."""

from torch import Tensor


def weighted_mean(values: Tensor, weights: Tensor | None) -> Tensor:
    """Mean of one value per sample, weighted where weights are given.

    Args:
        values: shape (B,).
        weights: shape (B,), >= 0, or None.

    Returns:
        Scalar, nan for an empty batch or where all weights are 0.

    Raises:
        ValueError: for weights of another shape.
    """
    if weights is None:
        return values.mean()
    if weights.shape != values.shape:
        raise ValueError(f"expected weights of shape {tuple(values.shape)}, got {tuple(weights.shape)}")
    return (values * weights).sum() / weights.sum()
