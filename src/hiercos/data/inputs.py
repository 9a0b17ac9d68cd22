"""Inputs of a model, one type for each kind: texts, vectors, images and columns (which have modules of their own)."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar, Literal, Protocol, Self, TypeAlias, TypeVar, overload

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.sparse import csr_matrix

from hiercos.checks import TEXT_CHARACTERS, limit_fault
from hiercos.data.images.pixels import ByteArray
from hiercos.data.splits import Key, folded
from hiercos.errors import DataError, RowName, row_name
from hiercos.taxonomy import AnyArray, IntArray

Float32Array = NDArray[np.float32]
SparseMatrix: TypeAlias = csr_matrix  # shape (M, V)
Rows = Sequence[int] | IntArray
Kind = Literal["vectors", "texts", "images", "columns"]
Array = TypeVar("Array", bound=NDArray[Any])


class Inputs(ABC):
    """M inputs of one kind, in order. Every type can be pickled for worker processes."""

    kind: ClassVar[Kind]
    needs_decoding: ClassVar[bool] = False  # whether an input can turn out to be faulty when it is decoded
    _digests: ByteArray | None = None

    @abstractmethod
    def __len__(self) -> int:
        """Number of inputs, M."""

    def name(self, row: int) -> str:
        """Name of an input in messages, such as a path or "text 3"."""
        return f"{self.kind.removesuffix('s')} {row + 1}"

    @abstractmethod
    def content(self, row: int) -> bytes:
        """Bytes that identify an input: UTF-8 text, float32 numbers, or the file of an image."""

    @abstractmethod
    def values(self, rows: Rows) -> list[Any]:
        """Inputs at these rows as a backbone takes them: texts, decoded images, or vectors of shape (F,)."""

    @abstractmethod
    def take(self, rows: Rows) -> Self:
        """Inputs at these rows, in their order."""

    @abstractmethod
    def faults(self, row_name: RowName = row_name) -> list[str]:
        """Sentences about unusable inputs, as far as they are found without decoding."""

    @abstractmethod
    def split_keys(self) -> Sequence[Key]:
        """Content that the split of each input depends on, M keys."""

    @abstractmethod
    def fingerprint_parts(self) -> Iterator[bytes]:
        """Bytes that identify all inputs together, for a hash."""

    def shown(self, row: int) -> dict[str, str]:  # noqa: ARG002  # vectors show nothing
        """Column that identifies an input in a table of answers; empty for vectors."""
        return {}

    @property
    def digests(self) -> ByteArray:
        """SHA-256 of each content, shape (M, 32), computed once."""
        if self._digests is None:
            self.keep_digests([digest(self.content(row)) for row in range(len(self))])
        assert self._digests is not None
        return self._digests

    def keep_digests(self, digests: Sequence[bytes]) -> None:
        """Store the digests of all M contents, for a caller that has computed them."""
        self._digests = np.frombuffer(b"".join(digests), dtype=np.uint8).reshape(len(self), -1)

    def with_digests_of(self, whole: "Inputs", rows: Rows) -> Self:
        """These inputs with the digests of the larger collection that they are the rows of, if it has any."""
        if whole._digests is not None:
            self._digests = whole._digests[np.asarray(rows, dtype=np.int64)]
        return self


def digest(content: bytes) -> bytes:
    """SHA-256 of an input's content, 32 bytes."""
    return hashlib.sha256(content).digest()


