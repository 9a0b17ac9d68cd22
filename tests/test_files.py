import os
import re
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hiercos.files import check_folder_writable, check_writable, write_atomically


def test_text_and_bytes_arrive_unchanged(tmp_path: Path) -> None:
    write_atomically(tmp_path / "text", "é\r\nb\n")
    write_atomically(tmp_path / "bytes", b"\x00\xff")
    assert (tmp_path / "text").read_bytes() == b"\xc3\xa9\r\nb\n"
    assert (tmp_path / "bytes").read_bytes() == b"\x00\xff"


def test_a_file_is_replaced_and_nothing_else_is_left(tmp_path: Path) -> None:
    write_atomically(tmp_path / "a", "old")
    write_atomically(tmp_path / "a", "new")
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("a", "new")]


def test_a_failure_keeps_the_old_file_and_leaves_no_other(tmp_path: Path) -> None:
    (tmp_path / "folder" / "inside").mkdir(parents=True)
    with pytest.raises(OSError, match="folder"):
        write_atomically(tmp_path / "folder", "text")
    assert [file.name for file in tmp_path.iterdir()] == ["folder"]


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="No such folder"):
        write_atomically(tmp_path / "absent" / "a", "text")


def test_a_link_is_followed_and_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "place").mkdir()
    for name, exists in (("whole", True), ("dangling", False)):
        behind, link = tmp_path / "place" / name, tmp_path / f"{name}-link"
        if exists:
            behind.write_text("old")
        link.symlink_to(behind)
        write_atomically(link, "new")
        assert link.is_symlink()
        assert behind.read_text() == "new"


def test_a_circle_of_links_is_named(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises(OSError, match=f"'{tmp_path / 'a'}'"):
        write_atomically(tmp_path / "a", "new")


def test_the_mode_of_a_replaced_file_is_kept(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("old")
    for mode in (0o600, 0o640, 0o755):
        secret.chmod(mode)
        write_atomically(secret, "new")
        assert stat.S_IMODE(secret.stat().st_mode) == mode


def test_the_null_device_stays_a_device() -> None:
    before = os.stat(os.devnull)
    write_atomically(os.devnull, "text")
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)
    assert os.stat(os.devnull).st_ino == before.st_ino


def test_a_pipe_receives_the_content_and_stays_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as pool:
        read = pool.submit(pipe.read_bytes)
        write_atomically(pipe, "text")
        assert read.result(timeout=60) == b"text"
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_the_standard_output_is_appended_to_and_not_replaced(tmp_path: Path) -> None:
    code = "from hiercos.files import write_atomically; write_atomically('/dev/stdout', 'second\\n')"
    log = tmp_path / "log"
    log.write_text("first\n")
    with log.open("ab") as stream:
        subprocess.run([sys.executable, "-c", code], check=True, stdout=stream)
    assert log.read_text() == "first\nsecond\n"


def test_the_longest_name_can_be_written_and_a_longer_one_is_named(tmp_path: Path) -> None:
    longest = os.pathconf(tmp_path, "PC_NAME_MAX")
    write_atomically(tmp_path / ("n" * longest), "text")
    too_long = tmp_path / ("n" * (longest + 1))
    for attempt in (lambda: write_atomically(too_long, "text"), lambda: check_writable(too_long)):
        with pytest.raises(OSError, match="too long") as raised:
            attempt()
        assert raised.value.filename == str(too_long)


def test_temporary_files_of_ended_processes_are_swept_and_others_kept(tmp_path: Path) -> None:
    (tmp_path / ".hiercos-dead.tmp").touch()
    code = (
        "import sys; from hiercos.files import written_atomically\n"
        "with written_atomically(sys.argv[1]) as stream: stream.write(b'late'); print(flush=True); input()"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "late")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        write_atomically(tmp_path / "a", "text")
        assert not (tmp_path / ".hiercos-dead.tmp").exists()
        other.communicate(b"\n")
    assert {file.name: file.read_text() for file in tmp_path.iterdir()} == {"a": "text", "late": "late"}


def test_a_folder_is_tried_and_removed_again(tmp_path: Path) -> None:
    check_folder_writable(tmp_path / "a" / "b")
    assert not list(tmp_path.iterdir())
    (tmp_path / "file").touch()
    for wrong in (tmp_path / "file", tmp_path / "file" / "inside", tmp_path / ("n" * 300), Path("/proc/none")):
        with pytest.raises(OSError, match=re.escape(str(wrong))):
            check_folder_writable(wrong)


def test_content_and_name_are_forced_to_disk_around_the_rename(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    fsync, replace = os.fsync, os.replace

    def synced(descriptor: int) -> None:
        calls.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        fsync(descriptor)

    def replaced(source: Path, target: Path) -> None:
        calls.append("rename")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", replaced)
    write_atomically(tmp_path / "a", "text")
    assert calls == ["file", "rename", "folder"]
