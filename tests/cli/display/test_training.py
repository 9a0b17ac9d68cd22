import io

import pytest
from rich.console import Console

from hiercos.cli.display import training
from hiercos.cli.display.training import LiveDisplay, PlainDisplay
from hiercos.engine import Epoch, RunProgress, TrainConfig


def live(legend: str, *, epochs: int) -> str:
    """What a terminal shows of a run after some epochs."""
    screen = io.StringIO()
    config = TrainConfig(method="hier-cos", epochs=2)
    display = LiveDisplay(Console(file=screen, force_terminal=True, width=140), "hier-cos seed 0", config, [legend])
    history = [Epoch(number, 1.0, 0.5, 0.7, 3.0) for number in range(1, epochs + 1)]
    display.batch(1, 1, 2)
    if history:
        display.epoch(RunProgress(history, best_epoch=1), config)
    display.close()
    return screen.getvalue()


def test_a_live_line_is_explained_when_it_ends_and_only_if_it_has_figures() -> None:
    assert "val HOPS 0.7000  best epoch 1" in live("what this is", epochs=2)
    assert live("what this is", epochs=2).endswith("what this is\n")
    assert "what this is" not in live("what this is", epochs=0)


def plain(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """What a log shows of five epochs of one run."""
    config = TrainConfig(method="hier-cos", epochs=5)
    display = PlainDisplay("hier-cos seed 0", ["what this is"])
    history = [Epoch(number, 1.0, 0.5, 0.7, 3.0) for number in range(1, 6)]
    for count in range(1, 6):
        display.epoch(RunProgress(history[:count], best_epoch=1), config)
    display.close()
    display.close()
    return capsys.readouterr().err.splitlines()


def test_a_log_of_quick_epochs_shows_only_the_last_one(capsys: pytest.CaptureFixture[str]) -> None:
    line, legend = plain(capsys)
    assert line.startswith("hier-cos seed 0  epoch 5/5  loss 1.0000")
    assert "best epoch 1" in line
    assert legend == "what this is"


def test_a_log_of_slow_epochs_shows_every_one_once(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "INTERVAL", 0.0)
    assert [line.split("  ")[1] for line in plain(capsys)[:-1]] == [f"epoch {number}/5" for number in range(1, 6)]
