"""Samples of which only a few candidate labels are known: each is learned as one, drawn by its probability."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hiercos.data import Dataset, hash_fraction
from hiercos.decisions import Posterior
from hiercos.model import Classifier
from hiercos.taxonomy import Floats, IntArray, descendant_sums
from hiercos.training.features import Features

ROUNDS = 3  # of training and weighing
PARTS = 2  # parts of the samples with candidates; each is weighed by a model of the other samples


def drawn_labels(features: Features, trained: Callable[[Features, str], Classifier]) -> Features:
    """The features with one of its candidates as the label of each sample that is learned from.

    A model of the samples whose label is known gives the first shares of the candidates. Then, in each round, a model
    of all other samples gives those of one part. The shares stay equal where a candidate has no sample of a known
    label, since nothing tells it from the others. A candidate is drawn with its share as probability, by a hash of the
    sample, so that the expected loss is that of a mixture of labels.

    Args:
        features: features of a data set with candidates.
        trained: function that trains a model on features, with a name for its progress.
    """
    data = features.dataset
    assert data.candidates is not None
    rows = np.flatnonzero(((data.candidates >= 0).sum(axis=1) > 1) & (data.split != "test"))
    candidates, inputs = data.candidates[rows], data.inputs.take(rows)
    keys = inputs.split_keys()
    parts = np.array([int(hash_fraction(key, "part") * PARTS) for key in keys])
    draws = np.array([hash_fraction(key, "candidate") for key in keys])
    shares = _equal_shares(candidates)
    is_seen = _seen(data, np.setdiff1d(data.training_rows, rows))[candidates].all(axis=1)
    for place, own in enumerate([is_seen, *([is_seen & (parts == part) for part in range(PARTS)] * ROUNDS)]):
        if own.any():
            others = ~own & (place > 0)  # the first model learns from none of them
            name = f"candidate labels, model {place + 1} of {1 + PARTS * ROUNDS}"
            model = trained(_labelled(features, rows, _drawn(candidates, shares, draws), others), name)
            posterior = model.calibrated(model.scores(inputs.take(np.flatnonzero(own))))
            shares[own] = _shares(posterior, candidates[own])
    return _labelled(features, rows, _drawn(candidates, shares, draws), np.ones(len(rows), dtype=bool))


def _seen(data: Dataset, rows: IntArray) -> NDArray[np.bool_]:
    """Whether each node has a sample at or below it among some rows, shape (N + 1,); the last entry is for none."""
    counts = np.bincount(data.nodes[rows], minlength=data.taxonomy.num_nodes)
    return np.append(descendant_sums(counts[None].astype(float), data.taxonomy)[0] > 0, True)


def _equal_shares(candidates: IntArray) -> Floats:
    shares: Floats = (candidates >= 0) / (candidates >= 0).sum(axis=1, keepdims=True)
    return shares


def _shares(posterior: Posterior, candidates: IntArray) -> Floats:
    """Probability of each candidate among those of its sample, shape (M, K); equal where all are impossible."""
    values = np.take_along_axis(posterior.nodes, np.maximum(candidates, 0), axis=1) * (candidates >= 0)
    totals = values.sum(axis=1, keepdims=True)
    return np.where(totals > 0, values / np.where(totals > 0, totals, 1), _equal_shares(candidates))


def _drawn(candidates: IntArray, shares: Floats, draws: Floats) -> IntArray:
    """The candidate of each sample at which the sum of the shares passes its draw in [0, 1), shape (M,)."""
    passed = (np.cumsum(shares, axis=1) > draws[:, None]) & (candidates >= 0)
    last = (candidates >= 0).sum(axis=1) - 1  # where rounding leaves the sum below the draw
    places = np.where(passed.any(axis=1), passed.argmax(axis=1), last)
    drawn: IntArray = candidates[np.arange(len(candidates)), places]
    return drawn


def _labelled(features: Features, rows: IntArray, labels: IntArray, kept: NDArray[np.bool_]) -> Features:
    """The features with labels for the samples at some rows, which train; those that are not kept are left out."""
    nodes, split = features.dataset.nodes.copy(), features.dataset.split.copy()
    nodes[rows], split[rows] = labels, "train"
    labelled = replace(features, dataset=replace(features.dataset, nodes=nodes, split=split, candidates=None))
    return labelled.take(np.setdiff1d(np.arange(len(nodes)), rows[~kept]))
