import pytest
import torch

from hiercos.losses.paths import weighted_mean


def test_weights_count_samples() -> None:
    values = torch.tensor([1.0, 4.0])
    assert float(weighted_mean(values, None)) == 2.5
    assert float(weighted_mean(values, torch.tensor([2.0, 1.0]))) == 2.0


def test_weights_of_another_shape_are_refused() -> None:
    with pytest.raises(ValueError, match=r"expected weights of shape \(2,\), got \(1,\)"):
        weighted_mean(torch.ones(2), torch.ones(1))
