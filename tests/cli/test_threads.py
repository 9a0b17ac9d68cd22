"""Threads of the command on a machine that other jobs use, too."""

import os
import subprocess
import sys

import pytest

POLICY = "OMP_WAIT_POLICY"


@pytest.mark.parametrize(("given", "found"), [({}, "PASSIVE"), ({POLICY: "ACTIVE"}, "ACTIVE")])
def test_idle_threads_sleep_unless_the_user_says_otherwise(given: dict[str, str], found: str) -> None:
    others = {name: value for name, value in os.environ.items() if name != POLICY}
    code = (
        "import os, sys; from hiercos.cli import main; sys.argv = ['hiercos', '--version']\n"
        "try: main()\n"
        f"except SystemExit: assert 'torch' not in sys.modules; print(os.environ['{POLICY}'])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], env={**others, **given}, capture_output=True, text=True, check=True
    )
    assert ran.stdout.splitlines()[-1] == found