class Texts(Inputs, Sequence[str]):
    """Texts in memory.

    Args:
        texts: M texts.

    Example:
        >>> texts = Texts(["a cat", "a dog"])
        >>> texts.take([1])[0], texts.kind
        ('a dog', 'texts')
    """

    kind = "texts"

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = tuple(texts)

    def __len__(self) -> int:
        return len(self._texts)

    @overload
    def __getitem__(self, row: int) -> str: ...
    @overload
    def __getitem__(self, row: slice) -> tuple[str, ...]: ...
    def __getitem__(self, row: int | slice) -> str | tuple[str, ...]:
        return self._texts[row]

    def content(self, row: int) -> bytes:
        """UTF-8 bytes of a text."""
        return self._texts[row].encode("utf-8", "surrogatepass")

    def values(self, rows: Rows) -> list[str]:
        """Texts at these rows."""
        return [self._texts[row] for row in rows]

    def take(self, rows: Rows) -> Self:
        """Texts at these rows."""
        return type(self)(self.values(rows)).with_digests_of(self, rows)

    def faults(self, row_name: RowName = row_name) -> list[str]:
        """Sentences about empty texts and those above the limit of characters."""
        found = ((row, text_fault(text)) for row, text in enumerate(self._texts))
        return [f"{row_name(row)}: {fault}" for row, fault in found if fault]

    def split_keys(self) -> list[str]:
        """Words of each text, without letter case and extra spaces."""
        return [folded(text) for text in self._texts]

    def fingerprint_parts(self) -> Iterator[bytes]:
        """Length and bytes of each text."""
        for row in range(len(self)):
            content = self.content(row)
            yield len(content).to_bytes(8, "little") + content

    def shown(self, row: int) -> dict[str, str]:
        """Column `text`."""
        return {"text": self._texts[row]}


def text_fault(text: str) -> str | None:
    """Sentence about a text that cannot be used, because it is empty or too long; None for any other."""
    if not text.strip():
        return "the text is empty"
    return limit_fault("text characters", len(text), TEXT_CHARACTERS)


class Vectors(Inputs):
    """Vectors of numbers in memory; `numpy.asarray` gives the array.

    Args:
        array: numbers, shape (M, F); not copied if they are float32.

    Attributes:
        array: vectors, shape (M, F), float32, read-only.
    """

    kind = "vectors"

    def __init__(self, array: AnyArray) -> None:
        self.array: Float32Array = read_only(np.asarray(array, dtype=np.float32))

    def __len__(self) -> int:
        return len(self.array)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> AnyArray:
        converted = self.array if dtype is None else self.array.astype(dtype, copy=False)
        return converted.copy() if copy else converted

    def content(self, row: int) -> bytes:
        """Little-endian float32 bytes of a vector."""
        return bytes(self.array[row].astype("<f4").tobytes())

    def values(self, rows: Rows) -> list[Float32Array]:
        """Vectors at these rows, shape (F,) each."""
        return list(self.array[np.asarray(rows, dtype=np.int64)])

    def take(self, rows: Rows) -> Self:
        """Vectors at these rows."""
        return type(self)(self.array[np.asarray(rows, dtype=np.int64)]).with_digests_of(self, rows)

    def faults(self, row_name: RowName = row_name) -> list[str]:  # noqa: ARG002  # an array has names of its own
        """A sentence about a wrong shape or about values that are not finite; see `vector_faults`."""
        return vector_faults([self])

    def split_keys(self) -> list[bytes]:
        """Places and bytes of the numbers of each vector that are not 0, the same for a sparse matrix."""
        return SparseVectors(csr_matrix(self.array)).split_keys()

    def fingerprint_parts(self) -> Iterator[bytes]:
        """Shape and bytes of the array."""
        yield repr(self.array.shape).encode() + self.array.astype("<f4").tobytes()


