"""Hard links between equal large files of complete runs."""

import os
from pathlib import Path

import pytest

from hiercos.benchmark.linked_files import TEMPORARY, link_equal_files
from hiercos.manifest import SMALL, Manifest, committed

LARGE = b"a" * SMALL


def run_folder(folder: Path, **contents: bytes) -> Path:
    with committed(folder) as write:
        for name, content in contents.items():
            write(name, content)
    return folder


def test_equal_large_files_become_one_and_all_others_stay(tmp_path: Path) -> None:
    one = run_folder(tmp_path / "one", projection=LARGE, weights=LARGE, config=b"small")
    two = run_folder(tmp_path / "two", projection=LARGE, weights=LARGE[:-1] + b"b", config=b"small")
    link_equal_files(two, [one, two])
    link_equal_files(two, [one, two])  # again, as when the comparison is resumed
    assert {name: (one / name).samefile(two / name) for name in ("projection", "weights", "config")} == {
        "projection": True,
        "weights": False,
        "config": False,
    }
    Manifest.of(two).check()
    assert not list(tmp_path.glob(f"*/{TEMPORARY}*"))


def test_a_folder_that_is_deleted_leaves_the_others_whole(tmp_path: Path) -> None:
    one, two = (run_folder(tmp_path / name, projection=LARGE) for name in ("one", "two"))
    link_equal_files(two, [one])
    (one / "projection").unlink()
    Manifest.of(two).check()


def test_an_unfinished_run_is_left_alone(tmp_path: Path) -> None:
    one, two = tmp_path / "one", run_folder(tmp_path / "two", projection=LARGE)
    one.mkdir()
    (one / "projection").write_bytes(LARGE)
    link_equal_files(two, [one])
    link_equal_files(one, [two])
    assert not (one / "projection").samefile(two / "projection")


def test_without_hard_links_nothing_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = (run_folder(tmp_path / name, projection=LARGE) for name in ("one", "two"))

    def refused(*_: object, **__: object) -> None:
        raise PermissionError("no hard links on this file system")

    monkeypatch.setattr(os, "link", refused)
    link_equal_files(two, [one])
    assert not (one / "projection").samefile(two / "projection")
    Manifest.of(two).check()
