"""Arrays in .npz files, read without pickle: labelled vectors, and features streamed row by row."""

import json
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, BinaryIO

import numpy as np
from numpy.lib import format as npy
from numpy.lib.npyio import NpzFile

from hiercos.data.dataset import FeatureOrigin
from hiercos.data.inputs import Float32Array, Vectors, check_inputs
from hiercos.data.samples import SourceSamples
from hiercos.errors import DataError
from hiercos.taxonomy import AnyArray, Taxonomy, TaxonomyError
from hiercos.taxonomy.formats import taxonomy_from_json

OPTIONAL = ("split", "taxonomy", "backbone", "embedded_from")  # arrays beside features and labels


def read_npz(path: Path, *, arrays: Sequence[str], optional: Sequence[str] = ()) -> Mapping[str, AnyArray]:
    """Read the named arrays of a file, bytes as UTF-8 text; pickled objects are refused.

    Raises:
        DataError: for a file that is not .npz, a missing array, or an array of Python objects.
    """
    with path.open("rb") as stream, open_npz(path, stream) as file:
        require_arrays(path, file.files, arrays)
        return {name: _array(path, name, file) for name in (*arrays, *optional) if name in file.files}


def open_npz(path: Path, stream: BinaryIO) -> NpzFile:
    """Open a file of arrays; a DataError unless it is .npz."""
    try:
        file = np.load(stream, allow_pickle=False)
    except (zipfile.BadZipFile, EOFError, ValueError) as error:
        raise DataError(f"{path}: expected an .npz file as numpy.savez writes it ({error})") from error
    if not isinstance(file, NpzFile):
        raise DataError(f"{path}: expected an .npz file as numpy.savez writes it, got a single array")
    return file


def require_arrays(path: Path, names: Sequence[str], required: Sequence[str]) -> None:
    """Raise a DataError for each required array that a file lacks."""
    listed = ", ".join(repr(name) for name in names) or "nothing"
    if missing := [name for name in required if name not in names]:
        raise DataError(f"{path}: expected an array {name!r}, got {listed}" for name in missing)


def object_array_fault(path: Path, name: str) -> str:
    """Error message about an array of Python objects."""
    return (
        f"{path}: array {name!r} holds Python objects, which are never unpickled here; "
        "expected numbers or texts, such as array.astype(str)"
    )


def _array(path: Path, name: str, file: NpzFile) -> AnyArray:
    try:
        array = file[name]
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise DataError(f"{path}: array {name!r} is damaged ({error})") from error
    except ValueError as error:
        raise DataError(object_array_fault(path, name)) from error
    try:
        return np.char.decode(array, "utf-8") if array.dtype.kind == "S" else array
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: array {name!r}: expected UTF-8 texts ({error.reason})") from error


def feature_matrix(path: Path, features: AnyArray) -> Float32Array:
    """Features as float32, shape (M, F); a DataError for another shape or type than real numbers."""
    check_features(path, features.shape, features.dtype)
    return float_features(features)


def check_features(path: Path, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    """Raise a DataError unless an array is a non-empty matrix of real numbers."""
    if dtype.kind not in "fiub":
        raise DataError(f"{path}: expected numbers in 'features', got the type {dtype}")
    if len(shape) != 2 or 0 in shape:
        raise DataError(f"{path}: expected 'features' of shape (samples, features), got {shape}")


def float_features(features: AnyArray) -> Float32Array:
    """Features as float32, of the same shape."""
    with np.errstate(over="ignore"):  # overflow gives inf, which is reported by row and column
        return features.astype(np.float32)


def array_row_name(row: int) -> str:
    """Name of an array's row in messages, counted from 1 and as an index."""
    return f"row {row + 1} (index {row})"


def read_vectors(path: Path) -> SourceSamples:
    """Labelled vectors of a file; its `taxonomy`, if any, is one text of JSON, and integer labels are its classes.

    Raises:
        DataError: for a missing array, features that are not finite numbers, arrays of another length, or a taxonomy
            that cannot be read.
    """
    arrays = read_npz(path, arrays=("features", "labels"), optional=OPTIONAL)
    features = Vectors(feature_matrix(path, arrays["features"]))
    check_inputs(features, source=str(path))
    for name in ("labels", "split"):
        if name in arrays and arrays[name].shape != (len(features),):
            raise DataError(
                f"{path}: expected {name!r} of shape ({len(features)},) like the rows of 'features', "
                f"got {arrays[name].shape}"
            )
    taxonomy = _taxonomy(path, arrays["taxonomy"]) if "taxonomy" in arrays else None
    origin = _origin(arrays)
    return SourceSamples(
        features, arrays["labels"], arrays.get("split"), array_row_name, taxonomy=taxonomy, origin=origin
    )


def _origin(arrays: Mapping[str, AnyArray]) -> FeatureOrigin | None:
    """Origin of features that `hiercos embed` wrote; None for any other array `backbone`."""
    identity = _json_object(arrays.get("backbone"))
    if not isinstance(identity.get("name"), str) or not isinstance(identity.get("options"), dict):
        return None
    return FeatureOrigin(identity, "".join(map(str, arrays.get("embedded_from", np.empty(0)).reshape(-1)[:1])))


def _json_object(array: AnyArray | None) -> dict[str, Any]:
    """JSON object in an array of one text; empty for any other array."""
    if array is None or array.dtype.kind != "U" or array.size != 1:
        return {}
    try:
        value = json.loads(str(array.reshape(-1)[0]))
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _taxonomy(path: Path, array: AnyArray) -> Taxonomy:
    if array.dtype.kind != "U" or array.size != 1:
        raise DataError(f"{path}: expected 'taxonomy' to be one text of JSON, got {array.dtype} of shape {array.shape}")
    try:
        return taxonomy_from_json(str(array.reshape(-1)[0]))
    except TaxonomyError as error:
        raise DataError(f"{path}: 'taxonomy': {fault}" for fault in error.faults) from error


FEATURES = "features"


class FeatureStream:
    """Rows of the array `features` of an .npz file, stored or deflated; each pass opens the file again.

    An array in Fortran order is read whole, because its rows are not contiguous.

    Args:
        path: the .npz file.

    Attributes:
        shape: shape (M, F) of the array.

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

    def chunks(self, size: int) -> Iterator[Float32Array]:
        """Consecutive rows as float32, shape (B, F) with B at most `size`.

        Raises:
            DataError: for a damaged or truncated file.
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
    """Shape, Fortran order and type of an array, from the beginning of its stream."""
    try:
        version = npy.read_magic(member)
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, by_columns, dtype = read(member)
    except (zipfile.BadZipFile, zlib.error, EOFError, ValueError) as error:
        raise DataError(f"{path}: array {FEATURES!r} is damaged ({error})") from error
    if dtype.hasobject:
        raise DataError(object_array_fault(path, FEATURES))
    return shape, by_columns, dtype
