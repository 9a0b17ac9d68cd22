from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from sklearn.base import BaseEstimator

from hiercos import HierarchicalClassifier, HierCOSClassifier, Taxonomy
from hiercos.data import SparseVectors, Vectors
from hiercos.errors import DataError, HiercosWarning
from hiercos.sklearn.inputs import (
    ParameterError,
    check_parameters,
    classes_from_hiclass,
    hiclass_labels,
    known_inputs,
    labelled_dataset,
    training_inputs,
)
from hiercos.taxonomy import label_codec, taxonomy_from_levels
from sklearn_clouds import LEVELS, NAMES, UNEVEN, samples
from trees import taxonomies

X, LABELS = samples(8)


def test_the_parameters_of_both_estimators_are_possible_as_they_come() -> None:
    for estimator in (HierarchicalClassifier(), HierCOSClassifier()):
        check_parameters(estimator.get_params())


def test_every_wrong_parameter_is_said_at_once() -> None:
    with pytest.raises(ParameterError) as error:
        check_parameters({"method": 2.5, "encoder": None, "device": 0})
    assert error.value.faults == ("method: expected a text, got 2.5", "device: expected a text, got 0")


def test_texts_in_a_column_of_numbers_are_refused_with_what_to_do() -> None:
    for inputs in (np.array(["a text", "b"], dtype=object).reshape(-1, 1), [[1.0, "b"], [2.0, "c"]]):
        with pytest.raises(ValueError, match=r"^X: expected numbers, got texts; "):
            HierarchicalClassifier().fit(inputs, ["cat", "dog"])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"method": "hier-cso"}, "unknown method 'hier-cso'; did you mean 'hier-cos'?"),
        ({"method": None}, "method: expected a text, got None"),
        (
            {"method": "hier-cos", "options": {"alhpa": 1}},
            "alhpa: there is no such setting or option of 'hier-cos'; did you",
        ),
        ({"options": "alpha=1"}, "options: expected a dict, got 'alpha=1'"),
        ({"method": "cross-entropy", "width": 5}, "width 5: method 'cross-entropy' has no width; methods that have"),
        ({"width": 0}, "expected width of at least 1, got 0"),
        ({"rule": ["none"]}, "rule: expected a text or none, got ['none']"),
        ({"rule": "best"}, "unknown rule 'best'; there are: "),
        ({"device": "gpu0"}, "expected device to be one of auto, cpu, cuda, mps, got 'gpu0'"),
        ({"epochs": 0}, "expected epochs of at least 1, got 0"),
        ({"epochs": 1.5}, "epochs: expected an integer or none, got 1.5"),
        ({"batch_size": 0}, "expected batch_size of at least 2, got 0"),
        ({"learning_rate": 0.0}, "expected learning_rate above 0, got 0.0"),
        ({"learning_rate": float("inf")}, "learning_rate: expected a number or none, got inf"),
        ({"weight_decay": -0.5}, "expected weight_decay of at least 0, got -0.5"),
        ({"dropout": 1.0}, "expected a dropout below 1, got 1.0"),
        ({"dropout": -0.1}, "expected dropout of at least 0, got -0.1"),
        ({"options": {"dim": 0}}, "expected dim of at least 1, got 0"),
        ({"taxonomy": 5}, "expected a Taxonomy, a file, or a list of paths or edges, got 5"),
    ],
)
def test_a_wrong_parameter_is_one_sentence_at_fit_and_not_before(parameters: dict[str, Any], message: str) -> None:
    classifier = HierarchicalClassifier(**{"taxonomy": UNEVEN, "epochs": 1, **parameters})
    with pytest.raises(ValueError) as error:  # noqa: PT011  # the whole message follows
        classifier.fit(X, LABELS)
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alpha": "a"}, "method 'hier-cos': option alpha: expected a number, got 'a'"),
        (
            {"direction": "up"},
            "method 'hier-cos': option direction: expected one of 'leaf', 'uniform', 'root', got 'up'",
        ),
    ],
)
def test_so_is_one_of_hier_cos(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError) as error:  # noqa: PT011  # the whole message follows
        HierCOSClassifier(UNEVEN, epochs=1, **parameters).fit(X, LABELS)
    assert str(error.value) == message