class SparseVectors(Inputs):
    """Sparse vectors of numbers in memory.

    Args:
        matrix: numbers, shape (M, F); converted to float32.

    Attributes:
        matrix: vectors, shape (M, F), float32, with sorted columns and without stored zeros.
    """

    kind = "vectors"

    def __init__(self, matrix: SparseMatrix) -> None:
        self.matrix = csr_matrix(matrix, dtype=np.float32, copy=True)
        self.matrix.sum_duplicates()
        self.matrix.eliminate_zeros()

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    def content(self, row: int) -> bytes:
        """Little-endian bytes of the places (int32) and the numbers (float32) that are not 0."""
        part = slice(self.matrix.indptr[row], self.matrix.indptr[row + 1])
        numbers, places = self.matrix.data[part], self.matrix.indices[part]
        return bytes(places.astype("<i4").tobytes() + numbers.astype("<f4").tobytes())

    def values(self, rows: Rows) -> list[Float32Array]:
        """Vectors at these rows as dense ones, shape (F,) each."""
        return list(self.matrix[np.asarray(rows, dtype=np.int64)].toarray())

    def take(self, rows: Rows) -> Self:
        """Vectors at these rows."""
        return type(self)(self.matrix[np.asarray(rows, dtype=np.int64)]).with_digests_of(self, rows)

    def faults(self, row_name: RowName = row_name) -> list[str]:  # noqa: ARG002  # a matrix has names of its own
        """A sentence about values that are not finite."""
        wrong = np.flatnonzero(~np.isfinite(self.matrix.data))
        if not len(wrong):
            return []
        row = int(np.searchsorted(self.matrix.indptr, wrong[0], side="right")) - 1
        place = f"row {row + 1}, column {self.matrix.indices[wrong[0]] + 1}"
        return [f"{place}: expected a finite number, got {self.matrix.data[wrong[0]]}"]

    def split_keys(self) -> list[bytes]:
        """Content of each vector."""
        return [self.content(row) for row in range(len(self))]

    def fingerprint_parts(self) -> Iterator[bytes]:
        """Shape and bytes of the parts of the matrix."""
        yield repr(self.matrix.shape).encode()
        for part, kind in ((self.matrix.indptr, "<i8"), (self.matrix.indices, "<i4"), (self.matrix.data, "<f4")):
            yield part.astype(kind).tobytes()


def vector_faults(parts: Iterable[Inputs]) -> list[str]:
    """A sentence about vectors that cannot be used, in a list; an empty one if all can.

    It names the first value that is not finite and, if there are more, how many rows and columns have such values.

    Args:
        parts: consecutive rows of the same table, dense or sparse vectors of shape (B, F) each.
    """
    first, seen, rows = "", 0, 0
    columns: set[int] = set()
    for vectors in parts:
        if isinstance(vectors, SparseVectors):
            if faults := vectors.faults():
                return faults
            continue
        part = np.asarray(vectors)
        if part.ndim != 2 or part.shape[1] == 0:
            return [f"expected vectors of shape (samples, features), got {part.shape}"]
        is_finite = np.isfinite(part)
        found = np.flatnonzero(~is_finite.all(axis=1))
        if len(found) and not first:
            row, column = int(found[0]), int(is_finite[found[0]].argmin())
            place = f"row {seen + row + 1}, column {column + 1} (features[{seen + row}, {column}])"
            first = f"{place}: expected a finite number, got {part[row, column]}"
        columns |= set(np.flatnonzero(~is_finite.all(axis=0)).tolist())
        rows, seen = rows + len(found), seen + len(part)
    if not first:
        return []
    if rows == len(columns) == 1:
        return [first]
    return [f"{first}; such values are in {rows:,} of {seen:,} rows and {len(columns):,} of {part.shape[1]:,} columns"]


def check_inputs(inputs: Inputs, *, source: str, row_name: RowName = row_name) -> None:
    """Raise a DataError with every fault that is found without decoding, or if there are no inputs."""
    faults = inputs.faults(row_name) if len(inputs) else ["expected at least one sample, got none"]
    if faults:
        raise DataError(f"{source}: {fault}" for fault in faults)


def read_only(array: Array) -> Array:
    """A view that cannot be written to; the array itself is not copied."""
    view = array.view()
    view.setflags(write=False)
    return view


class ProgressCallback(Protocol):
    """Progress of a pass over samples, such as a display on the terminal."""

    def start(self, done: int, total: int) -> None:
        """Begin a pass over `total` samples, of which `done` were finished earlier."""

    def rows(self, done: int) -> None:
        """Report that `done` samples are finished."""

    def close(self) -> None:
        """End the pass, whether it finished or failed."""
