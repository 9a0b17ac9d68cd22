"""The contract of files and folders: whole or absent, one writer, and no damage that is not found."""

import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from shutil import rmtree

import pytest

from ends import ends
from hiercos import storage
from hiercos.cli.app import run
from hiercos.errors import DataError
from hiercos.storage import StorageError

OLD = {"a": b"old a", "b": b"old b", "test/c": b"old c"}
NEW = {"a": b"new a", "b": b"old b", "test/d": b"new d"}
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def content(folder: Path) -> dict[str, bytes]:
    """Files of a committed folder, and its configuration as one more."""
    found = storage.opened(folder)
    return {name: found.content(name) for name in found.sums} | {"config": json.dumps(found.config).encode()}


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_text_and_bytes_arrive_unchanged_and_nothing_else_is_left(tmp_path: Path) -> None:
    for data, expected in (("é\r\nb\n", b"\xc3\xa9\r\nb\n"), (b"\x00\xff", b"\x00\xff")):
        storage.write(tmp_path / "a", data)
        assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == {"a": expected}


def test_an_error_keeps_the_old_file_and_leaves_no_other(tmp_path: Path) -> None:
    storage.write(tmp_path / "a", "old")
    with pytest.raises(TypeError), storage.writing(tmp_path / "a") as stream:
        stream.writelines([b"half", 3])  # type: ignore[list-item]
    assert {file.name: file.read_text() for file in tmp_path.iterdir()} == {"a": "old"}


def unwritable(folder: Path) -> Iterator[Path]:
    """Paths that no file can be written to."""
    (folder / "folder").mkdir()
    (folder / "one").symlink_to(folder / "other")
    (folder / "other").symlink_to(folder / "one")
    yield from (folder / "folder", folder / "absent" / "a", folder / "one", folder / ("n" * 256))


def test_a_path_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    for path in unwritable(tmp_path):
        before = files(tmp_path)
        with pytest.raises(OSError) as raised:  # noqa: PT011  # the name is what matters
            storage.write(path, "text")
        assert raised.value.filename == str(path)
        with pytest.raises(OSError):  # noqa: PT011
            storage.check_writable(path)
        assert files(tmp_path) == before
    storage.write(tmp_path / ("n" * 255), "text")


def test_a_link_is_followed_and_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "place").mkdir()
    for name, exists in (("whole", True), ("dangling", False)):
        behind, link = tmp_path / "place" / name, tmp_path / f"{name}-link"
        if exists:
            behind.write_text("old")
        link.symlink_to(behind)
        storage.write(link, "new")
        assert link.is_symlink()
        assert behind.read_text() == "new"


def test_a_device_and_a_pipe_receive_the_content_and_stay_what_they_are(tmp_path: Path) -> None:
    storage.write(os.devnull, "text")
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as pool:
        read = pool.submit(pipe.read_bytes)
        storage.write(pipe, "text")
        assert read.result() == b"text"
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_the_standard_output_is_appended_to_and_not_replaced(tmp_path: Path) -> None:
    code = "from hiercos.storage import write; write('/dev/stdout', 'second\\n')"
    log = tmp_path / "log"
    log.write_text("first\n")
    with log.open("ab") as stream:
        subprocess.run([sys.executable, "-c", code], check=True, stdout=stream)
    assert log.read_text() == "first\nsecond\n"


@needs_fork
def test_an_end_at_any_operation_leaves_the_old_file_or_the_new_one(tmp_path: Path) -> None:
    for number in count(1):
        (tmp_path / "a").write_text("old")
        ended = ends(lambda: storage.write(tmp_path / "a", "new"), tmp_path, number)
        assert (tmp_path / "a").read_text() in {"old", "new"}
        if not ended:
            break
    assert number > 3
    assert (tmp_path / "a").read_text() == "new"


@needs_fork
@pytest.mark.parametrize("is_replaced", [True, False])
def test_an_end_at_any_operation_leaves_the_old_folder_or_the_new_one(tmp_path: Path, is_replaced: bool) -> None:
    folder, whole = tmp_path / "folder", tmp_path / "whole"
    storage.commit(whole, OLD, {"number": 1})
    old = content(whole)
    storage.commit(whole, NEW, {"number": 2})
    new = content(whole)
    for number in count(1):
        if is_replaced:
            storage.commit(folder, OLD, {"number": 1})
        ended = ends(lambda: storage.commit(folder, NEW, {"number": 2}), folder, number)
        if is_replaced or not ended:
            after = content(folder)
            assert after in (old, new)
        elif (folder / storage.CONFIG).exists():
            assert content(folder) == new
        if folder.exists():
            with storage.folder(folder):  # the next process finishes or undoes what was begun
                assert not [name for name in files(folder) if storage.HIDDEN in name]
        if is_replaced:
            assert content(folder) == after
        storage.commit(folder, NEW, {"number": 2})
        assert content(folder) == new
        rmtree(folder)
        if not ended:
            break
    assert number > 10


@pytest.mark.parametrize("below", [".", "held-out"])
def test_a_lock_removes_what_an_ended_process_left_unfinished(tmp_path: Path, below: str) -> None:
    left = tmp_path / below / f"{storage.HIDDEN}0123456789ab"
    left.parent.mkdir(exist_ok=True)
    left.touch()
    with storage.folder(tmp_path):
        assert not left.exists()


