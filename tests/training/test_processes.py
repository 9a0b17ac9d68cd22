"""Two processes under torchrun: one model, one folder, one table."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from blobs import cloud
from trees import TOY17


@pytest.mark.long
def test_two_processes_train_one_model(tmp_path: Path) -> None:
    TOY17.write(tmp_path / "tree.json")
    features, labels = cloud(TOY17, 680)
    np.savez(tmp_path / "data.npz", features=features.numpy(), labels=labels.numpy())
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "hiercos"]
    data = [
        "compare",
        str(tmp_path / "data.npz"),
        "--taxonomy",
        str(tmp_path / "tree.json"),
        "--out",
        str(tmp_path / "out"),
    ]
    options = [
        "--methods",
        "cross-entropy,hier-cos",
        "--seeds",
        "1",
        "--epochs",
        "8",
        "--lr",
        "0.02",
        "--batch-size",
        "32",
        "--device",
        "cpu",
    ]
    result = subprocess.run(
        [*command, *data, *options],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"},
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("17 classes, 23 nodes") == 1
    assert result.stderr.count("hier-cos seed 0, all samples: epoch 8/8") == 1
    assert result.stderr.count("has no split") == 1
    record = json.loads((tmp_path / "out" / "runs" / "cross-entropy" / "seed-0" / "record.json").read_text())
    assert record["rules"]["none"]["metrics"]["top1"] > 0.9
    assert len((tmp_path / "out" / "results.csv").read_text().splitlines()) == 5