def test_samples_and_labels_come_as_arrays_and_the_estimator_remembers_their_width() -> None:
    estimator = BaseEstimator()
    found, y = training_inputs(estimator, X.tolist(), NAMES[LABELS].tolist())
    np.testing.assert_array_equal(np.asarray(found), X.astype(np.float32))
    assert y.tolist() == NAMES[LABELS].tolist()
    assert estimator.n_features_in_ == 12
    with pytest.raises(ValueError, match="X has 5 features, but BaseEstimator is expecting 12"):
        known_inputs(estimator, X[:, :5])


def test_sparse_samples_stay_sparse() -> None:
    found, _ = training_inputs(BaseEstimator(), sp.coo_matrix(X), LEVELS[LABELS])
    assert isinstance(found, SparseVectors)
    assert (found.matrix.format, found.matrix.dtype) == ("csr", np.float32)


@pytest.mark.parametrize("form", [list, np.array, lambda texts: pd.DataFrame({"text": texts})])
def test_texts_come_in_every_form(form: Any) -> None:
    found, _ = training_inputs(BaseEstimator(), form(["a cat", "a dog"]), ["cat", "dog"])
    assert (found.kind, list(found.values(range(2)))) == ("texts", ["a cat", "a dog"])


def test_samples_of_weight_0_are_left_out() -> None:
    weights = np.array([0, 1, 2, 0, 0, 3, 0, 0.5])
    data = labelled_dataset(Vectors(X.astype(np.float32)), NAMES[LABELS], label_codec(NAMES, UNEVEN), weights)
    kept = [1, 2, 5, 7]
    np.testing.assert_array_equal(np.asarray(data.inputs), X[kept].astype(np.float32))
    assert data.labels.tolist() == LABELS[kept].tolist()
    assert data.weights is not None
    assert data.weights.tolist() == [1, 2, 3, 0.5]


def test_without_weights_all_samples_count_the_same() -> None:
    data = labelled_dataset(Vectors(X.astype(np.float32)), NAMES[LABELS], label_codec(NAMES, UNEVEN), None)
    assert (len(data), data.weights) == (8, None)


def test_weights_below_0_are_refused() -> None:
    codec, weights = label_codec(NAMES, UNEVEN), np.where(LABELS == 0, -1.0, 1.0)
    with pytest.raises(ValueError, match="Negative values in data passed to `sample_weight`"):
        labelled_dataset(Vectors(X.astype(np.float32)), NAMES[LABELS], codec, weights)


@settings(max_examples=50, deadline=None)
@given(taxonomies())
def test_classes_go_there_and_back(taxonomy: Taxonomy) -> None:
    classes = np.arange(taxonomy.num_classes)
    labels = hiclass_labels(classes, taxonomy)
    assert classes_from_hiclass(labels, taxonomy).tolist() == classes.tolist()
    again = taxonomy_from_levels(labels)
    assert sorted(again.path_text(leaf) for leaf in again.leaves) == sorted(
        taxonomy.path_text(leaf) for leaf in taxonomy.leaves
    )


def test_hiclass_itself_takes_the_labels() -> None:
    from hiclass import LocalClassifierPerParentNode

    taxonomy = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("plant",)])
    classes = np.array([0, 1, 2, 0, 1, 2])
    features = np.eye(3)[classes]
    model = LocalClassifierPerParentNode().fit(features, hiclass_labels(classes, taxonomy))
    assert classes_from_hiclass(model.predict(features), taxonomy).tolist() == classes.tolist()


def test_labels_counted_from_one_are_warned_of() -> None:
    taxonomy = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
    codec, inputs = label_codec(np.arange(3), taxonomy), Vectors(np.zeros((6, 2), np.float32))
    with pytest.warns(HiercosWarning, match="labels from 1 to 3: .* so 3 means the node 'pet'"):
        labelled_dataset(inputs, np.array([1, 2, 3, 1, 2, 3]), codec, None)
    labels = np.array([0, 2, 3, 1, 2, 3])
    assert labelled_dataset(inputs, labels, codec, None).labels.tolist() == labels.tolist()  # no warning


def test_a_missing_text_among_texts_is_named() -> None:
    with pytest.raises(DataError, match=r"X: row 2: expected a text, as other rows are, got nan"):
        HierarchicalClassifier().fit(["a", float("nan"), "c"], ["pet > cat", "pet > dog", "pet > cat"])
