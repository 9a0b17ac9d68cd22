import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from hiercos import Taxonomy
from hiercos.data import load_dataset, load_test_samples, read_inputs, read_npz
from hiercos.errors import DataError
from hiercos.taxonomy import taxonomy_to_dict
from trees import TOY

TREE = Taxonomy.from_arrays(["pet", "vehicle", "cat", "dog", "car"], [-1, -1, 0, 0, 1], [4, 2, 3])  # car, cat, dog
SPLIT = np.array(["train", "train", "val", "test"])
LABELLED = {"features": np.eye(4), "labels": np.array([0, 1, 2, 0]), "split": SPLIT}


def written(folder: Path, **arrays: object) -> Path:
    path = folder / "a.npz"
    np.savez(path, **arrays)  # type: ignore[arg-type]
    return path


def read_arrays(path: Path) -> dict:
    return dict(read_npz(path, arrays=("features", "labels"), optional=("split",)))


def read_vectors(path: Path) -> object:
    return read_inputs(path, kind="vectors")


def read_labelled(path: Path) -> object:
    return load_dataset(path, taxonomy=TOY)


READS = [read_arrays, read_labelled, read_vectors]


def fault_of(path: Path, read: Callable[[Path], object] = read_arrays) -> str:
    with pytest.raises(DataError) as error:
        read(path)
    return str(error.value).replace(str(path), path.name)


def test_the_named_arrays_are_read_and_bytes_become_text(tmp_path: Path) -> None:
    texts = np.array(["é", "b"])
    for labels in (texts, np.char.encode(texts, "utf-8")):
        arrays = read_arrays(written(tmp_path, features=np.eye(2), labels=labels, other=np.zeros(1)))
        assert (set(arrays), arrays["labels"].tolist()) == ({"features", "labels"}, ["é", "b"])


@pytest.mark.parametrize("read", READS[:2])
def test_missing_arrays_are_named(tmp_path: Path, read: Callable[[Path], object]) -> None:
    assert fault_of(written(tmp_path, X=np.eye(2), y=np.zeros(2)), read) == (
        "a.npz: expected an array 'features', got 'X', 'y'\na.npz: expected an array 'labels', got 'X', 'y'"
    )


@pytest.mark.parametrize("read", READS)
def test_python_objects_and_damaged_arrays_are_refused(tmp_path: Path, read: Callable[[Path], object]) -> None:
    path = written(tmp_path, features=np.array([[object()]]), labels=np.zeros(1, dtype=int))
    assert fault_of(path, read) == (
        "a.npz: array 'features' holds Python objects, which are never unpickled here; "
        "expected numbers or texts, such as array.astype(str)"
    )
    path = written(tmp_path, features=np.arange(1000.0).reshape(500, 2), labels=np.zeros(500, dtype=int))
    content = bytearray(path.read_bytes())
    content[4000] ^= 0xFF
    path.write_bytes(content)
    assert fault_of(path, read).startswith("a.npz: array 'features' is damaged (")


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("content", [b"", b"text,label\n", b"PK\x03\x04 and no more"])
def test_a_file_of_another_kind_is_refused(tmp_path: Path, content: bytes, read: Callable[[Path], object]) -> None:
    path = tmp_path / "a.npz"
    path.write_bytes(content)
    assert fault_of(path, read).startswith("a.npz: expected an .npz file as numpy.savez writes it (")
    with path.open("wb") as file:
        np.save(file, np.eye(2))
    assert fault_of(path, read) == "a.npz: expected an .npz file as numpy.savez writes it, got a single array"


def test_bytes_that_are_not_utf8_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path, features=np.eye(1), labels=np.array([b"\xff"]))
    reason = "'utf-8' codec can't decode byte 0xff in position 0: invalid start byte"
    assert fault_of(path) == f"a.npz: array 'labels': expected UTF-8 texts ({reason})"


@pytest.mark.parametrize("read", READS[1:])
@pytest.mark.parametrize(
    ("features", "message"),
    [
        (np.array([["1", "2"]]), "a.npz: expected numbers in 'features', got the type <U1"),
        (np.array([[1j]]), "a.npz: expected numbers in 'features', got the type complex128"),
        (np.zeros(3), "a.npz: expected 'features' of shape (samples, features), got (3,)"),
        (np.zeros((3, 0)), "a.npz: expected 'features' of shape (samples, features), got (3, 0)"),
        (np.array([[1e300]]), "a.npz: row 1, column 1 (features[0, 0]): expected a finite number, got inf"),
    ],
)
def test_features_must_be_a_matrix_of_numbers(
    tmp_path: Path, features: np.ndarray, message: str, read: Callable[[Path], object]
) -> None:
    assert fault_of(written(tmp_path, features=features, labels=np.zeros(len(features), dtype=int)), read) == message


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("array", [np.arange(14.0).reshape(7, 2), np.arange(14, dtype=">i2").reshape(2, 7).T])
@pytest.mark.parametrize("size", [1, 3, 7, 50])
def test_vectors_come_in_batches_whatever_their_form_on_disk(
    save: Callable[..., None], array: np.ndarray, size: int, tmp_path: Path
) -> None:
    save(tmp_path / "a.npz", features=array, labels=np.arange(7) % 3)
    inputs = read_inputs(tmp_path / "a.npz", kind="vectors")
    batches = list(inputs.batches(size))
    assert inputs.count == 7
    assert np.array_equal(np.concatenate([np.asarray(batch.inputs) for batch in batches]), array)
    assert [number for batch in batches for number in batch.numbers] == list(range(1, 8))
    assert np.array_equal(load_test_samples(tmp_path / "a.npz", TOY).inputs, array)


def test_vectors_may_bring_their_taxonomy_whose_class_order_counts(tmp_path: Path) -> None:
    path = written(tmp_path, **LABELLED, taxonomy=json.dumps(taxonomy_to_dict(TREE)))
    dataset = load_dataset(path)
    assert (dataset.taxonomy, dataset.labels.tolist(), dataset.nodes.tolist()) == (TREE, [0, 1, 2, 0], [4, 2, 3, 4])
    assert dataset.taxonomy.class_names == ("car", "cat", "dog")
    assert load_dataset(path, taxonomy=TREE).fingerprint == dataset.fingerprint
    assert load_test_samples(path, TREE).labels.tolist() == [0]
    assert fault_of(path, read_labelled) == (
        "a.npz brings another taxonomy: expected that one or none, got Taxonomy(5 nodes, 3 classes, height 2)"
    )
    with pytest.raises(DataError, match="has another taxonomy than the model"):
        load_test_samples(path, TOY)


def test_a_taxonomy_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    damaged = written(tmp_path, **LABELLED, taxonomy="{")
    assert fault_of(damaged, load_dataset).startswith("a.npz: 'taxonomy': line 1, column 2: not JSON")
    assert fault_of(written(tmp_path, **LABELLED, taxonomy=np.arange(3)), load_dataset) == (
        "a.npz: expected 'taxonomy' to be one text of JSON, got int64 of shape (3,)"
    )
