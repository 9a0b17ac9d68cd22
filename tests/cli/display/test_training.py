"""The table that a comparison shows while it runs."""

import io
import math
from pathlib import Path

import pytest
from rich.console import Console

from hiercos.benchmark.comparison import Run, RunResult
from hiercos.benchmark.tuning import Trial, TrialResult
from hiercos.cli.display import training
from hiercos.cli.display.training import LiveDisplay, PlainDisplay, ProgressTable
from hiercos.engine import Epoch, RunProgress, TrainConfig
from records import record

HERE = Path()


def table(methods: list[str], *, seeds: int = 3, trials: int = 0, jobs: int = 1) -> ProgressTable:
    console = Console(file=io.StringIO(), force_terminal=True, width=110)
    return ProgressTable(console, methods, seeds=seeds, trials=trials, jobs=jobs)


def shown(progress: ProgressTable) -> dict[str, list[str]]:
    """The cells of each row, by its first, and the caption under "caption"."""
    console = Console(file=io.StringIO(), width=110)
    console.print(progress.render())
    assert isinstance(console.file, io.StringIO)
    lines = console.file.getvalue().splitlines()
    cells = [[cell.strip() for cell in line.strip("│┃").split("│")] for line in lines if line[0] in "│┃"]
    return {first: rest for first, *rest in cells[1:]} | {"caption": [lines[-1].strip()]}


def run(method: str, seed: int) -> Run:
    return Run(TrainConfig(method=method, epochs=10, seed=seed), HERE, ("none",))


def result(method: str, seed: int, top1: float, hops: float) -> RunResult:
    epochs = [{"number": 1, "loss": 1.0, "top1": top1, "hops": hops, "seconds": 2.0}]
    finished = record(method, seed)
    return RunResult(type(finished)(**{**vars(finished), "history": epochs, "best_epoch": 1}), [finished])


def progress(*epochs: tuple[float, float]) -> RunProgress:
    history = [Epoch(number, 0.5, top1, hops, 4.0 * number) for number, (top1, hops) in enumerate(epochs, start=1)]
    best = max(history, key=lambda epoch: epoch.top1).number
    return RunProgress(history, best, 4.0 * len(history))


def test_a_table_begins_with_nothing_done() -> None:
    assert shown(table(["hxe", "hier-cos"])) == {
        "hxe": ["0/3", "", "", "", ""],
        "hier-cos": ["0/3", "", "", "", ""],
        "caption": ["0 of 6 done"],
    }


def test_rows_show_seeds_done_epochs_at_work_means_so_far_and_the_time_left() -> None:
    progress_table = table(["hxe", "hier-cos"], jobs=2)
    first, second = run("hxe", 0), run("hxe", 1)
    callbacks = [progress_table.begin(first), progress_table.begin(second)]
    callbacks[0].batch(1, 1, 4)
    assert shown(progress_table)["hxe"] == ["0/3", "", "", "", "seed 0: 1/10, seed 1: 0/10"]
    callbacks[1].epoch(progress((0.5, 0.8), (0.4, 0.9)), second.config)  # the first epoch was better: it counts
    callbacks[1].batch(3, 2, 4)
    progress_table.end(first, result("hxe", 0, 0.7, 0.9))
    # 4 s an epoch, 40 s a run: one and three quarters are left, one at a time
    assert shown(progress_table)["hxe"] == ["1/3", "60.00", "0.8500", "1 min", "seed 1: 3/10"]
    # hier-cos, of unknown pace, counts like hxe: 4.75 runs of 40 s, two at a time
    assert shown(progress_table)["caption"] == ["1 of 6 done, about 2 min left"]


def test_a_member_without_validation_leaves_the_means_as_they_are() -> None:
    progress_table = table(["default"], seeds=2)
    first, second = run("default", 0), run("default", 1)
    progress_table.begin(first)
    progress_table.end(first, result("default", 0, 0.7, 0.9))
    progress_table.begin(second).epoch(progress((math.nan, math.nan)), second.config)
    assert shown(progress_table)["default"][1:3] == ["70.00", "0.9000"]


