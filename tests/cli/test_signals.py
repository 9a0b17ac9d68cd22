"""SIGTERM and Ctrl-C, at the beginning and in the middle of a run: one sentence, and finished epochs are kept."""

import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from blobs import cloud
from hiercos.cli.app import run
from trees import TOY17

EPOCHS = 40  # of about a twentieth of a second each


def arguments(folder: Path, out: Path) -> list[str]:
    """A training run; its data are written before."""
    TOY17.write(folder / "tree.json")
    features, labels = cloud(TOY17, 2000)
    np.savez(folder / "data.npz", features=features.numpy(), labels=labels.numpy())
    data = [str(folder / "data.npz"), "--taxonomy", str(folder / "tree.json"), "--out", str(out), "--device", "cpu"]
    settings = ["--method", "path-softmax", "--epochs", str(EPOCHS), "--batch-size", "64", "--width", "32"]
    return ["train", *data, *settings, "--dropout", "0.2"]


class Stopped(NamedTuple):
    """A run that was stopped by a signal after some epochs: its folder, its exit code, and what it said."""

    folder: Path
    code: int
    said: str


def stopped(folder: Path, number: signal.Signals) -> Stopped:
    out = folder / "out"
    command = [sys.executable, "-m", "hiercos", *arguments(folder, out)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        while process.poll() is None and not (out / "checkpoint.safetensors").exists():
            time.sleep(0.01)
        time.sleep(0.2)  # some epochs further
        process.send_signal(number)
        said = process.communicate()[1]
    return Stopped(out, process.returncode, said)


def says_so_and_keeps_its_epochs(run: Stopped, number: signal.Signals, word: str) -> None:
    assert run.code == 128 + number
    end = f"error: {word}. Rerun the command with --resume to continue.\n"
    assert run.said.endswith(end)
    assert "Traceback" not in run.said
    epoch = len((run.folder / "log.csv").read_text().splitlines()) - 1
    assert 1 <= epoch < EPOCHS
    assert f"note: {run.folder}: saved after epoch {epoch}\n{end}" in run.said
    left = {file.name for file in run.folder.iterdir()}
    assert left - {"checkpoint-previous.safetensors"} == {"checkpoint.safetensors", "log.csv"}


@pytest.mark.long
@pytest.mark.parametrize(("number", "word"), [(signal.SIGINT, "Interrupted"), (signal.SIGHUP, "Terminated")])
def test_an_interrupted_run_says_so_and_keeps_its_epochs(tmp_path: Path, number: signal.Signals, word: str) -> None:
    says_so_and_keeps_its_epochs(stopped(tmp_path, number), number, word)


@pytest.mark.long
def test_a_terminated_run_says_so_and_resumes_to_the_same_bytes(tmp_path: Path) -> None:
    terminated = stopped(tmp_path, signal.SIGTERM)
    says_so_and_keeps_its_epochs(terminated, signal.SIGTERM, "Terminated")
    whole = tmp_path / "whole"
    assert run([*arguments(tmp_path, terminated.folder), "--resume"]) == run(arguments(tmp_path, whole)) == 0
    for name in ("model.safetensors", "scores.npz", "config.json"):
        assert (terminated.folder / name).read_bytes() == (whole / name).read_bytes()


TELLS_WHEN_IT_BEGINS = """import sys
from hiercos.cli import main
sys.addaudithook(lambda event, values: event == "import" and values[0] == "hiercos.cli.app" and print(flush=True))
main()"""  # the import follows at once when the handlers are set


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("seconds", [0.15, 0.3, 0.6, 1.2])
def test_a_signal_in_the_first_moments_gives_no_traceback(number: signal.Signals, seconds: float) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", TELLS_WHEN_IT_BEGINS, "methods"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(seconds)
        process.send_signal(number)
        _, said = process.communicate(timeout=300)
    assert "Traceback" not in said
    assert process.returncode in (0, 128 + number)


def test_the_end_of_a_file_is_no_interruption(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def ends(*_: object, **__: object) -> None:
        raise EOFError

    monkeypatch.setattr("hiercos.cli.commands.taxonomy.open_taxonomy", ends)
    assert run(["taxonomy", "check", "any.csv"]) == 1
    assert capsys.readouterr().err.strip() == "error: EOFError: a file ends where more was expected"


def test_control_characters_in_messages_are_escaped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["taxonomy", "check", str(tmp_path / "a\x1b[2J.csv")]) == 2
    assert r"a\x1b[2J.csv" in capsys.readouterr().err
