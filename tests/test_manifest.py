"""Manifests: files that are checked while their content is used, and folders that are replaced whole."""

import json
import os
from contextlib import nullcontext, suppress
from pathlib import Path

import pytest

from hiercos.manifest import MANIFEST, SMALL, Manifest, ManifestError, committed, finish_renaming, replace_file

LARGE = 5 * SMALL + 1


def damaged_folder(folder: Path) -> Manifest:
    with committed(folder) as write:
        write("weights", b"1" * SMALL)
    (folder / "weights").write_bytes(b"2" * SMALL)
    return Manifest.of(folder)


def test_a_changed_file_is_an_error_at_the_end_of_the_block(tmp_path: Path) -> None:
    seen = []
    with pytest.raises(ManifestError, match="weights: the file was changed after it was written"):  # noqa: SIM117
        with damaged_folder(tmp_path).checked_in_background() as checked:
            seen.append(checked.content("weights"))
    assert seen == [b"2" * SMALL]


def test_an_error_in_the_block_gives_way_to_that_of_a_changed_file(tmp_path: Path) -> None:
    with (
        pytest.raises(ManifestError, match="the file was changed"),
        damaged_folder(tmp_path).checked_in_background() as checked,
    ):
        raise ValueError(f"cannot be parsed: {checked.content('weights')[:9]!r}")


def test_unchecked_and_whole_files_are_read(tmp_path: Path) -> None:
    with damaged_folder(tmp_path).checked_in_background() as checked:
        assert checked.content("weights", verify=False) == b"2" * SMALL
    (tmp_path / "weights").write_bytes(b"1" * SMALL)
    with Manifest.of(tmp_path).checked_in_background() as checked:
        assert checked.content("weights") == b"1" * SMALL
    with (
        pytest.raises(ValueError, match="of the block"),
        Manifest.of(tmp_path).checked_in_background() as checked,
    ):
        raise ValueError(f"of the block: {len(checked.content('weights'))}")


def change(path: Path, place: int) -> None:
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(bytes(content))


