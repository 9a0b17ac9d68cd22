from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from lightning_fabric import Fabric

from blobs import FEATURES, blob_data
from hiercos.methods import Model
from hiercos.training import Settings, fit
from hiercos.training.checkpoint import RunProgress
from trees import TOY17

CONFIG = Settings("flat-committee", {"size": 2, "width": 16}, epochs=3, batch_size=32)


class Interrupted:
    """A callback that counts the epochs of every member, and interrupts the run in one of them."""

    def __init__(self, member: str = "") -> None:
        self.last, self.seconds, self.epochs = member, {}, []

    def batch(self, epoch: int, done: int, total: int) -> None:
        pass

    def epoch(self, progress: RunProgress, config: Settings) -> None:
        self.seconds[progress.member] = progress.seconds
        self.epochs.append((progress.member, len(progress.history)))
        if progress.member == self.last:
            raise KeyboardInterrupt

    def close(self) -> None:
        pass


def test_a_resumed_committee_counts_the_time_of_the_members_that_were_trained_before(
    fabric: Fabric, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hiercos.training.checkpoint.SECONDS", 0.0)  # after every epoch
    data = blob_data(TOY17, 340)
    train, val = data.samples("train"), data.samples("val")

    def run(callback: Interrupted) -> RunProgress:
        model = Model(TOY17, FEATURES, CONFIG.method, CONFIG.options)
        return fit(fabric, model, train, val, CONFIG, folder=tmp_path, resume=True, callback=callback)

    stopped = Interrupted("member 2 of 2 (cross-entropy-mlp), model 3 of 3")
    with pytest.raises(KeyboardInterrupt):
        run(stopped)
    names = [f"member {member} of 2 (cross-entropy-mlp), model {fold} of 3" for member in (1, 2) for fold in (1, 2, 3)]
    assert list(stopped.seconds) == names
    resumed = Interrupted()
    progress = run(resumed)
    assert resumed.epochs == [(names[-1], 2), (names[-1], 3)]
    earlier = sum(stopped.seconds.values())
    assert progress.seconds > earlier  # and this process has done less than a tenth of the epochs
    assert progress.member == ""


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"max_epochs": 60, "patience": 2, "batch_size": 10}, 15),
        ({"max_epochs": 60, "patience": 2}, 43),  # 300 steps of 32 of the 204 samples
        ({"max_epochs": 6, "patience": 2}, 6),  # the maximum of the run
        ({"epochs": 3}, 3),  # the number of the run
    ],
)
def test_flat_heads_train_for_15_epochs_or_300_steps_unless_the_run_asks_for_fewer_or_for_a_number(
    fabric: Fabric, settings: dict[str, Any], expected: int
) -> None:
    data, seen = blob_data(TOY17, 340), Interrupted()
    config = replace(CONFIG, **{"epochs": None, **settings})
    model = Model(TOY17, FEATURES, config.method, config.options)
    fit(fabric, model, data.samples("train"), data.samples("val"), config, callback=seen)
    assert dict(seen.epochs) == dict.fromkeys(seen.seconds, expected)  # the last epoch of each member
