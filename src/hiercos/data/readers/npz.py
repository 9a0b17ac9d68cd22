"""Arrays in .npz files, read without pickle: small ones whole, and vectors in batches of rows."""

import io
import json
import math
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, ClassVar, NamedTuple

import numpy as np
from numpy.lib import format as npy

from hiercos.checks import ARRAY_BYTES, EXPANSION, limit_fault, limited
from hiercos.data.dataset import FeatureOrigin
from hiercos.data.inputs import Float32Array, Kind, Vectors
from hiercos.data.readers.registry import Reader
from hiercos.data.rows import InputBatch, Source, SourceOptions
from hiercos.errors import DataError, reading
from hiercos.storage import check_regular
from hiercos.taxonomy import AnyArray, Taxonomy, TaxonomyError
from hiercos.taxonomy.formats import taxonomy_from_json

FEATURES = "features"
OPTIONAL = ("split", "taxonomy", "backbone", "embedded_from")  # arrays beside features and labels


class NpzReader(Reader):
    """Vectors in an .npz file."""

    suffixes = (".npz",)
    kinds: ClassVar[tuple[Kind, ...]] = ("vectors",)

    def rows(self, source: str, options: SourceOptions, kind: Kind | None) -> Source:  # noqa: ARG002
        """Vectors in batches; with labels in one batch, with splits, a taxonomy and an origin if the file has them.

        `taxonomy` is one text of JSON, and integer labels are its classes. An array in Fortran order is read whole,
        because its rows are not contiguous.

        Raises:
            DataError: for a missing array, features that are not a matrix of real numbers, arrays of another length, or
                a taxonomy that cannot be read.
        """
        path = Path(source)
        header = _feature_header(path, is_labelled=options.is_labelled)
        count, width = header.shape
        arrays = read_npz(path, arrays=("labels",), optional=OPTIONAL) if options.is_labelled else {}
        labels, split = _column(path, arrays, "labels", count, most=2), _column(path, arrays, "split", count)
        at_once = count if options.is_labelled else limited(ARRAY_BYTES) // (width * max(4, header.dtype.itemsize))

        def read(size: int) -> Iterator[InputBatch]:
            done = 0
            for part in _feature_batches(path, header, max(1, min(size, count, at_once))):
                rows = slice(done, done + len(part))
                yield InputBatch(
                    range(rows.start + 1, rows.stop + 1),
                    Vectors(part),
                    labels=None if labels is None else labels[rows],
                    split=None if split is None else split[rows],
                )
                done = rows.stop

        return Source(
            str(path),
            "vectors",
            read,
            count,
            row_name=lambda number: array_row_name(number - 1),
            taxonomy=_taxonomy(path, arrays["taxonomy"]) if "taxonomy" in arrays else None,
            origin=_origin(arrays),
        )


def read_npz(
    path: Path, *, arrays: Sequence[str], optional: Sequence[str] = (), content: bytes | None = None
) -> Mapping[str, AnyArray]:
    """Read the named arrays of a file, bytes as UTF-8 text; pickled objects are refused.

    Args:
        path: the .npz file.
        arrays: names of arrays that it must have.
        optional: names of further arrays to read.
        content: content of the file, if it was read before; None to read it.

    Raises:
        DataError: for a file that is not .npz, a missing or damaged array, an array of Python objects, or arrays
            larger than the limit.
    """
    with ArrayFile.opened(path, content) as file:
        file.require(arrays)
        wanted = [name for name in (*arrays, *optional) if name in file.names]
        file.check_sizes(wanted)
        return {name: file.array(name) for name in wanted}


class ArrayHeader(NamedTuple):
    """Shape and type of an array in a file, and whether it is stored column by column."""

    shape: tuple[int, ...]
    by_columns: bool
    dtype: np.dtype[Any]

    @property
    def num_bytes(self) -> int:
        """Bytes of the array in memory; a text takes four for each byte of an array of bytes."""
        return math.prod(self.shape) * self.dtype.itemsize * (5 if self.dtype.kind == "S" else 1)


