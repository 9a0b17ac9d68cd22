"""Features on disk: an .npy file that grows batch by batch and can be resumed, and the .npz for users."""

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray
from torch import Tensor

from hiercos import storage
from hiercos.data import Dataset
from hiercos.taxonomy.formats import taxonomy_to_dict

ROWS, DIGEST = "rows", "sha256"  # keys of the file beside: number of rows that are written; checksum once all are


class FeatureFile:
    """Features of M inputs in an .npy file that is filled batch by batch, with a small JSON file beside it.

    After an interruption, the rows that were counted are kept. The file is not finished before it has its SHA-256; what
    is damaged, or of another shape, is begun again.

    Args:
        path: .npy file; created if missing.
        shape: shape (M, F).

    Attributes:
        done: number of rows that are written.
    """

    def __init__(self, path: Path, shape: tuple[int, int]) -> None:
        self.path, self.shape = path, shape
        self.beside = path.with_suffix(".json")
        for each in (self.path, self.beside):
            if each.exists():
                storage.check_regular(each)
        values = self._values()
        rows = values.get(ROWS)
        self.done = rows if isinstance(rows, int) and 0 <= rows <= shape[0] and self._has_shape() else 0
        self.digest: str | None = values.get(DIGEST)

    def _values(self) -> dict[str, Any]:
        try:
            values = json.loads(self.beside.read_bytes())
        except (OSError, ValueError):
            return {}
        return values if isinstance(values, dict) else {}

    def _has_shape(self) -> bool:
        try:
            array: NDArray[Any] = np.load(self.path, mmap_mode="r")
        except (OSError, ValueError, EOFError):
            return False
        return bool(array.shape == self.shape and array.dtype == np.float32)

    @property
    def is_finished(self) -> bool:
        """Whether all rows are there, as they were written."""
        return self.done == self.shape[0] and self.digest is not None and self.digest == _file_digest(self.path)

    def begin(self) -> None:
        """Make a file without rows, whose place on the disk is reserved."""
        self.done, self.digest = 0, None
        self.beside.unlink(missing_ok=True)
        with storage.named_errors(self.path), self.path.open("wb") as file:
            header = {"descr": "<f4", "fortran_order": False, "shape": self.shape}
            npy.write_array_header_1_0(file, header)
            if hasattr(os, "posix_fallocate"):  # a full disk is an error here, and not the end of the process later
                os.posix_fallocate(file.fileno(), 0, file.tell() + 4 * self.shape[0] * self.shape[1])
            else:
                file.truncate(file.tell() + 4 * self.shape[0] * self.shape[1])

    def append(self, features: Tensor) -> None:
        """Write the next rows, shape (B, F), and count them."""
        rows = npy.open_memmap(self.path, mode="r+")
        rows[self.done : self.done + len(features)] = features.numpy()
        rows.flush()  # before they are counted
        self.done += len(features)
        storage.write(self.beside, json.dumps({ROWS: self.done}) + "\n")

    def finish(self) -> None:
        """Write the checksum, once all rows are there."""
        self.digest = _file_digest(self.path)
        storage.write(self.beside, json.dumps({ROWS: self.done, DIGEST: self.digest}) + "\n")


def _file_digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def mapped_features(path: Path) -> NDArray[np.float32]:
    """Memory-mapped features of a finished file, shape (M, F); changes stay in memory."""
    features: NDArray[np.float32] = np.load(path, mmap_mode="c")
    return features


def write_features(path: Path, features: Path, dataset: Dataset, identity: Mapping[str, Any]) -> None:
    """Write an .npz data set with features, labels, split, taxonomy and the origin of the features.

    The features are mapped into memory, which does not grow with their number.

    Args:
        path: file to write, atomically.
        features: .npy file of the features, shape (M, F), float32.
        dataset: data set that the features were computed from.
        identity: value of `Backbone.identity`.
    """
    arrays: dict[str, Any] = {
        "features": mapped_features(features),
        "labels": dataset.labels,
        "split": dataset.split,
        "taxonomy": json.dumps(taxonomy_to_dict(dataset.taxonomy)),
        "backbone": json.dumps(identity),
        "embedded_from": dataset.fingerprint,
    }
    with storage.writing(path) as stream:
        np.savez(stream, allow_pickle=False, **arrays)
