from pathlib import Path

import numpy as np
import pytest

from hiercos.data.readers.npz import feature_matrix, read_npz
from hiercos.errors import DataError


def written(folder: Path, **arrays: np.ndarray) -> Path:
    path = folder / "a.npz"
    np.savez(path, **arrays)
    return path


def fault_of(path: Path) -> str:
    with pytest.raises(DataError) as error:
        read_npz(path, arrays=("features", "labels"), optional=("split",))
    return str(error.value).replace(str(path), path.name)


def test_the_named_arrays_are_read_and_bytes_become_text(tmp_path: Path) -> None:
    path = written(tmp_path, features=np.eye(2), labels=np.array(["é", "b"]).astype("U").view(), other=np.zeros(1))
    encoded = written(tmp_path, features=np.eye(2), labels=np.char.encode(np.array(["é", "b"]), "utf-8"))
    for file in (path, encoded):
        arrays = read_npz(file, arrays=("features", "labels"), optional=("split",))
        assert set(arrays) == {"features", "labels"}
        assert arrays["labels"].tolist() == ["é", "b"]


def test_missing_arrays_are_named(tmp_path: Path) -> None:
    assert fault_of(written(tmp_path, X=np.eye(2), y=np.zeros(2))) == (
        "a.npz: expected an array 'features', got 'X', 'y'\na.npz: expected an array 'labels', got 'X', 'y'"
    )


def test_python_objects_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path, features=np.eye(2), labels=np.array(["a", None], dtype=object))
    assert fault_of(path) == (
        "a.npz: array 'labels' holds Python objects, which are never unpickled here; "
        "expected numbers or texts, such as array.astype(str)"
    )


def test_bytes_that_are_not_utf8_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path, features=np.eye(1), labels=np.array([b"\xff"]))
    reason = "'utf-8' codec can't decode byte 0xff in position 0: invalid start byte"
    assert fault_of(path) == f"a.npz: array 'labels': expected UTF-8 texts ({reason})"


@pytest.mark.parametrize("content", [b"", b"text,label\n", b"PK\x03\x04 and no more"])
def test_a_file_of_another_kind_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.npz"
    path.write_bytes(content)
    assert fault_of(path).startswith("a.npz: expected an .npz file as numpy.savez writes it (")


def test_a_single_array_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    with path.open("wb") as file:
        np.save(file, np.eye(2))
    assert fault_of(path) == "a.npz: expected an .npz file as numpy.savez writes it, got a single array"


def test_a_damaged_array_is_named(tmp_path: Path) -> None:
    path = written(tmp_path, features=np.arange(1000.0), labels=np.zeros(2))
    content = bytearray(path.read_bytes())
    content[4000] ^= 0xFF
    path.write_bytes(content)
    assert fault_of(path).startswith("a.npz: array 'features' is damaged (")


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (np.array([["1", "2"]]), "a.npz: expected numbers in 'features', got the type <U1"),
        (np.array([[1j]]), "a.npz: expected numbers in 'features', got the type complex128"),
        (np.zeros(3), "a.npz: expected 'features' of shape (samples, features), got (3,)"),
        (np.zeros((3, 0)), "a.npz: expected 'features' of shape (samples, features), got (3, 0)"),
    ],
)
def test_features_must_be_a_matrix_of_numbers(features: np.ndarray, message: str) -> None:
    with pytest.raises(DataError) as error:
        feature_matrix(Path("a.npz"), features)
    assert str(error.value) == message


def test_features_beyond_single_precision_become_infinite_without_a_warning() -> None:
    assert np.isinf(feature_matrix(Path("a.npz"), np.array([[1e300]]))).all()