@dataclass(frozen=True)
class ArrayFile:
    """An open .npz file of arrays with distinct names."""

    path: Path  # name of the file in messages
    archive: zipfile.ZipFile
    size: int  # bytes of the file

    @classmethod
    @contextmanager
    def opened(cls, path: Path, content: bytes | None = None) -> Iterator["ArrayFile"]:
        """Open a file, or its content if it was read before."""
        if content is None:
            check_regular(path)
        with path.open("rb") if content is None else io.BytesIO(content) as file:
            with reading(f"{path}: expected an .npz file as numpy.savez writes it", DataError):
                if file.read(len(npy.MAGIC_PREFIX)) == npy.MAGIC_PREFIX:
                    raise DataError(f"{path}: expected an .npz file as numpy.savez writes it, got a single array")
                found = cls(path, zipfile.ZipFile(file), file.seek(0, io.SEEK_END))
            if twice := [name for name, count in Counter(found.names).items() if count > 1]:
                raise DataError(
                    f"{path}: expected one array of each name, there are several {name!r}" for name in twice
                )
            yield found

    @property
    def names(self) -> list[str]:
        """Names of the arrays."""
        return [name.removesuffix(".npy") for name in self.archive.namelist()]

    def require(self, names: Sequence[str]) -> None:
        """Raise a DataError for each of these arrays that the file lacks."""
        listed = ", ".join(map(repr, self.names)) or "nothing"
        if missing := [name for name in names if name not in self.names]:
            raise DataError(f"{self.path}: expected an array {name!r}, got {listed}" for name in missing)

    def check_sizes(self, names: Sequence[str]) -> None:
        """Raise a DataError if arrays would take more memory than the limit, before any is allocated."""
        asked = sum(self.header(name).num_bytes for name in names)
        if fault := limit_fault("bytes of arrays", asked, max(ARRAY_BYTES, EXPANSION * self.size)):
            raise DataError(f"{self.path}: {fault}")

    def stream(self, name: str) -> IO[bytes]:
        """Stream of an array, from its header on."""
        stored = f"{name}.npy" if f"{name}.npy" in self.archive.namelist() else name
        with self.reading(name):
            return self.archive.open(stored)

    def reading(self, name: str) -> AbstractContextManager[None]:
        """Context manager that turns errors into a DataError about a damaged array."""
        return reading(f"{self.path}: array {name!r} is damaged", DataError)

    def header(self, name: str, stream: IO[bytes] | None = None) -> ArrayHeader:
        """Header of an array, read from its stream if one is given; a DataError for Python objects."""
        with self.reading(name), nullcontext(stream) if stream else self.stream(name) as member:
            version = npy.read_magic(member)
            read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
            header = ArrayHeader(*read(member))
            if any(size < 0 for size in header.shape):
                raise ValueError(f"its shape is {header.shape}")
        if header.dtype.hasobject:
            raise DataError(
                f"{self.path}: array {name!r} holds Python objects, which are never unpickled here; "
                "expected numbers or texts, such as array.astype(str)"
            )
        return header

    def array(self, name: str) -> AnyArray:
        """A whole array, bytes decoded to texts."""
        with self.reading(name), self.stream(name) as member:
            array: AnyArray = npy.read_array(member, allow_pickle=False)
        with reading(f"{self.path}: array {name!r}: expected UTF-8 texts", DataError):
            return np.char.decode(array, "utf-8") if array.dtype.kind == "S" else array


def array_row_name(row: int) -> str:
    """Name of an array's row in messages, counted from 1 and as an index."""
    return f"row {row + 1} (index {row})"


def _column(path: Path, arrays: Mapping[str, AnyArray], name: str, count: int, *, most: int = 1) -> AnyArray | None:
    """An array with a value for each of `count` rows, of at most so many dimensions; None if it is missing."""
    array = arrays.get(name)
    if array is not None and (array.ndim > most or array.shape[:1] != (count,)):
        raise DataError(
            f"{path}: expected {name!r} of shape ({count},) like the rows of {FEATURES!r}, got {array.shape}"
        )
    return array


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
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _taxonomy(path: Path, array: AnyArray) -> Taxonomy:
    if array.dtype.kind != "U" or array.size != 1:
        raise DataError(f"{path}: expected 'taxonomy' to be one text of JSON, got {array.dtype} of shape {array.shape}")
    try:
        return taxonomy_from_json(str(array.reshape(-1)[0]))
    except TaxonomyError as error:
        raise DataError(f"{path}: 'taxonomy': {fault}" for fault in error.faults) from error


def _feature_header(path: Path, *, is_labelled: bool) -> ArrayHeader:
    """Header of the features, a matrix of real numbers; what is read at once must be within the limit."""
    with ArrayFile.opened(path) as file:
        file.require((FEATURES, "labels") if is_labelled else (FEATURES,))
        header = file.header(FEATURES)
        if is_labelled or header.by_columns:
            file.check_sizes((FEATURES,))
    if header.dtype.kind not in "fiub":
        raise DataError(f"{path}: expected numbers in {FEATURES!r}, got the type {header.dtype}")
    if len(header.shape) != 2 or 0 in header.shape:
        raise DataError(f"{path}: expected {FEATURES!r} of shape (samples, features), got {header.shape}")
    if fault := limit_fault("bytes of arrays", header.shape[1] * header.dtype.itemsize, ARRAY_BYTES):
        raise DataError(f"{path}: a row of {FEATURES!r}: {fault}")
    return header


def _feature_batches(path: Path, header: ArrayHeader, size: int) -> Iterator[Float32Array]:
    """Consecutive rows of the features as float32, shape (B, F) with B at most `size`, stored or deflated."""
    count, width = header.shape
    with ArrayFile.opened(path) as file, file.stream(FEATURES) as member:
        file.header(FEATURES, member)

        def numbers(rows: int) -> AnyArray:
            """The next numbers, as many as so many rows have."""
            expected = rows * width * header.dtype.itemsize
            with file.reading(FEATURES):
                content = member.read(expected)
                if len(content) < expected:
                    raise ValueError("it ends early")
            return np.frombuffer(content, dtype=header.dtype)

        whole = numbers(count).reshape(width, count).T if header.by_columns else None
        for start in range(0, count, size):
            rows = min(size, count - start)
            part = numbers(rows).reshape(rows, width) if whole is None else whole[start : start + rows]
            with np.errstate(over="ignore"):  # overflow gives inf, which is reported by row and column
                yield part.astype(np.float32, copy=False)
