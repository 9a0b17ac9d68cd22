"""Progress of training and of passes over rows."""

import io
import math
from pathlib import Path
from typing import Any, cast

import pytest
from rich.console import Console

from hiercos.benchmark import Outcome, Task
from hiercos.cli.display import progress as shown_progress
from hiercos.cli.display.progress import ComparisonDisplay, RowProgress, RunDisplay, checking_lines
from hiercos.training import Epoch, RunProgress, Settings

HOPS = Settings(method="hier-cos", epochs=5, rule="hops")


def terminal() -> Console:
    return Console(file=io.StringIO(), force_terminal=True, width=140)


def shown(console: Console) -> str:
    """What a terminal was sent."""
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def run(method: str, seed: int) -> Any:
    return Task(method, f"seed {seed}", cast(Any, None), Settings(method, epochs=10, seed=seed), Path("nowhere"))


def result(top1: float, hops: float) -> Any:
    return Outcome(progress=progress((top1, hops)))


def progress(*epochs: tuple[float, float]) -> RunProgress:
    history = [Epoch(number, 0.5, top1, hops, 4.0 * number) for number, (top1, hops) in enumerate(epochs, start=1)]
    best = max(history, key=lambda epoch: epoch.top1).number
    return RunProgress(history, best, 4.0 * len(history))


def test_the_bars_of_a_comparison_show_means_so_far_and_epochs_at_work() -> None:
    console = terminal()
    with ComparisonDisplay(["hxe", "hier-cos"], 3, console) as display:
        first, second = run("hxe", 0), run("hxe", 1)
        display.begin(first)
        display.begin(second).epoch(progress((0.5, 0.8), (0.4, 0.9)), second.settings.resolved(100))
        display.end(first, result(0.7, 0.9))
    last = shown(console).rpartition("hxe seed 1  epoch 2/10")
    assert "val top-1 40.00%  val HOPS 0.9000" in last[2]  # of the run that is at work
    assert "val top-1 70.00%  val HOPS 0.9000" in last[0]  # of those that are done
    assert "\x1b[?25h" in shown(console)  # the cursor is back


def test_without_a_terminal_a_comparison_prints_lines_with_the_name_of_the_run(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with ComparisonDisplay(["hxe"], 1) as display:
        callback = display.begin(run("hxe", 0))
        callback.epoch(progress((0.5, 0.7)), run("hxe", 0).settings.resolved(100))
        callback.close()
        display.end(run("hxe", 0), result(0.5, 0.7))
    assert capsys.readouterr().err.startswith("hxe seed 0  epoch 1/10  loss 0.5000")


def explained(console: Console | None, *epochs: tuple[float, float], member: str = "") -> None:
    """A run of some epochs, with the sentences at its end."""
    display = RunDisplay("hier-cos seed 0", console=console)
    for count in range(1, len(epochs) + 1):
        found = progress(*epochs[:count])
        display.batch(count, 1, 2)
        display.epoch(RunProgress(found.history, found.best_epoch, member=member), HOPS)
    display.close()
    display.close()


def test_a_bar_is_explained_when_it_ends_and_only_if_it_has_figures() -> None:
    console = terminal()
    explained(console, (0.5, 0.7))
    assert "epoch 1/5" in shown(console)
    assert "val HOPS 0.7000" in shown(console)
    assert shown(console).endswith("val HOPS is without the rule hops; the results are with it.\n")
    silent = terminal()
    explained(silent)
    assert "without the rule" not in shown(silent)


def test_a_log_of_quick_epochs_shows_only_the_last_one(capsys: pytest.CaptureFixture[str]) -> None:
    explained(None, *[(0.5, 0.7)] * 5)
    line, kept, legend = capsys.readouterr().err.splitlines()
    assert line.startswith("hier-cos seed 0  epoch 5/5  loss 0.5000")
    assert "best epoch 1" in line
    assert kept.startswith("The weights of the best epoch")
    assert legend == "val HOPS is without the rule hops; the results are with it."


def test_a_log_of_slow_epochs_shows_every_one_once(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shown_progress, "INTERVAL", 0.0)
    explained(None, *[(0.5, 0.7)] * 5)
    lines = capsys.readouterr().err.splitlines()[:-2]
    assert [line.split("  ")[1] for line in lines] == [f"epoch {number}/5" for number in range(1, 6)]


def test_lines_of_a_part_name_it_and_are_not_explained(capsys: pytest.CaptureFixture[str]) -> None:
    explained(None, (0.5, 0.7), member="member 6 of 6 (cross-entropy-mlp), model 3 of 3")
    expected = "member 6 of 6 (cross-entropy-mlp), model 3 of 3: epoch 1/5, val top-1 50.00%\n"
    assert capsys.readouterr().err == expected
    explained(None, (math.nan, math.nan), member="all samples")
    assert capsys.readouterr().err == "all samples: epoch 1/5, loss 0.5000\n"


def test_rows_are_counted_at_the_end_and_after_an_interruption(capsys: pytest.CaptureFixture[str]) -> None:
    rows = RowProgress("texts", "embedding")
    rows.start(500, 1000)
    rows.rows(700)
    rows.rows(1000)
    rows.close()
    first, last = capsys.readouterr().err.splitlines()
    assert first == "resuming: 500 of 1,000 texts are done"
    assert last.startswith("embedding 1,000/1,000 texts, ")


def test_a_quick_check_of_images_says_nothing_and_a_slow_one_its_progress(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    quick = checking_lines()
    assert quick is not None
    quick(4000, 4000)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(shown_progress, "INTERVAL", 0.0)
    slow = checking_lines()
    assert slow is not None
    slow(2048, 4000)
    assert capsys.readouterr().err == "checked 2,048 of 4,000 images\n"


def test_only_the_first_process_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "1")
    assert checking_lines() is None
