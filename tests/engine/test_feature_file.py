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
from hiercos.engine.feature_file import (
    GrowingFeatures,
    checked_blocks,
    mapped_features,
    replace_blocks,
    write_features,
)
from hiercos.errors import DataError

ROWS = torch.arange(12, dtype=torch.float32).reshape(6, 2)


def test_a_file_that_grew_batch_by_batch_is_an_npy_file(tmp_path: Path) -> None:
    path = tmp_path / "f.npy"
    with GrowingFeatures(path, (6, 2)) as file:
        for batch in ROWS.split(2):
            file.append(batch)
    assert np.array_equal(np.load(path), ROWS)
    features = mapped_features(path)
    features += 1  # in memory alone
    assert np.array_equal(np.load(path), ROWS)


@pytest.mark.parametrize(("missing", "kept"), [(0, 4), (1, 2), (9, 2), (17, 0)])
def test_opening_it_again_keeps_whole_batches(tmp_path: Path, missing: int, kept: int) -> None:
    path = tmp_path / "f.partial"
    with GrowingFeatures(path, (6, 2)) as file:
        file.append(ROWS[:2])
        file.append(ROWS[2:4])
    path.write_bytes(path.read_bytes()[: path.stat().st_size - missing])
    with GrowingFeatures(path, (6, 2)) as file:
        assert file.done == kept
        file.append(ROWS[kept:])
    assert np.array_equal(np.load(path), ROWS)


def test_a_file_of_another_shape_is_begun_anew(tmp_path: Path) -> None:
    path = tmp_path / "f.partial"
    path.write_bytes(b"something else that is longer than a header" * 9)
    with GrowingFeatures(path, (6, 2)) as file:
        assert file.done == 0
        file.append(ROWS)
    assert np.array_equal(np.load(path), ROWS)


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
@pytest.mark.parametrize("name", ["f.npy", "f.sums"])
def test_a_pipe_in_the_cache_is_named_and_not_read(tmp_path: Path, name: str) -> None:
    with GrowingFeatures(tmp_path / "f.npy", (6, 2)) as file:
        file.append(ROWS)
    (tmp_path / name).unlink()
    os.mkfifo(tmp_path / name)
    with pytest.raises(DataError, match=f"{name}: expected a file, this is a pipe"):
        checked_blocks(tmp_path / "f.npy", (6, 2))


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits of file sizes")
def test_a_full_disk_is_named_by_the_file_of_features(tmp_path: Path) -> None:
    path = tmp_path / "f.npy"

    def fill() -> None:
        with GrowingFeatures(path, (6, 2)) as file:
            for batch in ROWS[file.done :].split(2):
                file.append(batch)

    for size in (0, 100, 140):  # the header takes 128 bytes
        with files_of_at_most(size), pytest.raises(OSError, match=r"File too large: .*f\."):
            fill()
    fill()
    path.write_bytes(path.read_bytes()[:-1])
    *whole, block = checked_blocks(path, (6, 2))
    assert [each.is_whole for each in (*whole, block)] == [True, True, False]
    with files_of_at_most(140), pytest.raises(OSError, match=r"File too large: .*f\.npy"):
        replace_blocks(path, (6, 2), [*((each, None) for each in whole), (block, ROWS[4:])])
