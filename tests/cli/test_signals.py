"""SIGTERM and Ctrl-C in the middle of a run: one sentence, and finished work is kept."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from blobs import written_cloud
from hiercos.cli.app import run
from trees import TOY17

STOPPED_AT_STEP = """import itertools, os, sys
from torch.optim.optimizer import register_optimizer_step_post_hook
from hiercos.cli import main
from hiercos.training import checkpoint
checkpoint.SECONDS = 0  # after every epoch
number, step = map(int, sys.argv[1:3])
del sys.argv[1:3]
steps = itertools.count(1)
register_optimizer_step_post_hook(lambda *_: next(steps) == step and os.kill(os.getpid(), number))
main()"""


def arguments(folder: Path, out: Path, command: str = "train") -> list[str]:
    """A run of four epochs with 9 steps each; its data are written before."""
    data = [*written_cloud(folder, TOY17, 340), "--out", str(out), "--device", "cpu"]
    settings = ["--method", "path-softmax"] if command == "train" else ["--methods", "path-softmax", "--seeds", "1"]
    return [command, *data, *settings, "--epochs", "4", "--batch-size", "32", "--set", "width=16"]


@pytest.mark.long
@pytest.mark.parametrize(("number", "word"), [(signal.SIGINT, "Interrupted"), (signal.SIGTERM, "Terminated")])
def test_a_stopped_run_says_so_and_resumes_to_the_same_bytes(tmp_path: Path, number: signal.Signals, word: str) -> None:
    stopped, whole = tmp_path / "stopped", tmp_path / "whole"
    command = [sys.executable, "-c", STOPPED_AT_STEP, str(int(number)), "20", *arguments(tmp_path, stopped)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 128 + number
    assert ended.stderr.endswith(
        f"error: {word}. Finished work is kept; rerun the command with --resume to continue.\n"
    )
    assert "Traceback" not in ended.stderr
    (log,) = stopped.rglob("log.csv")  # of the first of three fits
    assert 1 <= len(log.read_text().splitlines()) - 1 < 4
    assert {file.name for file in stopped.rglob("*") if file.is_file()} == {"checkpoint", "log.csv"}
    assert run([*arguments(tmp_path, stopped), "--resume"]) == run(arguments(tmp_path, whole)) == 0
    for name in ("model.safetensors", "test/scores.npz"):
        assert (stopped / name).read_bytes() == (whole / name).read_bytes()


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["compare", "icd10cm"], "Interrupted. Finished work is kept; rerun the command to continue."),
        (["taxonomy", "show", "tree.csv"], "Interrupted."),
    ],
)
def test_an_interrupted_command_says_what_is_left_of_it(
    command: list[str], message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("hiercos.cli.app.app", interrupted)
    assert run(command) == 130
    assert capsys.readouterr().err == f"error: {message}\n"


def test_the_end_of_a_file_is_no_interruption(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def ends(*_: object, **__: object) -> None:
        raise EOFError

    monkeypatch.setattr("hiercos.cli.commands.taxonomy.open_taxonomy", ends)
    assert run(["taxonomy", "check", "any.csv"]) == 1
    assert capsys.readouterr().err.strip() == "error: EOFError: a file ends where more was expected"


def test_control_characters_in_messages_are_escaped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["taxonomy", "check", str(tmp_path / "a\x1b[2J.csv")]) == 2
    assert r"a\x1b[2J.csv" in capsys.readouterr().err
