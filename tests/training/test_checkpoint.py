from pathlib import Path

import pytest
import torch
from torch import nn

from hiercos.methods import Model
from hiercos.records import CHECKPOINT
from hiercos.training import Settings
from hiercos.training.checkpoint import (
    Checkpoint,
    CheckpointError,
    Epoch,
    RunState,
    find_checkpoint,
    optimizer_tensors,
    restore_optimizer,
    write_checkpoint,
)
from trees import TOY

CONFIG = {"epochs": 3, "seed": 0}


def test_a_checkpoint_reads_back_as_it_was_written_unless_a_byte_or_a_setting_changed(tmp_path: Path) -> None:
    assert find_checkpoint(tmp_path, CONFIG) is None
    progress = {"history": [], "best_epoch": 0, "seconds": 1.5}
    weights = {"weight": torch.arange(6.0).reshape(2, 3).T}  # not contiguous
    before = Checkpoint(weights, {"weight": torch.ones(3, 2)}, {"0/step": torch.tensor(4.0)}, progress, CONFIG)
    write_checkpoint(tmp_path / CHECKPOINT, before)
    after = find_checkpoint(tmp_path, CONFIG)
    assert after is not None
    assert torch.equal(after.model["weight"], before.model["weight"])
    assert torch.equal(after.best["weight"], before.best["weight"])
    assert torch.equal(after.optimizer["0/step"], before.optimizer["0/step"])
    assert (after.progress, after.config) == (before.progress, before.config)
    assert [file.name for file in tmp_path.iterdir()] == [CHECKPOINT]
    with pytest.raises(CheckpointError, match="epochs was 3, now 5"):
        find_checkpoint(tmp_path, {"epochs": 5, "seed": 0})
    content = (tmp_path / CHECKPOINT).read_bytes()
    for place in (0, 40, len(content) - 1):
        changed = bytearray(content)
        changed[place] ^= 1
        for damaged in (changed, content[:place]):
            (tmp_path / CHECKPOINT).write_bytes(damaged)
            with pytest.raises(CheckpointError, match=r"checkpoint: damaged .+ remove it to train from the beginning"):
                find_checkpoint(tmp_path, CONFIG)


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
        stored = find_checkpoint(tmp_path, CONFIG)
        assert stored is not None
        sizes.append(len(stored.best))
        again = RunState(Model(TOY, 4, "cross-entropy", {}), state.optimizer, config, CONFIG)
        again.restore(stored)
        assert all(torch.equal(again.best[name], tensor) for name, tensor in state.best.items())
    assert sizes == [0, len(model.state_dict())]
