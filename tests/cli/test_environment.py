"""What the command finds around it: closed streams, a full disk, ignored signals, a policy of idle threads."""

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from trees import TOY17

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")


def shell(command: str, *arguments: str | Path) -> "subprocess.CompletedProcess[str]":
    """Run hiercos with arguments in a shell command, where {} stands for it."""
    whole = shlex.join([sys.executable, "-m", "hiercos", *map(str, arguments)])
    return subprocess.run(command.replace("{}", whole), shell=True, capture_output=True, text=True, check=False)


def test_a_closed_standard_output_is_an_error_and_no_file_is_taken_for_it(tmp_path: Path) -> None:
    TOY17.write(tmp_path / "tree.json")
    done = shell("{} >&-", "taxonomy", "show", tmp_path / "tree.json")
    assert done.returncode == 2
    assert done.stderr == "error: standard output: Bad file descriptor\n"
    done = shell("{} >&- 2>&-", "taxonomy", "convert", tmp_path / "tree.json", tmp_path / "new.csv")
    assert done.returncode == 0
    assert (tmp_path / "new.csv").read_text().startswith("level_1,")


def test_the_exit_code_is_the_same_without_a_stream_for_messages(tmp_path: Path) -> None:
    assert shell("{} 2>&-", "taxonomy", "check", tmp_path / "missing.csv").returncode == 2
    assert shell("{} <&- 2>&-", "taxonomy", "no-such-command").returncode == 2


def test_finished_work_is_a_success_though_nobody_reads_its_messages(tmp_path: Path) -> None:
    TOY17.write(tmp_path / "tree.json")
    code = "import os; from hiercos.cli import main; read, write = os.pipe(); os.close(read); "
    code += "os.dup2(write, 2); main()"
    command = [
        sys.executable,
        "-c",
        code,
        "taxonomy",
        "convert",
        str(tmp_path / "tree.json"),
        str(tmp_path / "new.csv"),
    ]
    assert subprocess.run(command, check=False).returncode == 0
    assert (tmp_path / "new.csv").read_text().startswith("level_1,")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_one_sentence_with_the_name_of_the_output(tmp_path: Path) -> None:
    TOY17.write(tmp_path / "tree.json")
    done = shell("{} > /dev/full", "taxonomy", "show", tmp_path / "tree.json")
    assert (done.returncode, done.stderr) == (2, "error: standard output: No space left on device\n")
    (tmp_path / "full.csv").symlink_to("/dev/full")
    done = shell("{}", "taxonomy", "convert", tmp_path / "tree.json", tmp_path / "full.csv")
    assert (done.returncode, done.stderr) == (2, f"error: {tmp_path / 'full.csv'}: No space left on device\n")


def test_a_file_that_may_not_grow_is_named_and_nothing_is_left(tmp_path: Path) -> None:
    TOY17.write(tmp_path / "tree.json")
    done = shell("ulimit -f 0; {}", "taxonomy", "convert", tmp_path / "tree.json", tmp_path / "new.csv")
    assert (done.returncode, done.stderr) == (2, f"error: {tmp_path / 'new.csv'}: File too large\n")
    assert {file.name for file in tmp_path.iterdir()} == {"tree.json"}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_that_the_caller_ignores_stays_ignored(number: signal.Signals) -> None:
    code = (
        f"import signal, sys; sys.argv = ['hiercos', '--version']; signal.signal({int(number)}, signal.SIG_IGN)\n"
        "from hiercos.cli import main\n"
        "try: main()\n"
        f"except SystemExit: print(signal.getsignal({int(number)}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] in {"1", "Handlers.SIG_IGN"}


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
