"""Weights of the members of a committee, fitted on held-out samples."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hiercos.methods import log_probabilities
from hiercos.taxonomy import Floats, IntArray

TOWARDS_EQUAL = 10.0  # pull towards equal weights, in samples
LEAST_WEIGHT = 0.02  # share of all weights below which a member is left out


class FirstShare(NamedTuple):
    """A share of each probability that comes from one member alone, see `Committee`."""

    share: float  # share of that member, above 0 and below 1
    logs: Floats  # log-probability that the member alone gives to the class of each held-out sample, shape (M,)


class Pool(NamedTuple):
    """Fitted weights of K members."""

    weights: Floats  # weights >= 0, shape (K,)
    loss: float  # log-loss of the members together


def pool_weights(scores: Sequence[Floats], labels: IntArray, first: FirstShare | None = None) -> Pool:
    """Weights >= 0 of score tables whose weighted sum has the smallest log-loss as logits.

    The weight of each table is its own best inverse temperature times a factor; the factors are pulled towards equal
    ones, the more the fewer samples there are. Tables with hardly any weight get 0.

    Args:
        scores: K tables of class scores, shape (M, C) each.
        labels: class of each sample, shape (M,).
        first: share of one member in the probabilities; None (the default) for none. With it, a few samples on which
            other members are sure and wrong hardly lower the weights of these members.
    """
    tables = np.stack([table - table.max(axis=1, keepdims=True) for table in scores]).astype(np.float64)  # (K, M, C)
    inverse = np.array([best_inverse(table, labels, first)[0] for table in tables])
    tables *= inverse[:, None, None]
    kept = np.ones(len(tables), dtype=bool)
    while True:
        factors = _pool_factors(tables[kept], labels, first)
        dropped = factors < LEAST_WEIGHT * factors.sum()
        if not dropped.any():
            break
        kept[np.flatnonzero(kept)[dropped]] = False
    weights = np.zeros(len(tables))
    weights[kept] = factors * inverse[kept]
    loss = pooled_loss(np.tensordot(factors, tables[kept], axes=1), labels, first) / len(labels)
    return Pool(weights, loss)


def pooled_loss(logits: Floats, labels: IntArray, first: FirstShare | None = None) -> float:
    """Sum of the samples' -log p, and of one more sample that may have any class, whose p has no share of a member.

    Args:
        logits: shape (M, C).
        labels: class of each sample, shape (M,).
        first: see `pool_weights`.
    """
    logs = log_probabilities(logits)
    return float(-own_logs(logs, labels, first).sum() - logs.mean())


def own_logs(logs: Floats, labels: IntArray, first: FirstShare | None = None) -> Floats:
    """Log-probability of the class of each sample, shape (M,), from those of all classes, shape (M, C)."""
    own: Floats = np.take_along_axis(logs, labels[:, None], axis=1)[:, 0]
    if first is not None:
        own = np.logaddexp(np.log1p(-first.share) + own, np.log(first.share) + first.logs)
    return own


def best_inverse(table: Floats, labels: IntArray, first: FirstShare | None = None) -> tuple[float, float]:
    """The inverse temperature of a score table (M, C) with the smallest log-loss, and that log-loss.

    With a share of another member the loss can have several minima, so the search begins with a grid.
    """
    from scipy.optimize import minimize_scalar  # late: predictions without it start sooner

    def loss(log: float) -> float:
        return pooled_loss(np.exp(log) * table, labels, first)

    low, high = -7.0, 7.0
    if first is not None:
        near = min(np.linspace(low, high, 15), key=loss)
        low, high = max(low, near - 1), min(high, near + 1)
    found = minimize_scalar(loss, bounds=(low, high), method="bounded", options={"xatol": 1e-3})
    return float(np.exp(found.x)), float(found.fun) / len(labels)


def _pool_factors(tables: Floats, labels: IntArray, first: FirstShare | None) -> Floats:
    """Factors >= 0 of tables at their own temperature, shape (K,)."""
    from scipy.optimize import minimize  # late: predictions without it start sooner

    count, rows = len(tables), len(labels)
    own = np.take_along_axis(tables, labels[None, :, None], axis=2)[..., 0]  # (K, M)
    any_class = tables.mean(axis=(1, 2))  # (K,), of the sample that may have any class

    def value(factors: Floats) -> tuple[float, Floats]:
        logits = np.tensordot(factors, tables, axes=1)  # (M, C)
        logs = log_probabilities(logits)
        probabilities, labelled = np.exp(logs), own_logs(logs, labels)
        mixed = own_logs(logs, labels, first)
        pooled = 1.0 if first is None else np.exp(np.log1p(-first.share) + labelled - mixed)  # (M,), part of the sum
        expected = np.einsum("mc,kmc->km", probabilities, tables)
        unequal = count * factors - 1
        loss = float(-mixed.sum() - logs.mean() + 0.5 * TOWARDS_EQUAL * np.square(unequal).mean())
        slopes = (pooled * (expected - own)).sum(axis=1) + expected.sum(axis=1) / rows - any_class
        return loss, slopes + TOWARDS_EQUAL * unequal

    starts = [np.full(count, 1 / count)]
    if first is not None:
        starts.append(np.eye(count)[0])  # the loss can have several minima
    bounds = [(0, None)] * count
    ends = [minimize(value, start, jac=True, method="L-BFGS-B", bounds=bounds) for start in starts]
    factors: Floats = min(ends, key=lambda end: end.fun).x
    return factors
