from pathlib import Path

import pytest

from hiercos.errors import DataError
from hiercos.paper.split_files import foldered_split, listed_split, missing_files
from paper_sets import write_files

LISTS = {
    "train/cat.txt": b"a.jpg\n\nb.jpg\n",
    "train/dog.txt": b"a.jpg\n",
    "val/cat.txt": b"c.jpg\n",
    "test/dog.txt": b"d.jpg",
}
ENTRIES = [("train", "cat", "a.jpg"), ("train", "cat", "b.jpg"), ("train", "dog", "a.jpg"), ("val", "cat", "c.jpg")]
ENTRIES += [("test", "dog", "d.jpg")]


def fault_of(place: Path) -> str:
    with pytest.raises(DataError) as error:
        listed_split(place)
    return str(error.value).replace(str(place), "PLACE")


def test_lists_are_read_split_by_split_and_class_by_class(tmp_path: Path) -> None:
    write_files(tmp_path, LISTS | {"train/.hidden.txt": b"x.jpg", "train/README": b"x.jpg"})
    entries = listed_split(tmp_path)
    assert [entry[:3] for entry in entries] == ENTRIES
    assert entries[1].where == f"{tmp_path / 'train' / 'cat.txt'}: row 3"


def test_an_image_in_two_splits_is_an_error(tmp_path: Path) -> None:
    write_files(tmp_path, LISTS | {"test/cat.txt": b"e.jpg\nb.jpg\n"})
    assert fault_of(tmp_path) == "PLACE/test/cat.txt: row 2: 'b.jpg' is already listed in PLACE/train/cat.txt: row 3"


def test_a_folder_without_lists_is_an_error(tmp_path: Path) -> None:
    assert fault_of(tmp_path) == "PLACE: expected the folders train, val and test with a list CLASS.txt for each class"
    for split in ("train", "val", "test"):
        (tmp_path / split).mkdir()
    assert fault_of(tmp_path) == "PLACE: expected images, got none"


def test_images_in_folders_are_taken_in_the_order_of_their_names(tmp_path: Path) -> None:
    files = ["train/dog/b.jpg", "train/dog/a.jpg", "train/cat/c.jpg", "val/cat/d.jpg", "test/cat/e.jpg"]
    write_files(tmp_path, dict.fromkeys([*files, "train/dog/.DS_Store", "train/notes.txt"], b""))
    entries = foldered_split(tmp_path)
    assert [entry[:3] for entry in entries] == [
        ("train", "cat", str(tmp_path / "train/cat/c.jpg")),
        ("train", "dog", str(tmp_path / "train/dog/a.jpg")),
        ("train", "dog", str(tmp_path / "train/dog/b.jpg")),
        ("val", "cat", str(tmp_path / "val/cat/d.jpg")),
        ("test", "cat", str(tmp_path / "test/cat/e.jpg")),
    ]


def test_missing_files_are_found_in_any_folder(tmp_path: Path) -> None:
    write_files(tmp_path, {"a/1.jpg": b"", "b/2.jpg": b""})
    paths = [tmp_path / name for name in ("a/1.jpg", "a/2.jpg", "b/2.jpg", "c/1.jpg")]
    assert missing_files(paths) == [paths[1], paths[3]]
