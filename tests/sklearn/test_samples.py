import numpy as np
import pytest
import scipy.sparse as sp
import torch
from sklearn.base import BaseEstimator

from hiercos.sklearn.samples import checked_samples, labelled
from hiercos.taxonomy import label_codec
from sklearn_clouds import LEVELS, NAMES, UNEVEN, samples

X, LABELS = samples(8)


def test_samples_and_labels_come_as_arrays_and_the_estimator_remembers_their_width() -> None:
    estimator = BaseEstimator()
    found, y = checked_samples(estimator, X.tolist(), NAMES[LABELS].tolist(), reset=True)
    np.testing.assert_array_equal(found, X)
    assert y.tolist() == NAMES[LABELS].tolist()
    assert estimator.n_features_in_ == 12
    with pytest.raises(ValueError, match="X has 5 features, but BaseEstimator is expecting 12"):
        checked_samples(estimator, X[:, :5], LABELS, reset=False)


def test_sparse_samples_stay_sparse_and_single_precision_stays_single() -> None:
    found, _ = checked_samples(BaseEstimator(), sp.coo_matrix(X.astype(np.float32)), LEVELS[LABELS], reset=True)
    assert found.format == "csr"
    assert found.dtype == np.float32


def test_samples_of_weight_0_are_left_out_and_the_others_become_tensors() -> None:
    weights = np.array([0, 1, 2, 0, 0, 3, 0, 0.5])
    data = labelled(X, NAMES[LABELS], label_codec(NAMES, UNEVEN), weights)
    vectors, kept = data.vectors(None, raw_inputs=False), [1, 2, 5, 7]
    torch.testing.assert_close(vectors.features, torch.tensor(X[kept], dtype=torch.float32))
    assert vectors.labels.tolist() == LABELS[kept].tolist()
    torch.testing.assert_close(data.weight_tensor(), torch.tensor([1, 2, 3, 0.5]))


def test_without_weights_all_samples_count_the_same() -> None:
    data = labelled(X, NAMES[LABELS], label_codec(NAMES, UNEVEN), None)
    assert len(data.labels) == 8
    assert data.weight_tensor() is None


def test_weights_below_0_are_refused() -> None:
    with pytest.raises(ValueError, match="Negative values in data passed to `sample_weight`"):
        labelled(X, NAMES[LABELS], label_codec(NAMES, UNEVEN), np.where(LABELS == 0, -1.0, 1.0))
