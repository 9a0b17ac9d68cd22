"""SIGTERM and Ctrl-C, at the beginning and in the middle of a run: one sentence, and finished epochs are kept."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from blobs import cloud
from hiercos.cli.app import run
from trees import TOY17


def started(folder: Path, *options: str) -> "subprocess.Popen[str]":
    TOY17.write(folder / "tree.json")
    features, labels = cloud(TOY17, 2000)
    np.savez(folder / "data.npz", features=features.numpy(), labels=labels.numpy())
    data = ["train", str(folder / "data.npz"), "--taxonomy", str(folder / "tree.json"), "--out", str(folder / "out")]
    settings = ["--method", "path-softmax", "--epochs", "50", "--batch-size", "8", *options]
    command = [sys.executable, "-m", "hiercos", *data, *settings]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


@pytest.mark.long
@pytest.mark.parametrize(
    ("number", "word"),
    [(signal.SIGTERM, "Terminated"), (signal.SIGINT, "Interrupted"), (signal.SIGHUP, "Terminated")],
    ids=["SIGTERM", "SIGINT", "SIGHUP"],
)
def test_a_terminated_run_says_so_and_keeps_its_epochs(tmp_path: Path, number: signal.Signals, word: str) -> None:
    out = tmp_path / "out"
    with started(tmp_path) as process:
        assert process.stderr is not None
        while process.poll() is None and not (out / "checkpoint.safetensors").exists():
            time.sleep(0.01)
        time.sleep(0.5)  # some epochs further
        process.send_signal(number)
        rest = process.stderr.read()
    assert process.returncode == 128 + number
    end = f"error: {word}. Rerun the command with --resume to continue.\n"
    assert rest.endswith(end)
    assert "Traceback" not in rest
    epoch = len((out / "log.csv").read_text().splitlines()) - 1
    assert f"note: {out}: saved after epoch {epoch}\n{end}" in rest
    left = {file.name for file in out.iterdir()}
    assert left - {"checkpoint-previous.safetensors"} == {"checkpoint.safetensors", "log.csv"}


@pytest.mark.long
def test_a_terminated_run_resumes_to_the_same_bytes(tmp_path: Path) -> None:
    settings = ("--epochs", "30", "--batch-size", "64", "--dropout", "0.2")
    with started(tmp_path, *settings) as process:
        while process.poll() is None and not (tmp_path / "out" / "checkpoint.safetensors").exists():
            time.sleep(0.01)
        time.sleep(0.3)
        process.send_signal(signal.SIGTERM)
        process.communicate()
    assert process.returncode == 143
    with started(tmp_path, *settings, "--resume") as resumed:
        resumed.communicate()
    assert resumed.returncode == 0
    (tmp_path / "out").rename(tmp_path / "resumed")
    with started(tmp_path, *settings) as whole:
        whole.communicate()
    for name in ("model.safetensors", "scores.npz", "config.json"):
        assert (tmp_path / "resumed" / name).read_bytes() == (tmp_path / "out" / name).read_bytes()


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
