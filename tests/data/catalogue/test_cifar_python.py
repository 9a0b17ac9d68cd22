"""The reader of the python version keeps data and runs nothing."""

import os
from pathlib import Path

import numpy as np
import pytest

from hiercos.data.catalogue.cifar100 import python_records
from hiercos.errors import DataError
from paper_sets import cifar_images, planes, python_file

LABELS, PIXELS = cifar_images(2, seed=0)


def fault_of(content: bytes) -> str:
    with pytest.raises(DataError) as error:
        python_records(content, source="train")
    return str(error.value)


def test_a_file_of_python_2_is_read() -> None:
    records = python_records(python_file(LABELS, PIXELS), source="train")
    assert records.fine.tolist() == LABELS.tolist()
    assert records.planes.shape == (10, 3072)
    assert records.planes[3].tobytes() == planes(PIXELS[3])


def test_an_array_by_columns_is_read_as_it_is_meant() -> None:
    content = python_file(LABELS, PIXELS)
    by_rows = b"".join(planes(image) for image in PIXELS)
    by_columns = np.frombuffer(by_rows, np.uint8).reshape(10, 3072).tobytes(order="F")
    mark = b"\x89T"  # false, and a text
    content = content.replace(by_rows, by_columns).replace(mark, b"\x88T")
    assert python_records(content, source="train").planes.tobytes() == by_rows


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (b"cposix\nsystem\n(S'touch run'\ntR.", "posix.system"),
        (b'c__builtin__\neval\n(S\'open("run", "w")\'\ntR.', "__builtin__.eval"),
        (b"cnumpy\nfromfile\n(S'/etc/passwd'\ntR.", "numpy.fromfile"),
        (b"cnumpy\nndarray.tofile\n(S'run'\ntR.", "numpy.ndarray.tofile"),
        (b"\x80\x04\x8c\x05numpy\x8c\x0endarray.tofile\x93)R.", "numpy.ndarray.tofile"),
        (b"(S'touch run'\nios\nsystem\n.", "os.system"),
    ],
)
def test_a_file_that_names_anything_else_is_refused_and_nothing_is_run(
    content: bytes, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert f"it names {name}, which no CIFAR-100 file needs" in fault_of(content)
    assert os.listdir(tmp_path) == []


def test_objects_outside_the_file_and_extensions_are_refused() -> None:
    assert "it names an object outside itself" in fault_of(b"Pid\n.")
    assert "expected a file of the python version" in fault_of(b"\x80\x02\x82\x01.")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ((b"fine_labels", b"fine_lapels"), "expected data, fine_labels and coarse_labels"),
        ((b"U\x02u1", b"U\x02i1"), "expected data of bytes and of shape (images, 3072)"),
        ((b"M\x00\x0c\x86", b"M\x01\x0c\x86"), "expected data of bytes and of shape (images, 3072)"),
        ((b"M\x63\x00", b"M\x63\x01"), "expected fine_labels to be numbers of one byte, got 355"),
    ],
)
def test_a_file_that_holds_something_else_is_told_what_is_expected(change: tuple[bytes, bytes], message: str) -> None:
    assert fault_of(python_file(LABELS, PIXELS).replace(*change)) == f"train: {message}" + (
        ", as CIFAR-100 has them" if "coarse" in message else ""
    )


@pytest.mark.parametrize("content", [b"", b"PNG", b"\x80\x02}.", b"\x80\x02K\x01.", b"\x80\x02]."])
def test_what_is_no_such_file_is_one_sentence(content: bytes) -> None:
    assert fault_of(content).startswith("train: expected ")


def test_labels_for_other_images_are_an_error() -> None:
    content = python_file(LABELS, PIXELS).replace(b"U\x0bfine_labels](M", b"U\x0bfine_labels](M\x00\x00M")
    assert fault_of(content) == "train: expected fine_labels to be a list of 10 labels, one for each image"
