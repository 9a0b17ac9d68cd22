"""A few ends of `make torture` for the commands that write the most."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "torture.py"


@pytest.mark.long
@pytest.mark.skipif(not hasattr(sys, "addaudithook") or sys.platform == "win32", reason="needs fork")
def test_commands_that_end_anywhere_are_made_good_by_the_next() -> None:
    commands = ["convert", "predict", "embed", "train, vectors", "train, texts"]  # in one process, which imports once
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--most", "3", "--only", "convert,predict,embed,train"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    *rows, total = done.stdout.splitlines()
    assert [re.sub(r"  +\d+ ends .*", "", row) for row in rows] == commands
    assert all(re.search(r" [1-3] ends   0 faults ", row) for row in rows), done.stdout
    assert total.endswith(", 0 faults")
