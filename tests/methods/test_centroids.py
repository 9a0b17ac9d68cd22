"""Cosines to the centroids of the classes."""

from typing import Any

import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix

from hiercos.methods import LabelledFeatures, csr_tensor
from hiercos.methods.centroids import ABSENT, SCALE, SMALL
from solving import data, solved
from trees import TOY17


def unit(rows: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(length > 0, length, 1)


@pytest.mark.parametrize("change", [np.asarray, csr_matrix])
def test_scores_are_cosines_to_weighted_means_of_directions_and_a_class_without_samples_is_below_all(
    change: Any,
) -> None:
    train, asked = data(TOY17, 300), data(TOY17, 40, seed=1).features
    train = train.rows(train.labels > 1)
    asked[0] = 0
    weights = np.random.default_rng(0).random(len(train)).astype(np.float32)
    given = LabelledFeatures(change(train.features), train.labels, weights)
    model, _ = solved("centroids", TOY17, given, None)
    found = model.array_scores(change(asked))
    sums = np.stack(
        [(unit(train.features) * weights[:, None])[train.labels == label].sum(axis=0) for label in range(17)]
    )
    means = unit(sums)
    if change is csr_matrix:
        means = np.where(np.abs(means) < SMALL, 0, means)
    np.testing.assert_allclose(found[:, 2:], SCALE * unit(asked) @ means[2:].T, atol=1e-4)
    assert (found[:, :2] == SCALE * ABSENT).all()


def test_a_sparse_row_has_the_same_scores_to_the_bit_whatever_shares_its_batch() -> None:
    train, rows = data(TOY17, 300), csr_matrix(np.maximum(data(TOY17, 40, seed=1).features, 0))
    model, _ = solved("centroids", TOY17, LabelledFeatures(csr_matrix(train.features), train.labels), None)
    together = model(csr_tensor(rows))
    for row in range(40):
        assert torch.equal(model(csr_tensor(rows[[row]]))[0], together[row])
