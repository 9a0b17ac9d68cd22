from pathlib import Path

import numpy as np
import pytest

from hiercos.data import load_dataset
from hiercos.errors import DataError
from pictures import TREE, photos, picture, write

SPLITS = ("train", "val", "test")


def fault_of(folder: Path, **options: object) -> list[str]:
    with pytest.raises(DataError) as error:
        load_dataset(folder, **options)
    return [fault.replace(str(folder), folder.name) for fault in error.value.faults]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return photos(tmp_path / "photos", top=SPLITS)


def test_nested_folders_are_the_taxonomy_and_those_at_the_top_the_splits(folder: Path) -> None:
    dataset = load_dataset(f"{folder}/")
    assert (dataset.name, dataset.kind, dataset.taxonomy) == ("photos", "images", TREE)
    assert np.bincount(dataset.labels).tolist() == [6, 6, 6]
    assert [len(dataset.rows(split)) for split in SPLITS] == [6, 6, 6]
    assert dataset.notes == (f"{folder} came without a taxonomy: one with 3 classes was made from the labels.",)


def test_splits_go_by_their_other_names_in_any_case(tmp_path: Path) -> None:
    dataset = load_dataset(photos(tmp_path, top=("Training", "validation", "TEST")), taxonomy=TREE)
    assert [len(dataset.rows(split)) for split in SPLITS] == [6, 6, 6]


def test_flat_folders_name_the_classes_of_a_taxonomy(tmp_path: Path) -> None:
    for number, (split, name) in enumerate((split, name) for split in SPLITS for name in ("cat", "dog", "car")):
        write(tmp_path / split / name / "a.jpg", picture(number))
    assert load_dataset(tmp_path, taxonomy=TREE).labels.tolist() == [2, 0, 1] * 3  # test, train, val: car, cat, dog
    assert fault_of(tmp_path) == [
        f"{tmp_path.name}: the labels (such as 'car') are not paths: "
        "expected a taxonomy (--taxonomy FILE), or folders within folders"
    ]


def test_a_folder_that_is_no_class_is_named_by_its_first_image(tmp_path: Path) -> None:
    photos(tmp_path, top=SPLITS)
    write(tmp_path / "train" / "pet" / "cow" / "a.png", picture(50))
    assert fault_of(tmp_path, taxonomy=TREE) == [
        f"{tmp_path.name}: train/pet/cow/a.png: unknown label 'pet > cow'; the nearest known label is 'pet > dog'"
    ]


def test_without_folders_of_splits_one_is_made_of_the_content(tmp_path: Path) -> None:
    first = load_dataset(photos(tmp_path / "a", each=20))
    for file in (tmp_path / "a").rglob("*.png"):
        file.rename(file.with_name(f"renamed {file.stem}.png"))
    again = load_dataset(tmp_path / "a")
    assert first.notes[1] == f"{tmp_path / 'a'} has no split: 10% test samples were chosen by hash of each sample."
    assert dict(zip(map(bytes, first.inputs.digests), first.split, strict=True)) == dict(
        zip(map(bytes, again.inputs.digests), again.split, strict=True)
    )


def test_a_lone_train_among_other_folders_is_a_class(tmp_path: Path) -> None:
    for number, name in enumerate(["vehicle/train", "vehicle/bus", "train/steam", "train/electric"] * 10):
        write(tmp_path / name / f"{number}.png", picture(number))
    assert set(load_dataset(tmp_path).taxonomy.class_names) == {"train", "bus", "steam", "electric"}


def test_splits_beside_other_folders_are_an_error(folder: Path) -> None:
    write(folder / "extra" / "pet" / "a.png", picture(90))
    assert fault_of(folder) == ["photos: expected only splits beside test and train and val, got the folder 'extra'"]


def test_images_beside_folders_and_in_no_folder_are_errors_that_name_the_place(folder: Path) -> None:
    write(folder / "train" / "pet" / "b.png", picture(90))
    write(folder / "train" / "pet" / "c.png", picture(91))
    write(folder / "train" / "d.png", picture(92))
    write(folder / "test" / "vehicle" / "e.png", picture(93))
    start = "expected images in the innermost folders only, which are the classes, got"
    assert fault_of(folder) == [
        f"photos/test/vehicle: {start} 1 (such as 'e.png') beside the folder 'car'",
        f"photos/train: {start} 1 (such as 'd.png') beside the folder 'vehicle'",
        f"photos/train/pet: {start} 2 (such as 'b.png') beside the folder 'dog'",
    ]


def test_images_without_any_class_folder_are_an_error(tmp_path: Path) -> None:
    write(tmp_path / "a.png", picture(1))
    assert fault_of(tmp_path) == [
        f"{tmp_path.name}: expected images in the innermost folders only, which are the classes, "
        "got 1 (such as 'a.png') in no folder"
    ]


def test_other_files_are_counted_and_said_and_leftovers_are_not(folder: Path) -> None:
    write(folder / "LICENSE", b"")
    write(folder / "train" / "pet" / "labels.TXT", b"")
    write(folder / "train" / "pet" / "cat" / "cat.txt", b"")
    for name in (".DS_Store", ".hidden/a.png", "train/pet/cat/Thumbs.db", "__MACOSX/pet/cat/a.png"):
        write(folder / name, b"")
    (folder / "train" / "pet" / "cow").mkdir()
    assert load_dataset(folder, taxonomy=TREE).notes == (
        f"{folder}: files that are not images are left out: 2 .txt, 1 without an extension (3 in all).",
        f"{folder}: folders without images are not classes: train/pet/cow (1 in all).",
    )


def test_images_that_cannot_be_decoded_are_fatal_or_left_out(folder: Path) -> None:
    broken = write(folder / "train" / "pet" / "cat" / "0.png", picture(0)[:60])
    assert fault_of(folder)[0].startswith("photos/train/pet/cat/0.png: the image cannot be decoded (")
    dataset = load_dataset(folder, taxonomy=TREE, on_error="skip")
    assert len(dataset) == 17
    assert dataset.notes[0] == f"{folder}: 1 of 18 images cannot be decoded; left out:"
    assert dataset.notes[1].startswith(f"    {broken}: the image cannot be decoded (")
    assert (len(dataset.rows("train")), dataset.labels[dataset.rows("train")].tolist()) == (5, [0, 1, 1, 2, 2])


def test_a_folder_without_images_is_an_error(tmp_path: Path) -> None:
    write(tmp_path / "a.txt", b"")
    assert fault_of(tmp_path)[0].endswith(".pnm), got 1 other files")


def test_linked_folders_are_followed_but_not_in_a_circle(tmp_path: Path) -> None:
    photos(tmp_path / "store", top=SPLITS)
    (tmp_path / "photos").mkdir()
    for split in SPLITS:
        (tmp_path / "photos" / split).symlink_to(tmp_path / "store" / split)
    assert len(load_dataset(tmp_path / "photos")) == 18
    (tmp_path / "store" / "train" / "pet" / "again").symlink_to(tmp_path / "store" / "train")
    with pytest.raises(DataError, match="again: the link leads to a folder that contains it"):
        load_dataset(tmp_path / "store")


def test_the_order_of_rows_is_that_of_the_paths(folder: Path) -> None:
    names = [load_dataset(folder).inputs.name(row) for row in range(18)]  # type: ignore[union-attr]
    assert names == sorted(names, key=lambda name: Path(name).parts)
