from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, settings
from sklearn.base import BaseEstimator

from hiercos import HierarchicalClassifier, HierCOSClassifier, Taxonomy
from hiercos.errors import HiercosWarning
from hiercos.sklearn.inputs import (
    ParameterError,
    check_parameters,
    checked_samples,
    classes_from_hiclass,
    hiclass_labels,
    labelled,
)
from hiercos.taxonomy import label_codec, taxonomy_from_levels
from sklearn_clouds import LEVELS, NAMES, UNEVEN, samples
from trees import taxonomies

X, LABELS = samples(8)


def test_the_parameters_of_both_estimators_are_possible_as_they_come() -> None:
    for estimator in (HierarchicalClassifier(), HierCOSClassifier()):
        check_parameters(estimator.get_params())
    check_parameters({"epochs": np.int64(3), "learning_rate": np.float32(0.1), "weight_decay": 0})


def test_every_wrong_parameter_is_said_at_once() -> None:
    with pytest.raises(ParameterError) as error:
        check_parameters({"epochs": 2.5, "batch_size": None, "device": 0})
    assert error.value.faults == (
        "epochs: expected an integer or none, got 2.5",
        "batch_size: expected an integer, got None",
        "device: expected a text, got 0",
    )


def test_texts_in_place_of_numbers_are_refused_with_what_to_do() -> None:
    message = "^X: expected numbers, got texts; put a TfidfVectorizer before this estimator .*hiercos train for texts$"
    texts = ["a text", "b"]
    for inputs in (texts, np.array(texts), np.array(texts, dtype=object).reshape(-1, 1), [[1.0, "b"], [2.0, "c"]]):
        with pytest.raises(ValueError, match=message):
            HierarchicalClassifier().fit(inputs, ["cat", "dog"])
    with pytest.raises(ValueError, match=message):
        checked_samples(HierarchicalClassifier(), texts, LEVELS[:2], reset=True)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"method": "hier-cso"}, "unknown method 'hier-cso'; did you mean 'hier-cos'?"),
        ({"method": None}, "method: expected a text, got None"),
        ({"method": "hier-cos", "options": {"alhpa": 1}}, "method 'hier-cos' has no option 'alhpa'; did you mean"),
        ({"options": {"width": 9}}, "options: expected a dict without 'width' and 'dropout', got {'width': 9}"),
        ({"options": "alpha=1"}, "options: expected a dict without 'width' and 'dropout', got 'alpha=1'"),
        ({"method": "cross-entropy", "width": 5}, "method 'cross-entropy' has no option 'width'; there are: hidden"),
        ({"width": 0}, "method 'committee' with width=0: expected width of at least 1, got 0"),
        ({"rule": ["none"]}, "rule: expected a text or none, got ['none']"),
        ({"rule": "best"}, "unknown rule 'best'; there are: "),
        ({"device": "gpu0"}, "expected device to be one of auto, cpu, cuda, mps, got 'gpu0'"),
        ({"validation_fraction": 1.0}, "expected validation_fraction from 0 to below 1, got 1.0"),
        ({"validation_fraction": "a"}, "validation_fraction: expected a number or none, got 'a'"),
        ({"epochs": 0}, "expected epochs of at least 1, got 0"),
        ({"epochs": 1.5}, "epochs: expected an integer or none, got 1.5"),
        ({"batch_size": 0}, "batch_size: expected at least 2, got 0"),
        ({"learning_rate": 0.0}, "expected learning_rate above 0, got 0.0"),
        ({"learning_rate": float("inf")}, "learning_rate: expected a number or none, got inf"),
        ({"weight_decay": -0.5}, "weight_decay: expected at least 0, got -0.5"),
        ({"sparse_components": 0}, "sparse_components: expected at least 1, got 0"),
        ({"dropout": 1.0}, "dropout: expected a share below 1, got 1.0"),
        ({"dropout": -0.1}, "dropout: expected at least 0, got -0.1"),
        ({"warm_start": "x"}, "warm_start: expected true or false, got 'x'"),
        ({"options": {1: 2}}, "options: expected a dict without 'width' and 'dropout', got {1: 2}"),
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
        ({"alpha": "a"}, "method 'hier-cos': option alpha: expected a number or none, got 'a'"),
        (
            {"direction": "up"},
            "method 'hier-cos': option direction: expected one of 'leaf', 'uniform', 'root', got 'up'",
        ),
        ({"rule": None}, "unknown rule None; did you mean 'none'?"),
    ],
)
def test_so_is_one_of_hier_cos(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError) as error:  # noqa: PT011  # the whole message follows
        HierCOSClassifier(UNEVEN, epochs=1, **parameters).fit(X, LABELS)
    assert str(error.value) == message


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
    codec, X = label_codec(np.arange(3), taxonomy), np.zeros((6, 2))
    with pytest.warns(HiercosWarning, match="labels from 1 to 3: .* so 3 means the node 'pet'"):
        labelled(X, np.array([1, 2, 3, 1, 2, 3]), codec, None)
    assert labelled(X, np.array([0, 2, 3, 1, 2, 3]), codec, None).labels.tolist() == [0, 2, 3, 1, 2, 3]  # no warning
