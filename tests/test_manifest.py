"""Manifests: files that are checked while their content is used."""

from pathlib import Path

import pytest

from hiercos.manifest import Manifest, ManifestError, committed


def damaged_folder(folder: Path) -> Manifest:
    with committed(folder) as write:
        write("weights", b"1" * 5000)
    (folder / "weights").write_bytes(b"2" * 5000)
    return Manifest.of(folder)


def test_a_changed_file_is_an_error_at_the_end_of_the_block(tmp_path: Path) -> None:
    seen = []
    with pytest.raises(ManifestError, match="weights: the file was changed after it was written"):  # noqa: SIM117
        with damaged_folder(tmp_path).verified_in_background("weights") as content:
            seen.append(content)
    assert seen == [b"2" * 5000]


def test_an_error_in_the_block_gives_way_to_that_of_a_changed_file(tmp_path: Path) -> None:
    with (
        pytest.raises(ManifestError, match="the file was changed"),
        damaged_folder(tmp_path).verified_in_background("weights") as content,
    ):
        raise ValueError(f"cannot be parsed: {content!r}")


def test_unchecked_and_whole_files_are_read(tmp_path: Path) -> None:
    with damaged_folder(tmp_path).verified_in_background("weights", verify=False) as content:
        assert content == b"2" * 5000
    (tmp_path / "weights").write_bytes(b"1" * 5000)
    with Manifest.of(tmp_path).verified_in_background("weights") as content:
        assert content == b"1" * 5000
    with (
        pytest.raises(ValueError, match="of the block"),
        Manifest.of(tmp_path).verified_in_background("weights"),
    ):
        raise ValueError("of the block")
