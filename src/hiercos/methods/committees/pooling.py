"""Weights of the members of a committee, fitted on held-out samples."""

from collections.abc import Sequence

import numpy as np

from hiercos.methods.linear.logistic import best_inverse, held_out_loss
from hiercos.taxonomy import Floats, IntArray

TOWARDS_EQUAL = 10.0  # pull towards equal weights, in samples
LEAST_WEIGHT = 0.02  # share of all weights below which a member is left out


def pool_weights(scores: Sequence[Floats], labels: IntArray) -> tuple[Floats, float, list[float]]:
    """Weights >= 0 of score tables whose weighted sum has the smallest log-loss as logits.

    The weight of each table is its own best inverse temperature times a factor; the factors are pulled towards equal
    ones, the more the fewer samples there are. Tables with hardly any weight get 0.

    Args:
        scores: K tables of class scores, shape (M, C) each.
        labels: class of each sample, shape (M,).

    Returns:
        Weights, shape (K,), the log-loss of the sum, and that of each table alone.
    """
    tables = np.stack([table - table.max(axis=1, keepdims=True) for table in scores]).astype(np.float64)  # (K, M, C)
    inverse, alone = zip(*(best_inverse(table, labels) for table in tables), strict=True)
    tables *= np.array(inverse)[:, None, None]
    kept = np.ones(len(tables), dtype=bool)
    while True:
        factors = _pool_factors(tables[kept], labels)
        dropped = factors < LEAST_WEIGHT * factors.sum()
        if not dropped.any():
            break
        kept[np.flatnonzero(kept)[dropped]] = False
    weights = np.zeros(len(tables))
    weights[kept] = factors * np.array(inverse)[kept]
    loss = held_out_loss(np.tensordot(factors, tables[kept], axes=1), labels) / len(labels)
    return weights, loss, list(alone)


def _pool_factors(tables: Floats, labels: IntArray) -> Floats:
    """Factors >= 0 of tables at their own temperature, shape (K,)."""
    from scipy.optimize import minimize  # late: predictions without it start sooner

    count, rows = len(tables), len(labels)
    own = np.take_along_axis(tables, labels[None, :, None], axis=2)[..., 0].sum(axis=1)  # (K,)
    own += tables.mean(axis=(1, 2))  # the sample that may have any class

    def value(factors: Floats) -> tuple[float, Floats]:
        logits = np.tensordot(factors, tables, axes=1)  # (M, C)
        probabilities = np.exp(logits - logits.max(axis=1, keepdims=True))
        probabilities /= probabilities.sum(axis=1, keepdims=True)
        expected = np.einsum("mc,kmc->k", probabilities, tables) * (1 + 1 / rows)
        unequal = count * factors - 1
        loss = held_out_loss(logits, labels) + 0.5 * TOWARDS_EQUAL * float(np.square(unequal).mean())
        return loss, expected - own + TOWARDS_EQUAL * unequal

    found = minimize(value, np.full(count, 1 / count), jac=True, method="L-BFGS-B", bounds=[(0, None)] * count)
    factors: Floats = found.x
    return factors
