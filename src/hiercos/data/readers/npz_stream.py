"""Features of an .npz file, read from its archive piece by piece."""

import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy

from hiercos.data.inputs import FloatArray
from hiercos.data.readers.npz import check_features, float_features, open_npz, require_arrays, unpickled
from hiercos.errors import DataError
from hiercos.taxonomy import AnyArray

FEATURES = "features"


class FeatureStream:
    """Rows of the array `features` of an .npz file, stored or deflated; each pass opens the file again.

    An array in Fortran order keeps no row together, so it is read whole.

    Args:
        path: the .npz file.

    Attributes:
        shape: (M, F).

    Raises:
        DataError: for a file that is not .npz, no array `features`, or one that is not a matrix of real numbers.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with path.open("rb") as stream, open_npz(path, stream) as file:
            require_arrays(path, file.files, (FEATURES,))
        with zipfile.ZipFile(path) as archive, _member(path, archive) as member:
            shape, self._by_columns, self._dtype = _header(path, member)
        check_features(path, shape, self._dtype)
        self.shape = (shape[0], shape[1])

    def chunks(self, size: int) -> Iterator[FloatArray]:
        """Consecutive rows as float32, shape (B, F) with B at most `size`.

        Raises:
            DataError: for a file that is damaged or was cut short.
        """
        count, width = self.shape
        size = min(size, count)
        with zipfile.ZipFile(self.path) as archive, _member(self.path, archive) as member:
            _header(self.path, member)
            if self._by_columns:
                whole = self._numbers(member, count * width).reshape(width, count).T
                yield from (float_features(whole[start : start + size]) for start in range(0, count, size))
                return
            for start in range(0, count, size):
                rows = min(size, count - start)
                yield float_features(self._numbers(member, rows * width).reshape(rows, width))

    def _numbers(self, member: IO[bytes], count: int) -> AnyArray:
        """The next numbers of the array, shape (count,)."""
        expected = count * self._dtype.itemsize
        try:
            content = member.read(expected)
        except (zipfile.BadZipFile, zlib.error, EOFError) as error:
            raise DataError(f"{self.path}: array {FEATURES!r} is damaged ({error})") from error
        if len(content) < expected:
            raise DataError(f"{self.path}: array {FEATURES!r} is damaged (it ends early)")
        return np.frombuffer(content, dtype=self._dtype)


def _member(path: Path, archive: zipfile.ZipFile) -> IO[bytes]:
    name = f"{FEATURES}.npy" if f"{FEATURES}.npy" in archive.namelist() else FEATURES
    try:
        return archive.open(name)
    except (zipfile.BadZipFile, NotImplementedError) as error:
        raise DataError(f"{path}: array {FEATURES!r} is damaged ({error})") from error


def _header(path: Path, member: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, whether columns come first, and type of the array that a stream is at the beginning of."""
    try:
        version = npy.read_magic(member)
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, by_columns, dtype = read(member)
    except (zipfile.BadZipFile, zlib.error, EOFError, ValueError) as error:
        raise DataError(f"{path}: array {FEATURES!r} is damaged ({error})") from error
    if dtype.hasobject:
        raise DataError(unpickled(path, FEATURES))
    return shape, by_columns, dtype
