from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from hiercos import cpu_sharing
from hiercos.engine.device import SingleDevice, in_cpu_turns, launched


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


@pytest.mark.parametrize(("device", "processes", "turn"), [("cpu", 1, True), ("cpu", 2, False), ("cuda", 1, False)])
def test_turns_are_taken_by_single_processes_on_the_cpu(
    device: str, processes: int, turn: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fcntl = pytest.importorskip("fcntl")
    own = cpu_sharing.CpuTurns(tmp_path)
    monkeypatch.setattr(cpu_sharing, "_shared", own)
    fabric = SimpleNamespace(device=torch.device(device), world_size=processes)
    with (tmp_path / "turn").open("rb") as file:
        for _ in in_cpu_turns(fabric, [0]):
            if turn:
                with pytest.raises(BlockingIOError):
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            else:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    own.close()
