"""A training process is killed in mid-epoch and resumed: nothing is lost, and the end is the same, bit for bit."""

import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from blobs import cloud
from hiercos import Taxonomy
from hiercos.cli.app import run
from trees import TOY17

STEP = 100  # of about 68 an epoch: in the middle of the second
KILLED_AT_STEP = f"""import itertools, os, signal
from hiercos.training import checkpoint
checkpoint.SECONDS = 0  # after every epoch
from torch.optim.optimizer import register_optimizer_step_post_hook
from hiercos.cli import main
steps = itertools.count(1)
register_optimizer_step_post_hook(lambda *_: next(steps) == {STEP} and os.kill(os.getpid(), signal.SIGKILL))
main()"""


def arguments(folder: Path, out: Path) -> list[str]:
    options = ["--epochs", "4", "--batch-size", "8", "--set", "width=96", "--set", "dropout=0.2", "--device", "cpu"]
    options += ["--method", "path-softmax"]
    return ["train", str(folder / "data.npz"), "--taxonomy", str(folder / "tree.json"), "--out", str(out), *options]


def write_data(folder: Path, taxonomy: Taxonomy) -> None:
    taxonomy.write(folder / "tree.json")
    features, labels = cloud(taxonomy, 680)
    np.savez(folder / "data.npz", features=features.numpy(), labels=labels.numpy())


@pytest.mark.long
def test_a_run_killed_in_mid_epoch_resumes_to_the_same_weights(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_data(tmp_path, TOY17)
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    command = [sys.executable, "-c", KILLED_AT_STEP, *arguments(tmp_path, killed)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    assert (killed / "checkpoint").exists()
    assert not (killed / "record.json").exists()
    _, first = (killed / "log.csv").read_text().splitlines()  # with its seconds, which another training would change
    assert run([*arguments(tmp_path, killed), "--resume"]) == 0
    assert (killed / "log.csv").read_text().splitlines()[1] == first
    assert "epoch 4/4" in capsys.readouterr().err
    assert run(arguments(tmp_path, whole)) == 0
    for name in ("model.safetensors", "test/scores.npz"):
        assert (killed / name).read_bytes() == (whole / name).read_bytes()