@pytest.mark.parametrize("listed", ["parts", "no parts", "parts of another file"])
@pytest.mark.parametrize("place", [0, LARGE // 2, LARGE - SMALL - 1, LARGE - 1, None])
def test_a_byte_of_a_large_file_is_checked_with_and_without_parts(
    listed: str, place: int | None, tmp_path: Path
) -> None:
    with committed(tmp_path) as write:
        write("weights", bytes(LARGE))
    values = json.loads((tmp_path / MANIFEST).read_text())
    assert sum(size for size, _ in values["parts"]["weights"]) == LARGE
    if listed == "no parts":  # an earlier version
        del values["parts"]
    elif listed == "parts of another file":
        values["parts"]["weights"].pop()
    (tmp_path / MANIFEST).write_text(json.dumps(values))
    if place is not None:
        change(tmp_path / "weights", place)
    with pytest.raises(ManifestError, match="was changed") if place is not None else nullcontext():  # noqa: SIM117
        with Manifest.of(tmp_path).checked_in_background() as checked:
            assert len(checked.content("weights")) == LARGE


def test_files_of_another_length_are_refused(tmp_path: Path) -> None:
    with committed(tmp_path) as write:
        write("weights", bytes(LARGE))
    for length in (0, SMALL, LARGE - 1, LARGE + 1):
        (tmp_path / "weights").write_bytes(bytes(length))
        with pytest.raises(ManifestError, match="was changed"):  # noqa: SIM117
            with Manifest.of(tmp_path).checked_in_background() as checked:
                checked.content("weights")


def test_parts_follow_a_file_that_is_replaced(tmp_path: Path) -> None:
    for content in (b"1" * LARGE, b"2" * LARGE):
        with committed(tmp_path) as write:
            write("weights", content)
            write("other", b"3" * LARGE)
        with Manifest.of(tmp_path).checked_in_background() as checked:
            assert checked.content("weights") == content
    replace_file(tmp_path, "weights", b"4" * LARGE)
    found = Manifest.of(tmp_path)
    with found.checked_in_background() as checked:
        assert [checked.content(name)[:1] for name in ("weights", "other")] == [b"4", b"3"]
    assert not found.parts.get("weights")
    assert found.parts["other"]


def test_a_folder_is_replaced_whole_and_the_old_one_stays_until_then(tmp_path: Path) -> None:
    with committed(tmp_path) as write:
        write("a", "old a")
        write("b", "old b")
    with committed(tmp_path) as write:
        write("a", "new a")
        found = Manifest.of(tmp_path)
        assert [found.content(name) for name in ("a", "b")] == [b"old a", b"old b"]
        write("b", "new b")
    found = Manifest.of(tmp_path)
    assert [found.content(name) for name in ("a", "b")] == [b"new a", b"new b"]
    assert {path.name for path in tmp_path.iterdir()} == {"a", "b", MANIFEST}


def test_an_error_keeps_the_old_folder_and_the_next_writer_sweeps(tmp_path: Path) -> None:
    with committed(tmp_path) as write:
        write("a", "old")
    with suppress(KeyError), committed(tmp_path) as write:
        write("a", "new")
        raise KeyError
    assert Manifest.of(tmp_path).content("a") == b"old"
    replace_file(tmp_path, "a", "newer")
    assert Manifest.of(tmp_path).content("a") == b"newer"
    assert {path.name for path in tmp_path.iterdir()} == {"a", MANIFEST}


@pytest.mark.parametrize("renamed", [[], ["a"], ["a", "b"]])
def test_a_folder_whose_files_were_not_all_renamed_is_read_and_finished(renamed: list[str], tmp_path: Path) -> None:
    with committed(tmp_path) as write:
        write("a", "new a")
        write("b", "new b")
    text = (tmp_path / MANIFEST).read_text()
    for name in {"a", "b"} - set(renamed):
        (tmp_path / name).rename(tmp_path / f".hiercos-next-{name}")
        (tmp_path / name).write_text("old")
    (tmp_path / MANIFEST).write_text(text.replace('"version": 1,', '"version": 1, "pending": true,'))
    found = Manifest.of(tmp_path)
    assert [found.content(name) for name in ("a", "b")] == [b"new a", b"new b"]
    finish_renaming(tmp_path)
    assert (tmp_path / MANIFEST).read_text() == text
    assert {path.name: path.read_text() for path in tmp_path.glob("?")} == {"a": "new a", "b": "new b"}


def test_a_damaged_folder_can_be_written_again(tmp_path: Path) -> None:
    (tmp_path / MANIFEST).write_text("{")
    with committed(tmp_path) as write:
        write("a", "new")
    assert Manifest.of(tmp_path).content("a") == b"new"


def test_a_small_file_is_checked_before_it_is_used(tmp_path: Path) -> None:
    with committed(tmp_path) as write:
        write("weights", b"1")
    (tmp_path / "weights").write_bytes(b"2")
    with (
        pytest.raises(ManifestError, match="the file was changed"),
        Manifest.of(tmp_path).checked_in_background() as checked,
    ):
        pytest.fail(f"its content was used: {checked.content('weights')!r}")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_a_pipe_in_place_of_a_file_is_refused_at_once(tmp_path: Path) -> None:
    with committed(tmp_path) as write:
        write("weights", b"1")
    (tmp_path / "weights").unlink()
    os.mkfifo(tmp_path / "weights")
    with pytest.raises(ManifestError, match="weights: expected a file, this is a folder, a pipe or a device"):
        Manifest.of(tmp_path)


@pytest.mark.parametrize("name", ["../outside", "/etc/hostname", "..", "", "a\\b", "a/b"])
def test_a_manifest_lists_only_files_of_its_own_folder(name: str, tmp_path: Path) -> None:
    with committed(tmp_path) as write:
        write("a", b"1")
    values = json.loads((tmp_path / MANIFEST).read_text())
    (tmp_path / MANIFEST).write_text(json.dumps(values | {"files": {name: ["0" * 64]}}))
    with pytest.raises(ManifestError, match="it was changed"):
        Manifest.of(tmp_path)


def test_a_folder_that_gets_a_manifest_while_it_is_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old")
    early = Manifest.of(tmp_path)
    with committed(tmp_path, earlier="a") as write:
        write("a", "new")
    with pytest.raises(ManifestError, match="another process wrote this folder at the same time"):
        early.content("a")


def test_a_missing_file_is_named_when_it_is_read(tmp_path: Path) -> None:
    with committed(tmp_path) as write:
        write("a", "1")
        write("b", "2")
    (tmp_path / "b").unlink()
    found = Manifest.of(tmp_path)
    assert found.content("a") == b"1"
    assert found.is_removed("b")
    with pytest.raises(ManifestError, match=r"b: the file is missing, but manifest\.json lists it"):
        found.content("b")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_a_pipe_in_place_of_the_manifest_is_named(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / MANIFEST)
    with pytest.raises(ManifestError, match=r"manifest\.json: expected a file"):
        Manifest.of(tmp_path)


def test_a_check_reads_every_file_but_missing_optional_ones(tmp_path: Path) -> None:
    with committed(tmp_path) as write:
        write("a", "1")
        write("b", "2")
    (tmp_path / "b").unlink()
    Manifest.of(tmp_path).check(optional=("b",))
    with pytest.raises(ManifestError, match="b: the file is missing"):
        Manifest.of(tmp_path).check()
    (tmp_path / "a").write_text("2")
    with pytest.raises(ManifestError, match="a: the file was changed"):
        Manifest.of(tmp_path).check(optional=("b",))
