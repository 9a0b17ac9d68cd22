import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from colours import TREE, colour_data
from folders import files_of_at_most
from hiercos.data import FeatureOrigin, load_dataset
from hiercos.encoders.feature_file import FeatureFile, mapped_features, write_features
from hiercos.errors import DataError

ROWS = torch.arange(12, dtype=torch.float32).reshape(6, 2)


def filled(path: Path) -> FeatureFile:
    file = FeatureFile(path, (6, 2))
    if not file.done:
        file.begin()
    for batch in ROWS[file.done :].split(2):
        file.append(batch)
    file.finish()
    return file


def test_a_file_that_was_filled_batch_by_batch_is_an_npy_file(tmp_path: Path) -> None:
    path = tmp_path / "f.npy"
    assert filled(path).is_finished
    assert np.array_equal(np.load(path), ROWS)
    features = mapped_features(path)
    features += 1  # in memory alone
    assert np.array_equal(np.load(path), ROWS)


def test_opening_it_again_keeps_the_rows_that_were_counted(tmp_path: Path) -> None:
    path = tmp_path / "f.npy"
    file = FeatureFile(path, (6, 2))
    file.begin()
    file.append(ROWS[:4])
    assert FeatureFile(path, (6, 2)).done == 4
    assert not FeatureFile(path, (6, 2)).is_finished
    assert FeatureFile(path, (5, 2)).done == 0  # another shape
    assert filled(path).is_finished
    assert np.array_equal(np.load(path), ROWS)


def test_a_file_of_something_else_is_begun_anew(tmp_path: Path) -> None:
    path = tmp_path / "f.npy"
    path.write_bytes(b"something else that is longer than a header" * 9)
    path.with_suffix(".json").write_text('{"rows": 4}')
    assert FeatureFile(path, (6, 2)).done == 0
    assert filled(path).is_finished


def test_an_npz_of_features_stands_for_the_data_set(tmp_path: Path) -> None:
    data = colour_data(60)
    features = np.random.default_rng(0).normal(size=(60, 5)).astype(np.float32)
    np.save(tmp_path / "f.npy", features)
    write_features(tmp_path / "f.npz", tmp_path / "f.npy", data, {"name": "small", "options": {}})
    with np.load(tmp_path / "f.npz", allow_pickle=False) as arrays:
        assert set(arrays.files) == {"features", "labels", "split", "taxonomy", "backbone", "embedded_from"}
        assert arrays["features"].dtype == np.float32
        assert json.loads(str(arrays["backbone"])) == {"name": "small", "options": {}}
    read = load_dataset(tmp_path / "f.npz")
    assert read.taxonomy == TREE
    assert np.array_equal(read.inputs, features)
    assert read.origin == FeatureOrigin({"name": "small", "options": {}}, data.fingerprint)
    assert np.array_equal(read.labels, data.labels)
    assert np.array_equal(read.split, data.split)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
@pytest.mark.parametrize("name", ["f.npy", "f.json"])
def test_a_pipe_in_the_cache_is_named_and_not_read(tmp_path: Path, name: str) -> None:
    filled(tmp_path / "f.npy")
    (tmp_path / name).unlink()
    os.mkfifo(tmp_path / name)
    with pytest.raises(DataError, match=f"{name}: expected a file, this is a pipe"):
        FeatureFile(tmp_path / "f.npy", (6, 2))


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits of file sizes")
@pytest.mark.parametrize("size", [0, 100, 140])  # the header takes 128 bytes
def test_a_full_disk_is_named_by_the_file_of_features(tmp_path: Path, size: int) -> None:
    with files_of_at_most(size), pytest.raises(OSError, match=r"File too large: .*f\.npy"):
        filled(tmp_path / "f.npy")
    assert filled(tmp_path / "f.npy").is_finished
