import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hiercos.cli.app import run
from hiercos.locks import LOCK, LockError, check_unlocked, locked_folder, waiting_lock

HOLD = (
    "import sys; from pathlib import Path; from hiercos.locks import locked_folder\n"
    "with locked_folder(Path(sys.argv[1])): print(flush=True); input()"
)


def holding(folder: Path) -> "subprocess.Popen[bytes]":
    """A process that holds the lock of a folder until its input ends."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    return process


def test_a_second_process_is_refused_with_the_id_of_the_first(tmp_path: Path) -> None:
    with holding(tmp_path) as first:
        for attempt in (lambda: locked_folder(tmp_path).__enter__(), lambda: check_unlocked(tmp_path)):
            with pytest.raises(LockError, match=f"{tmp_path}: process {first.pid} is writing to this folder"):
                attempt()
        first.communicate(b"\n")
    with locked_folder(tmp_path):
        assert (tmp_path / LOCK).read_text() == str(os.getpid())
    assert not list(tmp_path.iterdir())


def test_a_lock_dies_with_its_process(tmp_path: Path) -> None:
    with holding(tmp_path) as first:
        first.send_signal(signal.SIGKILL)
        first.wait()
        first.communicate()
    assert (tmp_path / LOCK).exists()
    check_unlocked(tmp_path)
    with locked_folder(tmp_path):
        pass


def test_a_thread_of_the_same_process_is_refused_too(tmp_path: Path) -> None:
    with locked_folder(tmp_path), pytest.raises(LockError, match=f"process {os.getpid()} is writing"):
        locked_folder(tmp_path).__enter__()


def test_an_error_releases_the_lock(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="any"), locked_folder(tmp_path):
        raise RuntimeError("any")
    check_unlocked(tmp_path)


def test_a_locked_folder_is_swept(tmp_path: Path) -> None:
    with locked_folder(tmp_path):
        pass
    (tmp_path / ".hiercos-dead.tmp").touch()
    with locked_folder(tmp_path):
        assert {file.name for file in tmp_path.iterdir()} == {LOCK}


def test_a_waiting_lock_is_held_by_one_after_the_other(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from hiercos.locks import waiting_lock\n"
        "folder = Path(sys.argv[1])\n"
        "for _ in range(50):\n"
        "    with waiting_lock(folder / 'lock'):\n"
        "        count = int((folder / 'count').read_text()); (folder / 'count').write_text(str(count + 1))"
    )
    (tmp_path / "count").write_text("0")
    processes = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path)]) for _ in range(4)]
    assert [process.wait(timeout=300) for process in processes] == [0] * 4
    assert (tmp_path / "count").read_text() == "200"
    with waiting_lock(tmp_path / "lock"):
        pass


@pytest.mark.parametrize("command", ["train", "compare", "ablate"])
def test_a_command_into_a_folder_in_use_is_refused_before_any_work(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with locked_folder(tmp_path):
        assert run([command, "icd10cm", "--out", str(tmp_path)]) == 2
    assert capsys.readouterr().err == (
        f"error: {tmp_path}: process {os.getpid()} is writing to this folder; wait for it, or choose another folder\n"
    )


def test_a_link_in_place_of_a_lock_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("kept")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / ".lock").symlink_to(tmp_path / "mine")
    with pytest.raises(OSError, match="symbolic links"), locked_folder(tmp_path / "run"):
        pytest.fail("the folder was locked")
    assert (tmp_path / "mine").read_text() == "kept"