def test_runs_that_an_earlier_call_finished_count_as_done() -> None:
    progress_table = table(["hxe"], seeds=2)
    for seed in (0, 1):
        progress_table.begin(run("hxe", seed))
        progress_table.end(run("hxe", seed), result("hxe", seed, 0.5 + 0.1 * seed, 0.8))
    assert shown(progress_table) == {"hxe": ["2/2", "55.00", "0.8000", "done", ""], "caption": ["2 of 2 done"]}


def test_a_run_is_not_done_before_it_is_tested() -> None:
    progress_table = table(["hxe"], seeds=1)
    task = run("hxe", 0)
    progress_table.begin(task).epoch(progress(*[(0.5, 0.6)] * 10), task.config)
    assert shown(progress_table)["hxe"] == ["0/1", "50.00", "0.6000", "0 s", "seed 0: 10/10"]


def test_trials_have_a_column_and_show_the_best_until_runs_begin() -> None:
    progress_table = table(["hxe"], seeds=1, trials=3)
    config = TrainConfig(method="hxe", epochs=10)
    for number, hops in enumerate([0.7, 0.9, float("nan")]):
        trial = Trial(number, config, HERE)
        progress_table.begin(trial)
        fault = "epoch 1: the loss is nan" if hops != hops else None
        progress_table.end(trial, TrialResult(number, {}, top1=0.25, hops=hops, fault=fault))
    assert shown(progress_table)["hxe"] == ["3/3", "0/1", "25.00", "0.9000", "", ""]
    callback = progress_table.begin(run("hxe", 0))
    callback.epoch(progress((0.5, 0.6)), config)
    assert shown(progress_table)["hxe"] == ["3/3", "0/1", "50.00", "0.6000", "36 s", "seed 0: 1/10"]


def test_the_terminal_has_the_last_state_when_the_table_is_left_even_by_an_error() -> None:
    def interrupted() -> None:
        with progress_table:
            progress_table.begin(run("hxe", 0)).batch(7, 1, 1)
            raise KeyboardInterrupt

    progress_table = table(["hxe"], seeds=1)
    with pytest.raises(KeyboardInterrupt):
        interrupted()
    console = progress_table.live.console
    assert isinstance(console.file, io.StringIO)
    assert "seed 0: 7/10" in console.file.getvalue()
    assert "\x1b[?25h" in console.file.getvalue()  # the cursor is back


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


def test_lines_of_a_committee_name_the_member_and_fit_80_columns(capsys: pytest.CaptureFixture[str]) -> None:
    config = TrainConfig(method="cross-entropy-mlp", epochs=100)
    history = [Epoch(number, 1.0, 0.5, 0.7, 3.0) for number in range(1, 101)]
    found = RunProgress(history, best_epoch=1, member="member 6 of 6 (cross-entropy-mlp), model 3 of 3")
    legend = ["about other figures"]
    for display in (PlainDisplay("default seed 0", legend), PlainDisplay("default seed 0", is_one_of_many=True)):
        display.epoch(found, config)
        display.close()
    alone, beside = capsys.readouterr().err.splitlines()
    assert alone == "member 6 of 6 (cross-entropy-mlp), model 3 of 3: epoch 100/100, val top-1 50.00%"
    assert len(alone) <= 80
    assert beside == f"default seed 0, {alone}"


def test_a_member_without_validation_shows_its_loss(capsys: pytest.CaptureFixture[str]) -> None:
    found = RunProgress([Epoch(1, 1.5, math.nan, math.nan, 3.0)], best_epoch=1, member="member 2 of 6 (a)")
    display = PlainDisplay("default seed 0")
    display.epoch(found, TrainConfig(method="cross-entropy-mlp", epochs=15))
    display.close()
    assert capsys.readouterr().err == "member 2 of 6 (a): epoch 1/15, loss 1.5000\n"
