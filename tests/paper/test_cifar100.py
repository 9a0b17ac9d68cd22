from pathlib import Path

import numpy as np
import pytest

from hiercos.data.dataset import Dataset
from hiercos.errors import DataError
from hiercos.paper import cifar100
from hiercos.paper.download import checksum
from paper_sets import binary_file, cifar_images, write_files
from trees import shared

TRAIN, TEST = cifar_images(20, seed=0), cifar_images(3, seed=1)
BINARY = {"cifar-100-binary/train.bin": binary_file(*TRAIN), "cifar-100-binary/test.bin": binary_file(*TEST)}


def placed(root: Path, files: dict[str, bytes]) -> Path:
    write_files(root, files)
    return root


def fault_of(root: Path) -> str:
    with pytest.raises(DataError) as error:
        cifar100.cifar100(root)
    return str(error.value).replace(str(root), "ROOT")


def pixels_of(dataset: Dataset, row: int) -> np.ndarray:
    return np.asarray(dataset.inputs.open(row))


def test_the_files_are_read_with_the_last_tenth_of_each_class_for_validation(tmp_path: Path) -> None:
    assert not cifar100.CIFAR100.is_present(tmp_path)
    assert fault_of(tmp_path).startswith("cifar100 is not in ROOT: expected cifar-100-binary/train.bin and test.bin, ")
    placed(tmp_path, BINARY)
    assert cifar100.CIFAR100.is_present(tmp_path)
    dataset = cifar100.cifar100(tmp_path)
    assert (dataset.name, dataset.kind, len(dataset), dataset.taxonomy.num_classes) == ("cifar100", "images", 115, 100)
    assert dataset.labels.tolist() == [*TRAIN[0], *TEST[0]]
    for row in (0, 57, 99):
        np.testing.assert_array_equal(pixels_of(dataset, row), TRAIN[1][row])
    np.testing.assert_array_equal(pixels_of(dataset, 114), TEST[1][14])
    assert (dataset.inputs.name(0), dataset.inputs.name(100)) == ("train.bin, image 1", "test.bin, image 1")
    assert [len(dataset.rows(split)) for split in ("train", "val", "test")] == [90, 10, 15]
    for label in np.unique(dataset.labels):
        rows = np.flatnonzero(dataset.labels[:100] == label)
        assert dataset.split[rows].tolist() == ["train"] * 18 + ["val"] * 2
    assert len(cifar100.cifar100(tmp_path / "cifar-100-binary")) == 115


def test_other_files_than_the_official_ones_are_read_with_a_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (note,) = cifar100.cifar100(placed(tmp_path, BINARY)).notes
    assert "cifar-100-binary: not the official CIFAR-100 by its checksums" in note
    assert "with 100 of 50,000 training images and 15 of 10,000 test images" in note
    checksums = {part: checksum(BINARY[f"cifar-100-binary/{part}.bin"], "sha1") for part in ("train", "test")}
    monkeypatch.setattr(cifar100, "CHECKSUMS", checksums)
    assert cifar100.cifar100(tmp_path).notes == ()


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (BINARY["cifar-100-binary/test.bin"][:-5], "expected whole records of 3,074 bytes, got 46,105 bytes"),
        (b"", "expected whole records of 3,074 bytes, got 0 bytes"),
        (bytes([1, 100]) + bytes(3072), "expected labels below 100, got 100"),
    ],
)
def test_a_file_of_another_kind_is_an_error(tmp_path: Path, content: bytes, fault: str) -> None:
    placed(tmp_path, BINARY | {"cifar-100-binary/test.bin": content})
    assert fault_of(tmp_path) == f"ROOT/cifar-100-binary/test.bin: {fault}"


def test_the_shared_files_are_read_with_a_note() -> None:
    dataset = cifar100.cifar100(shared("data"))
    assert [len(dataset.rows(split)) for split in ("train", "val", "test")] == [22_500, 2_500, 10_000]
    assert np.bincount(dataset.labels[dataset.rows("val")]).tolist() == [25] * 100
    assert "25,000 of 50,000 training images and 10,000 of 10,000" in dataset.notes[0]
    content = shared("data", "cifar-100-binary", "test.bin").read_bytes()[:3074]
    assert dataset.labels[25_000] == content[1]
    assert pixels_of(dataset, 25_000)[5, 7].tolist() == [content[2 + 1024 * plane + 5 * 32 + 7] for plane in range(3)]
