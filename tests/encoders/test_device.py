import pytest
import torch

from hiercos.encoders.device import SingleDevice, launched


def test_a_device_is_found_by_its_name() -> None:
    assert launched("cpu").device == torch.device("cpu")
    assert launched("auto").world_size == 1
    assert SingleDevice("cpu").device == torch.device("cpu")
    assert SingleDevice("auto").device == launched("auto").device


def test_a_single_device_moves_the_tensors_of_a_batch_and_keeps_its_form() -> None:
    batch = {"ids": torch.ones(2), "rest": (torch.zeros(1), ["a"])}
    moved = SingleDevice("cpu").to_device(batch)
    assert moved == {"ids": batch["ids"], "rest": (batch["rest"][0], ["a"])}
    device = SingleDevice("cpu")
    device.device = torch.device("meta")
    assert device.to_device(batch)["rest"][0].is_meta


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_a_device_that_is_not_here_is_said_in_one_sentence() -> None:
    with pytest.raises(ValueError, match=r"^expected an available device, got 'cuda'$"):
        SingleDevice("cuda")


def test_an_unknown_device_is_said_in_one_sentence() -> None:
    with pytest.raises(ValueError, match=r"^expected device to be one of auto, cpu, cuda, mps, got 'gpu0'$"):
        SingleDevice("gpu0")
