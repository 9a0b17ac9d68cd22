"""Threads of the command on a machine that other jobs use, too."""

import os
import subprocess
import sys

import pytest

from hiercos.cli.app import SPIN_VARIABLE, SPINS, limit_spinning


def test_threads_spin_less_where_the_user_says_nothing() -> None:
    variables = {"OMP_NUM_THREADS": "2"}
    limit_spinning(variables)
    assert variables == {"OMP_NUM_THREADS": "2", SPIN_VARIABLE: SPINS}


@pytest.mark.parametrize("variable", [{SPIN_VARIABLE: "7"}, {"OMP_WAIT_POLICY": "ACTIVE"}])
def test_variables_of_the_user_win(variable: dict[str, str]) -> None:
    variables = dict(variable)
    limit_spinning(variables)
    assert variables == variable


@pytest.mark.skipif(sys.platform != "linux", reason="torch's wheels have GNU OpenMP on Linux alone")
def test_the_command_sets_its_threads_up_before_openmp_is_loaded() -> None:
    others = {name: value for name, value in os.environ.items() if name not in (SPIN_VARIABLE, "OMP_WAIT_POLICY")}
    code = "from hiercos.cli import main; import sys; sys.argv = ['hiercos', 'methods']; main()"
    ran = subprocess.run(
        [sys.executable, "-c", code],
        env={**others, "OMP_DISPLAY_ENV": "VERBOSE"},
        capture_output=True,
        text=True,
        check=True,
    )
    if SPIN_VARIABLE not in ran.stderr:
        pytest.skip("this torch has another OpenMP")
    assert f"{SPIN_VARIABLE} = '{SPINS}'" in ran.stderr
