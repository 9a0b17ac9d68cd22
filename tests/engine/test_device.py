import pytest
import torch

from hiercos.engine.device import launched


def test_a_device_is_found_by_its_name() -> None:
    assert launched("cpu").device == torch.device("cpu")
    assert launched("auto").world_size == 1


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_a_device_that_is_not_here_is_said_in_one_sentence() -> None:
    with pytest.raises(ValueError, match=r"^expected an available device, got 'cuda'$"):
        launched("cuda")


def test_an_unknown_device_is_said_in_one_sentence() -> None:
    with pytest.raises(ValueError, match=r"^expected device to be one of auto, cpu, cuda, mps, got 'gpu0'$"):
        launched("gpu0")
