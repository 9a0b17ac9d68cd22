from pathlib import Path

import numpy as np
import pytest

from hiercos.data.dataset import Dataset
from hiercos.errors import DataError
from hiercos.paper import cifar100
from hiercos.paper.download import checksum
from paper_sets import binary_file, cifar_images, tar_gz, write_files
from trees import shared

TRAIN, TEST = cifar_images(20, seed=0), cifar_images(3, seed=1)
BINARY = {"cifar-100-binary/train.bin": binary_file(*TRAIN), "cifar-100-binary/test.bin": binary_file(*TEST)}


def placed(root: Path, files: dict[str, bytes], *, archived: bool) -> Path:
    if archived:
        tar_gz(root / "cifar-100-binary.tar.gz", files)
    else:
        write_files(root, files)
    return root


def fault_of(root: Path) -> str:
    with pytest.raises(DataError) as error:
        cifar100.cifar100(root)
    return str(error.value).replace(str(root), "ROOT")


def pixels_of(dataset: Dataset, row: int) -> np.ndarray:
    return np.asarray(dataset.inputs.open(row))


@pytest.mark.parametrize("archived", [False, True], ids=["folder", "archive"])
def test_the_files_are_read_from_a_folder_and_from_an_archive(tmp_path: Path, archived: bool) -> None:
    assert not cifar100.CIFAR100.is_present(tmp_path)
    placed(tmp_path, BINARY, archived=archived)
    assert cifar100.CIFAR100.is_present(tmp_path)
    dataset = cifar100.cifar100(tmp_path)
    assert (dataset.name, dataset.kind, len(dataset), dataset.taxonomy.num_classes) == ("cifar100", "images", 115, 100)
    assert dataset.labels.tolist() == [*TRAIN[0], *TEST[0]]
    for row in (0, 57, 99):
        np.testing.assert_array_equal(pixels_of(dataset, row), TRAIN[1][row])
    np.testing.assert_array_equal(pixels_of(dataset, 114), TEST[1][14])
    assert (dataset.inputs.name(0), dataset.inputs.name(100)) == ("train.bin, image 1", "test.bin, image 1")


def test_the_extracted_folder_itself_may_be_the_root(tmp_path: Path) -> None:
    placed(tmp_path, BINARY, archived=False)
    assert len(cifar100.cifar100(tmp_path / "cifar-100-binary")) == 115


def test_the_last_tenth_of_each_class_is_for_validation(tmp_path: Path) -> None:
    dataset = cifar100.cifar100(placed(tmp_path, BINARY, archived=False))
    assert [len(dataset.rows(split)) for split in ("train", "val", "test")] == [90, 10, 15]
    assert dataset.split[100:].tolist() == ["test"] * 15
    for label in np.unique(dataset.labels):
        rows = np.flatnonzero(dataset.labels[:100] == label)
        assert dataset.split[rows].tolist() == ["train"] * 18 + ["val"] * 2


def test_with_500_images_a_class_the_last_50_are_for_validation() -> None:
    labels = np.random.default_rng(0).permutation(np.repeat(np.arange(100), 500))
    split = cifar100._train_or_val(labels)
    assert (split == "val").sum() == 5000
    rows = np.flatnonzero(labels == 7)
    assert (split[rows[:450]] == "train").all()
    assert (split[rows[450:]] == "val").all()


def test_other_files_than_the_official_ones_are_read_with_a_note(tmp_path: Path) -> None:
    dataset = cifar100.cifar100(placed(tmp_path, BINARY, archived=True))
    assert len(dataset.notes) == 1
    assert "cifar-100-binary.tar.gz: not the official CIFAR-100 by its checksums" in dataset.notes[0]
    assert "with 100 of 50,000 training images and 15 of 10,000 test images" in dataset.notes[0]


@pytest.mark.parametrize("archived", [False, True], ids=["folder", "archive"])
def test_files_with_the_published_checksums_need_no_note(
    tmp_path: Path, archived: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    placed(tmp_path, BINARY, archived=archived)
    archive = tmp_path / "cifar-100-binary.tar.gz"
    checksums = {part: checksum(BINARY[f"cifar-100-binary/{part}.bin"], "sha1") for part in ("train", "test")}
    monkeypatch.setattr(cifar100, "ARCHIVE_CHECKSUM", checksum(archive, "md5") if archived else "md5:0")
    monkeypatch.setattr(cifar100, "CHECKSUMS", checksums)
    assert cifar100.cifar100(tmp_path).notes == ()


def test_a_binary_file_that_ends_within_an_image_is_an_error(tmp_path: Path) -> None:
    cut = BINARY | {"cifar-100-binary/train.bin": BINARY["cifar-100-binary/train.bin"][:-5]}
    assert fault_of(placed(tmp_path, cut, archived=False)) == (
        "ROOT/cifar-100-binary/train.bin: expected records of 3,074 bytes, got 307,395 bytes: after 99 whole images "
        "3,069 bytes remain, so the file is truncated or of another kind"
    )


def test_an_archive_that_ends_early_is_an_error(tmp_path: Path) -> None:
    placed(tmp_path, BINARY, archived=True)
    archive = tmp_path / "cifar-100-binary.tar.gz"
    archive.write_bytes(archive.read_bytes()[:200_000])
    assert fault_of(tmp_path).startswith("ROOT/cifar-100-binary.tar.gz: expected a complete .tar.gz archive, but ")


def test_an_archive_without_a_file_is_an_error(tmp_path: Path) -> None:
    tar_gz(tmp_path / "cifar-100-binary.tar.gz", {"cifar-100-binary/train.bin": b""})
    assert (
        fault_of(tmp_path) == "ROOT/cifar-100-binary.tar.gz: expected a file cifar-100-binary/test.bin in the archive"
    )


def test_labels_that_do_not_belong_together_are_errors_with_their_image(tmp_path: Path) -> None:
    content = bytearray(BINARY["cifar-100-binary/test.bin"])
    content[1], content[3074] = 100, 19
    placed(tmp_path, BINARY | {"cifar-100-binary/test.bin": bytes(content)}, archived=False)
    first, second = fault_of(tmp_path).splitlines()
    assert first == "ROOT/cifar-100-binary/test.bin, image 1: expected a label below 100, got 100"
    assert second.startswith("ROOT/cifar-100-binary/test.bin, image 2: expected the coarse label ")
    assert second.endswith(", got 19")


def test_no_images_are_an_error(tmp_path: Path) -> None:
    placed(tmp_path, BINARY | {"cifar-100-binary/test.bin": b""}, archived=False)
    assert fault_of(tmp_path) == "ROOT/cifar-100-binary/test.bin: expected images, got none"


def test_where_there_is_nothing_it_is_said_what_to_put_where(tmp_path: Path) -> None:
    assert fault_of(tmp_path).startswith(
        "cifar100 is not in ROOT: expected cifar-100-binary/train.bin and test.bin, or"
    )


def test_the_shared_files_are_read_with_a_note() -> None:
    dataset = cifar100.cifar100(shared("data"))
    assert [len(dataset.rows(split)) for split in ("train", "val", "test")] == [22_500, 2_500, 10_000]
    assert np.bincount(dataset.labels[dataset.rows("val")]).tolist() == [25] * 100
    assert "25,000 of 50,000 training images and 10,000 of 10,000" in dataset.notes[0]
    content = shared("data", "cifar-100-binary", "test.bin").read_bytes()[:3074]
    assert dataset.labels[25_000] == content[1]
    assert pixels_of(dataset, 25_000)[5, 7].tolist() == [content[2 + 1024 * plane + 5 * 32 + 7] for plane in range(3)]
