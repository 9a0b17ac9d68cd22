"""A training process is killed in mid-epoch and resumed: nothing is lost, and the end is the same, bit for bit."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from blobs import cloud
from hiercos import Taxonomy
from trees import TOY17


def command(folder: Path, out: Path) -> list[str]:
    options = ["--epochs", "6", "--batch-size", "8", "--width", "96", "--dropout", "0.2", "--device", "cpu"]
    options += ["--method", "path-softmax"]
    data = ["train", str(folder / "data.npz"), "--taxonomy", str(folder / "tree.json"), "--out", str(out)]
    return [sys.executable, "-m", "hiercos", *data, *options]


def write_data(folder: Path, taxonomy: Taxonomy) -> None:
    taxonomy.write(folder / "tree.json")
    features, labels = cloud(taxonomy, 3000)
    np.savez(folder / "data.npz", features=features.numpy(), labels=labels.numpy())


def test_a_run_killed_in_mid_epoch_resumes_to_the_same_weights(tmp_path: Path) -> None:
    write_data(tmp_path, TOY17)
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    process = subprocess.Popen(command(tmp_path, killed), stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    while process.poll() is None and not (killed / "checkpoint.safetensors").exists():  # then the second epoch begins
        time.sleep(0.01)
    time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert (killed / "checkpoint.safetensors").exists()
    assert not (killed / "record.json").exists()
    first = (killed / "log.csv").read_text().splitlines()[1]  # with its seconds, which another training would change
    resumed = subprocess.run([*command(tmp_path, killed), "--resume"], capture_output=True, text=True, check=True)
    assert (killed / "log.csv").read_text().splitlines()[1] == first
    assert "epoch 6/6" in resumed.stderr
    subprocess.run(command(tmp_path, whole), capture_output=True, check=True)
    for name in ("model.safetensors", "scores.npz"):
        assert (killed / name).read_bytes() == (whole / name).read_bytes()
