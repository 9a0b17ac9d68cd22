from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from hiercos import HierarchicalClassifier
from raw_methods import raw_method
from sklearn_clouds import NAMES, UNEVEN, samples

STEPS = {"method": "path-softmax", "random_state": 0}  # trained by steps on dense features


@pytest.mark.parametrize("form", [sp.csr_matrix, sp.csc_array, sp.coo_matrix])
def test_an_estimator_answers_for_sparse_samples_as_for_the_same_dense_ones(form: type) -> None:
    X, labels = samples()
    model = HierarchicalClassifier(UNEVEN, **STEPS, epochs=20, options={"dim": 8}).fit(form(X), NAMES[labels])
    assert model.model_.in_features == 8
    assert model.score(form(X), NAMES[labels]) > 0.95
    np.testing.assert_allclose(model.predict_proba(form(X)), model.predict_proba(X), rtol=1e-6)


def test_few_sparse_columns_are_the_same_as_dense_ones() -> None:
    X, labels = samples()
    dense, sparse = (
        HierarchicalClassifier(UNEVEN, **STEPS, epochs=2).fit(form, labels) for form in (X, sp.csr_matrix(X))
    )
    np.testing.assert_array_equal(dense.predict_proba(X), sparse.predict_proba(sp.csr_matrix(X)))


def test_a_method_of_raw_inputs_gets_sparse_samples_as_they_are(tmp_path: Path) -> None:
    X, labels = samples()
    with raw_method() as name:
        dense, sparse = (
            HierarchicalClassifier(UNEVEN, method=name, epochs=3, options={"dim": 8}, random_state=0).fit(form, labels)
            for form in (X, sp.csr_matrix(X))
        )
        assert sparse.model_.projection is None
        assert sparse.model_.in_features == 12
        np.testing.assert_allclose(sparse.predict_proba(sp.csr_matrix(X)), dense.predict_proba(X), rtol=1e-4, atol=1e-5)
        sparse.save(tmp_path / "m")
        again = HierarchicalClassifier.load(tmp_path / "m")
        np.testing.assert_allclose(again.predict_proba(sp.csr_matrix(X)), again.predict_proba(X), rtol=1e-6)


def test_sparse_samples_are_never_made_dense(monkeypatch: pytest.MonkeyPatch) -> None:
    X, labels = samples()
    model = HierarchicalClassifier(UNEVEN, **STEPS, epochs=2, options={"dim": 8})

    def refused(*_: object) -> None:
        raise AssertionError("a sparse matrix was made dense")

    for kind in (sp.csr_matrix, sp.csr_array):
        monkeypatch.setattr(kind, "toarray", refused)
    assert model.fit(sp.csr_matrix(X), labels).predict(sp.csr_matrix(X)).shape == labels.shape
