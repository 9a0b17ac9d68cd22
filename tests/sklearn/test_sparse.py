import numpy as np
import pytest
import scipy.sparse as sp

from hiercos import HierarchicalClassifier
from hiercos.sklearn.samples import Projection
from sklearn_clouds import NAMES, UNEVEN, samples


def low_rank(rank: int = 3) -> sp.csr_matrix:
    """Samples (40, 30) that vary in a few directions."""
    generator = np.random.default_rng(0)
    return sp.csr_matrix(generator.normal(size=(40, rank)) @ generator.normal(size=(rank, 30)))


def test_a_projection_keeps_the_directions_that_samples_vary_in_and_no_others() -> None:
    matrix = low_rank()
    projection = Projection.fit(matrix, most=10, seed=0)
    assert projection.directions is not None
    assert projection.directions.shape == (3, 30)
    distances = np.linalg.norm(matrix.toarray()[:, None] - matrix.toarray()[None], axis=2)
    features = projection(matrix)
    np.testing.assert_allclose(np.linalg.norm(features[:, None] - features[None], axis=2), distances, atol=1e-9)


def test_no_more_directions_than_asked_for() -> None:
    assert Projection.fit(low_rank(8), most=5, seed=0)(low_rank(8)).shape == (40, 5)


def test_dense_samples_and_few_columns_stay_as_they_are() -> None:
    matrix = low_rank()
    assert Projection.fit(matrix.toarray(), most=5, seed=0).directions is None
    assert Projection.fit(matrix, most=30, seed=0).directions is None
    np.testing.assert_array_equal(Projection(None)(matrix), matrix.toarray())


def test_a_projection_keeps_the_precision_of_the_samples() -> None:
    projection = Projection.fit(low_rank(), most=10, seed=0)
    assert projection(low_rank().astype(np.float32)).dtype == np.float32
    assert projection(low_rank()).dtype == np.float64


@pytest.mark.parametrize("form", [sp.csr_matrix, sp.csc_array, sp.coo_matrix])
def test_an_estimator_answers_for_sparse_samples_as_for_the_same_dense_ones(form: type) -> None:
    X, labels = samples()
    model = HierarchicalClassifier(UNEVEN, epochs=20, sparse_components=8, random_state=0).fit(form(X), NAMES[labels])
    assert model.model_.in_features == 8
    assert model.score(form(X), NAMES[labels]) > 0.95
    np.testing.assert_allclose(model.predict_proba(form(X)), model.predict_proba(X), rtol=1e-9)


def test_few_sparse_columns_are_the_same_as_dense_ones() -> None:
    X, labels = samples()
    dense, sparse = (
        HierarchicalClassifier(UNEVEN, epochs=2, random_state=0).fit(form, labels) for form in (X, sp.csr_matrix(X))
    )
    np.testing.assert_array_equal(dense.predict_proba(X), sparse.predict_proba(sp.csr_matrix(X)))


def test_wide_sparse_batches_are_refused_with_what_to_do() -> None:
    X, labels = samples()
    model = HierarchicalClassifier(UNEVEN, sparse_components=8)
    with pytest.raises(ValueError, match=r"at most 8 columns, got 12 sparse ones: put a fitted TruncatedSVD in front$"):
        model.partial_fit(sp.csr_matrix(X), labels)
