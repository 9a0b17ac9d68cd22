from pathlib import Path

import pytest

from hiercos.files import write_atomically


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
