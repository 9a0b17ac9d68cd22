import numpy as np
import pytest
import torch

from hiercos.engine.scoring import ARRAY_ROWS_AT_ONCE, array_scores
from hiercos.methods import METHODS, Model
from sklearn_clouds import UNEVEN, samples


def model(method: str = "hier-cos") -> Model:
    torch.manual_seed(0)
    return Model(UNEVEN, 12, method).eval()


@pytest.mark.parametrize("method", METHODS)
def test_scores_are_those_of_the_model_and_its_rule(method: str) -> None:
    network, features = model(method), samples(9)[0].astype(np.float32)
    with torch.no_grad():
        expected = network.class_scores(network(torch.tensor(features)))
    torch.testing.assert_close(array_scores(network, features, "cpu"), expected)


def test_scores_have_the_precision_of_the_features_and_the_model_keeps_its_own() -> None:
    network, (features, _) = model(), samples(9)
    assert array_scores(network, features, "cpu").dtype == torch.float64
    assert array_scores(network, features.astype(np.float32), "cpu").dtype == torch.float32
    assert {value.dtype for value in network.parameters()} == {torch.float32}


def test_many_rows_are_the_same_as_few() -> None:
    network, (features, _) = model(), samples(ARRAY_ROWS_AT_ONCE + 3)
    scores = array_scores(network, features, "cpu")
    assert scores.shape == (ARRAY_ROWS_AT_ONCE + 3, 4)
    torch.testing.assert_close(scores[-5:], array_scores(network, features[-5:], "cpu"), rtol=1e-12, atol=1e-12)


def test_read_only_and_strided_features_are_read() -> None:
    network, (features, _) = model(), samples(9)
    expected = array_scores(network, features[::2].copy(), "auto")
    features.flags.writeable = False
    torch.testing.assert_close(array_scores(network, features[::2], "cpu"), expected)
