"""A few ends of `make torture` for the commands that write the most."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "torture.py"


@pytest.mark.skipif(not hasattr(sys, "addaudithook") or sys.platform == "win32", reason="needs fork")
@pytest.mark.parametrize("command", ["convert", "predict", "embed", "train"])
def test_a_command_that_ends_anywhere_is_made_good_by_the_next(command: str) -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--most", "3", "--only", command], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert ", 0 faults" in done.stdout
