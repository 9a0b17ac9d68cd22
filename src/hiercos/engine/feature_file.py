"""Features on disk: an .npy file that grows batch by batch and can be resumed, and the .npz for users."""

import io
import json
import os
import shutil
import zipfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray
from torch import Tensor

from hiercos.data import Dataset
from hiercos.files import written_atomically
from hiercos.taxonomy.formats import taxonomy_to_dict

CHUNK = 1 << 20  # bytes copied at a time


class GrowingFeatures:
    """Features of M inputs, appended batch by batch to an .npy file whose header already has the final shape.

    After an interruption all batches but the last are complete: opening the file again keeps the complete batches and
    drops the rest.

    Args:
        path: .npy file; created if missing, and overwritten if it has another shape.
        shape: final shape (M, F).
        batch_size: number of rows appended at a time.

    Attributes:
        done: number of rows in the file.
    """

    def __init__(self, path: Path, shape: tuple[int, int], batch_size: int) -> None:
        self.path, self.shape, self.batch_size = path, shape, batch_size
        self.done = 0

    def __enter__(self) -> Self:
        header = _header(self.shape)
        self._file = self.path.open("r+b" if self.path.exists() else "w+b")
        row_bytes = 4 * self.shape[1]
        if self._file.read(len(header)) == header:
            rows = (self.path.stat().st_size - len(header)) // row_bytes
            self.done = self.shape[0] if rows >= self.shape[0] else rows - rows % self.batch_size
        else:
            self._file.seek(0)
            self._file.write(header)
        self._file.truncate(len(header) + self.done * row_bytes)
        self._file.seek(0, os.SEEK_END)
        return self

    def append(self, features: Tensor) -> None:
        """Write the next rows, shape (B, F), and flush them."""
        self._file.write(features.contiguous().numpy().astype("<f4", copy=False).data)
        self._file.flush()
        self.done += len(features)

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            os.fsync(self._file.fileno())  # before the file is renamed
        self._file.close()


def _header(shape: tuple[int, int]) -> bytes:
    stream = io.BytesIO()
    npy.write_array_header_1_0(stream, {"descr": "<f4", "fortran_order": False, "shape": shape})
    return stream.getvalue()


def mapped_features(path: Path) -> NDArray[np.float32]:
    """Memory-mapped features of a finished file, shape (M, F); changes stay in memory."""
    features: NDArray[np.float32] = np.load(path, mmap_mode="c")
    return features


def write_features(path: Path, features: Path, dataset: Dataset, identity: Mapping[str, Any]) -> None:
    """Write an .npz data set with features, labels, split, taxonomy and the origin of the features.

    The features are copied in chunks, so that memory does not grow with their number.

    Args:
        path: file to write, atomically.
        features: .npy file of the features, shape (M, F), float32.
        dataset: data set that the features were computed from.
        identity: value of `Backbone.identity`.
    """
    texts = {"taxonomy": taxonomy_to_dict(dataset.taxonomy), "backbone": identity}
    arrays = {
        "labels": dataset.labels,
        "split": dataset.split,
        **{name: np.array(json.dumps(value)) for name, value in texts.items()},
        "embedded_from": np.array(dataset.fingerprint),
    }
    with written_atomically(path) as stream, zipfile.ZipFile(stream, "w") as archive:
        with features.open("rb") as source, _member(archive, "features") as target:
            shutil.copyfileobj(source, target, CHUNK)
        for name, array in arrays.items():
            with _member(archive, name) as target:
                npy.write_array(target, array, allow_pickle=False)


def _member(archive: zipfile.ZipFile, name: str) -> IO[bytes]:
    return archive.open(f"{name}.npy", "w", force_zip64=True)
