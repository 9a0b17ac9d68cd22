import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from blobs import blob_data
from folders import files_of_at_most
from hiercos.benchmark.workers import SharedValue


def test_prepared_data_come_back_equal_and_nothing_large_travels_beside_the_file(tmp_path: Path) -> None:
    data = blob_data(count=5000)
    summary = data.summary()
    shared = SharedValue.write(data, tmp_path / "arrays")
    assert len(shared.description) < 10_000 < 5000 * 12 * 4 <= (tmp_path / "arrays").stat().st_size
    copy = shared.read()
    assert copy.summary() == summary
    assert torch.equal(copy.features, data.features)
    assert np.array_equal(copy.dataset.labels, data.dataset.labels)
    assert not copy.dataset.labels.flags.writeable


def test_a_reader_that_writes_changes_only_its_own_copy(tmp_path: Path) -> None:
    shared = SharedValue.write([torch.zeros(3), np.ones(2)], tmp_path / "arrays")
    first, second = shared.read(), shared.read()
    first[0] += 1
    first[1] += 1
    assert second[0].tolist() == [0, 0, 0]
    assert second[1].tolist() == [1, 1]
    assert shared.read()[0].tolist() == [0, 0, 0]


def test_a_value_without_contents_needs_no_map(tmp_path: Path) -> None:
    assert SharedValue.write("text", tmp_path / "a").read() == "text"
    assert SharedValue.write(np.empty((0, 3)), tmp_path / "b").read().shape == (0, 3)


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits of file sizes")
def test_a_full_disk_is_named_by_the_file_that_did_not_fit(tmp_path: Path) -> None:
    with files_of_at_most(1000), pytest.raises(OSError, match=r"File too large: .*arrays"):
        SharedValue.write(np.ones(1000), tmp_path / "arrays")
