"""Hard links between equal large files of complete runs."""

import os
from pathlib import Path
from typing import Any

import pytest

from hiercos.benchmark import linked_files
from hiercos.benchmark.linked_files import LEAST_LINKED, TEMPORARY, link_equal_files
from hiercos.manifest import MANIFEST, Manifest, committed

LARGE = b"a" * LEAST_LINKED


def run_folder(folder: Path, **contents: bytes) -> Path:
    with committed(folder) as write:
        for name, content in contents.items():
            write(name, content)
    return folder


def runs(folder: Path, *names: str) -> list[Path]:
    return [run_folder(folder / name, projection=LARGE) for name in names]


def test_equal_large_files_become_one_and_all_others_stay(tmp_path: Path) -> None:
    one = run_folder(tmp_path / "one", projection=LARGE, weights=LARGE, config=b"small")
    two = run_folder(tmp_path / "two", projection=LARGE, weights=LARGE[:-1] + b"b", config=b"small")
    link_equal_files([one, two])
    link_equal_files([one, two])  # again, as when the comparison is resumed
    assert {name: (one / name).samefile(two / name) for name in ("projection", "weights", "config")} == {
        "projection": True,
        "weights": False,
        "config": False,
    }
    Manifest.of(two).check()
    assert not list(tmp_path.glob(f"*/{TEMPORARY}"))


def test_a_folder_that_is_deleted_leaves_the_others_whole(tmp_path: Path) -> None:
    one, two = runs(tmp_path, "one", "two")
    link_equal_files([one, two])
    assert (one / "projection").samefile(two / "projection")
    (one / "projection").unlink()
    Manifest.of(two).check()


def test_a_replaced_run_leaves_the_others_as_they_were(tmp_path: Path) -> None:
    one, two = runs(tmp_path, "one", "two")
    link_equal_files([one, two])
    run_folder(one, projection=LARGE + b"new")
    Manifest.of(one).check()
    Manifest.of(two).check()
    assert (two / "projection").read_bytes() == LARGE


def test_unfinished_runs_are_left_alone(tmp_path: Path) -> None:
    one, (two, three) = tmp_path / "one", runs(tmp_path, "two", "three")
    one.mkdir()
    (one / "projection").write_bytes(LARGE)
    link_equal_files([one, two, three])
    assert not (one / "projection").samefile(two / "projection")
    assert (two / "projection").samefile(three / "projection")


@pytest.mark.parametrize("damaged", ["projection", MANIFEST])
def test_a_damaged_run_is_linked_to_by_no_other(tmp_path: Path, damaged: str) -> None:
    one, two, three = runs(tmp_path, "one", "two", "three")
    (one / damaged).write_bytes(b"b" * LEAST_LINKED)
    link_equal_files([one, two, three])
    assert not (one / "projection").samefile(two / "projection")
    assert (two / "projection").samefile(three / "projection")
    Manifest.of(two).check()


@pytest.mark.parametrize("function", ["link", "replace"])
def test_where_links_cannot_be_made_nothing_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: str
) -> None:
    one, two = runs(tmp_path, "one", "two")

    def refused(*_: object, **__: object) -> None:
        raise PermissionError("not on this file system")

    with monkeypatch.context() as patched:
        patched.setattr(os, function, refused)
        link_equal_files([one, two])
    assert not (one / "projection").samefile(two / "projection")
    assert sorted(path.name for path in two.iterdir()) == [MANIFEST, "projection"]
    Manifest.of(two).check()


@pytest.mark.parametrize("changed", ["one", "two"])
def test_a_run_that_is_replaced_before_it_is_linked_stays_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: str
) -> None:
    one, two = runs(tmp_path, "one", "two")
    link = linked_files._replace_by_link

    def late(*arguments: Any) -> bool:
        run_folder(tmp_path / changed, projection=LARGE + b"new")
        return link(*arguments)

    monkeypatch.setattr(linked_files, "_replace_by_link", late)
    link_equal_files([one, two])
    Manifest.of(one).check()
    Manifest.of(two).check()
    assert not (one / "projection").samefile(two / "projection")


def test_a_link_that_a_killed_process_left_does_not_disturb(tmp_path: Path) -> None:
    one, two = runs(tmp_path, "one", "two")
    (two / TEMPORARY).write_bytes(b"left")
    link_equal_files([one, two])
    assert (one / "projection").samefile(two / "projection")
    assert not (two / TEMPORARY).exists()
