import os
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import nn

from hiercos.errors import HiercosWarning
from hiercos.methods import Model
from hiercos.records import CHECKPOINT, PREVIOUS_CHECKPOINT
from hiercos.training import Settings
from hiercos.training.checkpoint import (
    Checkpoint,
    CheckpointError,
    Epoch,
    RunState,
    find_checkpoint,
    optimizer_tensors,
    read_checkpoint,
    restore_optimizer,
    write_checkpoint,
)
from trees import TOY

CONFIG = {"epochs": 3, "seed": 0}


def written(path: Path) -> Checkpoint:
    checkpoint = Checkpoint(
        model={"weight": torch.arange(6.0).reshape(2, 3).T},  # not contiguous
        best={"weight": torch.ones(3, 2)},
        optimizer={"0/step": torch.tensor(4.0)},
        progress={"history": [], "best_epoch": 0, "seconds": 1.5},
        config=CONFIG,
    )
    write_checkpoint(path, checkpoint)
    return checkpoint


def test_a_checkpoint_reads_back_as_it_was_written(tmp_path: Path) -> None:
    before = written(tmp_path / "c.safetensors")
    after = read_checkpoint(tmp_path / "c.safetensors", CONFIG)
    assert torch.equal(after.model["weight"], before.model["weight"])
    assert torch.equal(after.best["weight"], before.best["weight"])
    assert torch.equal(after.optimizer["0/step"], before.optimizer["0/step"])
    assert (after.progress, after.config) == (before.progress, before.config)
    assert [file.name for file in tmp_path.iterdir()] == ["c.safetensors"]


def test_other_settings_are_named(tmp_path: Path) -> None:
    written(tmp_path / "c.safetensors")
    with pytest.raises(CheckpointError, match="epochs was 3, now 5"):
        read_checkpoint(tmp_path / "c.safetensors", {"epochs": 5, "seed": 0})


@pytest.mark.parametrize("keep", [0, 4, 40, -7])
def test_a_damaged_checkpoint_is_an_error_that_names_the_file(tmp_path: Path, keep: int) -> None:
    path = tmp_path / "c.safetensors"
    written(path)
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(CheckpointError, match=r"c\.safetensors: not a checkpoint"):
        read_checkpoint(path, CONFIG)


@pytest.mark.parametrize("kind", [torch.optim.AdamW, torch.optim.SGD])
def test_an_optimizer_goes_on_as_if_it_had_never_stopped(kind: type[torch.optim.Optimizer]) -> None:
    def step(layer: nn.Linear, optimizer: torch.optim.Optimizer) -> None:
        optimizer.zero_grad()
        layer(torch.ones(1, 3)).square().sum().backward()
        optimizer.step()

    options = {"momentum": 0.9} if kind is torch.optim.SGD else {}
    torch.manual_seed(0)
    layer = nn.Linear(3, 2)
    optimizer = kind(layer.parameters(), lr=0.1, **options)
    step(layer, optimizer)
    twin = nn.Linear(3, 2)
    twin.load_state_dict(layer.state_dict())
    resumed = kind(twin.parameters(), lr=0.1, **options)
    restore_optimizer(resumed, {name: tensor.clone() for name, tensor in optimizer_tensors(optimizer).items()})
    step(layer, optimizer)
    step(twin, resumed)
    assert torch.equal(layer.weight, twin.weight)


def test_a_damaged_checkpoint_falls_back_to_the_one_before(tmp_path: Path) -> None:
    first, second = (replace(written(tmp_path / "any"), progress={"epochs": number}) for number in (1, 2))
    write_checkpoint(tmp_path / CHECKPOINT, first)
    write_checkpoint(tmp_path / CHECKPOINT, second)
    found = find_checkpoint(tmp_path, CONFIG)
    assert found is not None
    assert found.progress == {"epochs": 2}
    content = (tmp_path / CHECKPOINT).read_bytes()
    for place in (*range(0, len(content), 7), len(content) - 1):
        damaged = bytearray(content)
        damaged[place] ^= 1
        (tmp_path / CHECKPOINT).write_bytes(damaged)
        with pytest.warns(HiercosWarning, match="resuming from checkpoint-previous.safetensors"):
            found = find_checkpoint(tmp_path, CONFIG)
        assert found is not None
        assert found.progress == {"epochs": 1}
    (tmp_path / PREVIOUS_CHECKPOINT).write_bytes(b"")
    with pytest.raises(CheckpointError, match="remove it to train from the beginning"):
        find_checkpoint(tmp_path, CONFIG)


def test_a_folder_without_checkpoints_has_none(tmp_path: Path) -> None:
    assert find_checkpoint(tmp_path, CONFIG) is None


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_a_pipe_in_place_of_the_checkpoint_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / CHECKPOINT)
    with pytest.raises(CheckpointError, match=r"checkpoint\.safetensors: expected a file, this is a pipe"):
        write_checkpoint(tmp_path / CHECKPOINT, Checkpoint({}, {}, {}, {}, {}))


def test_a_checkpoint_of_the_best_epoch_holds_its_weights_once(tmp_path: Path) -> None:
    config = Settings("cross-entropy", epochs=2)
    model = Model(TOY, 4, "cross-entropy", {})
    state = RunState(model, torch.optim.SGD(model.parameters(), lr=0.1), config, CONFIG)
    sizes = []
    for number, top1 in ((1, 0.5), (2, 0.4)):  # the second epoch is worse
        with torch.no_grad():
            model.head.bias += 1
        state.add(Epoch(number, loss=1.0, top1=top1, hops=top1, seconds=1.0))
        state.write(tmp_path)
        stored = read_checkpoint(tmp_path / CHECKPOINT, CONFIG)
        sizes.append(len(stored.best))
        again = RunState(Model(TOY, 4, "cross-entropy", {}), state.optimizer, config, CONFIG)
        again.restore(stored)
        assert all(torch.equal(again.best[name], tensor) for name, tensor in state.best.items())
    assert sizes == [0, len(model.state_dict())]
