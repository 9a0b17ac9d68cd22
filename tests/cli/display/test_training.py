import io

from rich.console import Console

from hiercos.cli.display.training import LiveDisplay
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
