"""Features on disk: an .npy file that grows batch by batch and can be resumed, and the .npz for users."""

import hashlib
import io
import json
import os
import shutil
import zipfile
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from itertools import takewhile
from pathlib import Path
from types import TracebackType
from typing import IO, Any, NamedTuple, Self

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray
from torch import Tensor

from hiercos.data import Dataset
from hiercos.files import check_regular, named_when_full, write_atomically, written_atomically
from hiercos.taxonomy.formats import taxonomy_to_dict

CHUNK = 1 << 20  # bytes copied at a time


class GrowingFeatures:
    """Features of M inputs, appended batch by batch to an .npy file whose header already has the final shape.

    The SHA-256 of each batch is appended to a second file. After an interruption, opening the file again keeps the
    batches that are complete and undamaged, up to the first that is not.

    Args:
        path: .npy file; created if missing, and overwritten if it has another shape.
        shape: final shape (M, F).

    Attributes:
        done: number of rows in the file.
    """

    def __init__(self, path: Path, shape: tuple[int, int]) -> None:
        self.path, self.shape = path, shape
        self.done = 0

    def __enter__(self) -> Self:
        blocks = checked_blocks(self.path, self.shape)
        whole = list(takewhile(lambda block: block.is_whole, blocks))
        self.done = whole[-1].stop if whole else 0
        header = _header(self.shape)
        with named_when_full(self.path), ExitStack() as stack:  # an error closes the files
            self._file = stack.enter_context(self.path.open("r+b" if self.path.exists() else "w+b"))
            self._file.write(header)
            self._file.truncate(len(header) + self.done * 4 * self.shape[1])
            self._file.seek(0, os.SEEK_END)
            write_atomically(sums_file(self.path), b"".join(block.entry() for block in whole))
            self._sums = stack.enter_context(sums_file(self.path).open("ab"))
            stack.pop_all()
        return self

    def append(self, features: Tensor) -> None:
        """Write the next rows, shape (B, F), with their checksum, and flush them."""
        content = _content(features)
        with named_when_full(self.path):
            self._file.write(content)
            self._file.flush()
            self._sums.write(Block(self.done, self.done + len(features), _digest(self.done, content)).entry())
            self._sums.flush()
        self.done += len(features)

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        with named_when_full(self.path), self._sums, self._file:
            if kind is None:
                for file in (self._file, self._sums):
                    os.fsync(file.fileno())  # before the file is renamed


DIGEST = 32  # bytes of a SHA-256
ENTRY = 8 + DIGEST  # bytes of a block in the file of checksums: the number of its last row plus one, and its SHA-256


class Block(NamedTuple):
    """Consecutive rows of a file of features with their checksum.

    Attributes:
        start: first row.
        stop: last row plus one.
        digest: SHA-256 of the rows and their place.
        is_whole: whether the rows in the file have this checksum.
    """

    start: int
    stop: int
    digest: bytes
    is_whole: bool = True

    def entry(self) -> bytes:
        """The block as bytes of the file of checksums."""
        return self.stop.to_bytes(8, "little") + self.digest


def sums_file(path: Path) -> Path:
    """File with the checksums of a file of features."""
    return path.with_suffix(".sums")


def checked_blocks(path: Path, shape: tuple[int, int]) -> list[Block]:
    """The blocks of a file of features, each compared with its checksum; a missing or damaged file has none.

    Rows without a checksum are one last block that is not whole.

    Raises:
        DataError: for a folder, a pipe or a device in place of a file.
    """
    for each in (path, sums_file(path)):
        if each.exists():
            check_regular(each)
    blocks: list[Block] = []
    header, row_bytes, start = _header(shape), 4 * shape[1], 0
    entries = sums_file(path).read_bytes() if sums_file(path).is_file() else b""
    if path.is_file():
        with path.open("rb") as file:
            same = file.read(len(header)) == header
            for place in range(0, len(entries) - ENTRY + 1, ENTRY):
                stop = int.from_bytes(entries[place : place + 8], "little")
                if not start < stop <= shape[0]:
                    break
                digest = entries[place + 8 : place + ENTRY]
                content = file.read((stop - start) * row_bytes)
                blocks.append(Block(start, stop, digest, same and _digest(start, content) == digest))
                start = stop
    return [*blocks, Block(start, shape[0], b"", is_whole=False)] if start < shape[0] else blocks


def replace_blocks(path: Path, shape: tuple[int, int], blocks: Iterable[tuple[Block, Tensor | None]]) -> None:
    """Write damaged blocks of a file of features again, then all checksums.

    Args:
        path: .npy file.
        shape: shape (M, F).
        blocks: all blocks in order, each with its new features, or None for a block that is whole.
    """
    header, sums = _header(shape), []
    with named_when_full(path), path.open("r+b") as file:
        file.write(header)
        for block, features in blocks:
            if features is not None:
                content = _content(features)
                file.seek(len(header) + block.start * 4 * shape[1])
                file.write(content)
                block = block._replace(digest=_digest(block.start, content))  # noqa: PLW2901
            sums.append(block.entry())
        file.truncate(len(header) + shape[0] * 4 * shape[1])
        file.flush()
        os.fsync(file.fileno())
    write_atomically(sums_file(path), b"".join(sums))


def _content(features: Tensor) -> bytes:
    return features.contiguous().numpy().astype("<f4", copy=False).tobytes()


def _digest(start: int, content: bytes) -> bytes:
    return hashlib.sha256(start.to_bytes(8, "little") + content).digest()


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