def test_a_folder_that_is_replaced_has_the_new_files_alone(tmp_path: Path) -> None:
    storage.commit(tmp_path, OLD, {})
    (tmp_path / "mine").touch()
    storage.commit(tmp_path, NEW, {})
    assert files(tmp_path) == {*NEW, storage.CONFIG, "mine"}
    storage.update(tmp_path, {"b": "newer"})
    assert content(tmp_path) == {**NEW, "b": b"newer", "config": b"{}"}


def test_every_changed_byte_is_refused_with_the_name_of_the_file(tmp_path: Path) -> None:
    storage.commit(tmp_path, OLD, {"temperature": 1.5})
    for name in (*OLD, storage.CONFIG):
        whole = (tmp_path / name).read_bytes()
        for place in range(len(whole)):
            (tmp_path / name).write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
            with pytest.raises(StorageError, match=rf"{name}: "):
                content(tmp_path)
        (tmp_path / name).write_bytes(whole)
    (tmp_path / "a").unlink()
    with pytest.raises(StorageError, match=r"a: the file is missing, but config\.json lists it"):
        storage.opened(tmp_path).check()
    storage.opened(tmp_path).check(optional=("a",))


def test_a_folder_that_is_replaced_while_it_is_read_is_a_clear_error(tmp_path: Path) -> None:
    storage.commit(tmp_path, OLD, {})
    found = storage.opened(tmp_path)
    storage.commit(tmp_path, NEW, {})
    assert found.content("b") == b"old b"  # both have it
    with pytest.raises(StorageError, match="another process replaced this folder while it was read; try again"):
        found.content("a")


@pytest.mark.parametrize("name", ["/etc/passwd", "../a", "a/../../b", "a\\b"])
def test_a_configuration_lists_only_files_of_its_own_folder(tmp_path: Path, name: str) -> None:
    storage.commit(tmp_path, {}, {})
    values = {storage.FILES: {name: "0" * 64}}
    (tmp_path / storage.CONFIG).write_text(json.dumps({**values, storage.DIGEST: storage._digest(values)}))
    with pytest.raises(StorageError, match="expected the checksums"):
        storage.opened(tmp_path)


@pytest.mark.parametrize("text", ['{"model_type": "vit"}', "[]", "", '{"files": {}, "sha256": 3}'])
def test_a_configuration_of_another_program_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / storage.CONFIG).write_text(text)
    with pytest.raises(StorageError, match=r"config\.json: "):
        storage.opened(tmp_path)
    with pytest.raises(StorageError, match="not a folder that hiercos wrote"):
        storage.opened(tmp_path / "absent")


@pytest.mark.parametrize("name", ["a", storage.CONFIG])
def test_a_pipe_in_a_folder_is_refused_at_once(tmp_path: Path, name: str) -> None:
    storage.commit(tmp_path, OLD, {})
    (tmp_path / name).unlink()
    os.mkfifo(tmp_path / name)
    for attempt in (lambda: content(tmp_path), lambda: storage.commit(tmp_path, NEW, {})):
        with pytest.raises(StorageError, match=f"{name}: expected a file, this is a pipe or a device"):
            attempt()
    with pytest.raises(DataError, match="this is a pipe or a device"):
        storage.check_regular(tmp_path / name)


HOLD = (
    "import sys; from pathlib import Path; from hiercos import storage\n"
    "with storage.folder(Path(sys.argv[1])): print(flush=True); input()"
)


def test_a_second_writer_is_refused_until_the_first_has_ended(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as first:
        assert first.stdout is not None
        first.stdout.readline()
        with pytest.raises(StorageError, match=f"{tmp_path}: another process is writing to this folder"):
            storage.commit(tmp_path, OLD, {})
        for name in ("train", "compare", "ablate"):
            assert run([name, "icd10cm", "--out", str(tmp_path)]) == 2
            assert "another process is writing to this folder; wait for it" in capsys.readouterr().err
        first.kill()
    storage.commit(tmp_path, OLD, {})  # the lock ended with its process
    assert files(tmp_path) == {*OLD, storage.CONFIG}


def test_a_link_in_place_of_a_lock_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("kept")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / storage.LOCK).symlink_to(tmp_path / "mine")
    with pytest.raises(OSError, match="symbolic links"), storage.folder(tmp_path / "run"):
        pytest.fail("the folder was locked")
    assert (tmp_path / "mine").read_text() == "kept"


def test_a_folder_in_which_nothing_is_written_is_removed_again(tmp_path: Path) -> None:
    for path in (tmp_path / "a" / "b", tmp_path):
        with storage.folder(path), storage.folder(path):  # a process may hold a lock twice
            assert (path / storage.LOCK).exists()
        assert not list(tmp_path.iterdir())
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="file"), storage.folder(tmp_path / "file" / "inside"):
        pytest.fail("a file is no folder")


def test_the_cache_is_where_the_variable_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIERCOS_CACHE", "/some/where")
    assert storage.cache_folder("features") == Path("/some/where/features")
    monkeypatch.delenv("HIERCOS_CACHE")
    assert storage.cache_folder("features") == Path.home() / ".cache" / "hiercos" / "features"
