from typing import Any

import numpy as np
import pytest

from hiercos import HierarchicalClassifier, HierCOSClassifier
from hiercos.sklearn.parameters import ParameterError, check_parameters
from sklearn_clouds import UNEVEN, samples

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


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"method": "hier-cso"}, "unknown method 'hier-cso'; did you mean 'hier-cos'?"),
        ({"method": None}, "method: expected a text, got None"),
        ({"method": "hier-cos", "options": {"alhpa": 1}}, "method 'hier-cos' has no option 'alhpa'; did you mean"),
        ({"options": {"width": 9}}, "options: expected a dict without 'width' and 'dropout', got {'width': 9}"),
        ({"options": "alpha=1"}, "options: expected a dict without 'width' and 'dropout', got 'alpha=1'"),
        ({"method": "cross-entropy", "width": 5}, "method 'cross-entropy' has no option 'width'; there are: hidden"),
        ({"width": 0}, "method 'default' with width=0: expected width of at least 1, got 0"),
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
        ({"alpha": "a"}, "method 'hier-cos': option alpha: expected a number, got 'a'"),
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
