"""Inputs from Python objects: texts, paths of images, Pillow images, and arrays."""

from collections.abc import Iterator, Sequence
from itertools import islice
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, Self

from scipy.sparse import issparse

from hiercos.data.images.collections import Images, file_content
from hiercos.data.images.decoding import pillow, upright_rgb
from hiercos.data.inputs import Inputs, Kind, Rows, SparseVectors, Texts, Vectors, check_inputs
from hiercos.data.rows import PATH_COLUMN, TEXT_COLUMN, InputBatch, Source
from hiercos.errors import DataError

if TYPE_CHECKING:
    from PIL.Image import Image


def python_rows(inputs: Any, kind: Kind) -> Source:
    """Python objects as inputs of a kind, in batches; an iterator is read batch by batch, and only once.

    See `as_inputs`, which it calls unless the inputs are `Inputs` already, or none: then there are no batches.
    """
    if isinstance(inputs, Iterator):
        return Source("inputs", kind, lambda size: _read(inputs, kind, size))
    if not _is_single(inputs) and not (inputs.shape[0] if hasattr(inputs, "shape") else len(inputs)):
        return Source("inputs", kind, lambda _: iter(()), 0)
    return Source.of(inputs if isinstance(inputs, Inputs) else as_inputs(inputs, kind))


def _read(items: Iterator[Any], kind: Kind, size: int) -> Iterator[InputBatch]:
    first = 1
    while batch := list(islice(items, size)):
        yield InputBatch(range(first, first + len(batch)), as_inputs(batch, kind))
        first += len(batch)


def as_inputs(inputs: Any, kind: Kind) -> Inputs:
    """Inputs of a kind from Python objects; a single text or image counts as a list of one.

    Of a DataFrame, the column `text` or `path` is taken, or for vectors all columns.
    """
    if getattr(inputs, "columns", None) is not None:
        inputs = inputs.to_numpy() if kind == "vectors" else _column(inputs, kind)
    if kind == "vectors":
        try:
            vectors = SparseVectors(inputs) if issparse(inputs) else Vectors(inputs)
        except (TypeError, ValueError) as error:
            raise DataError(f"inputs: expected vectors, shape (samples, features) ({error})") from error
        check_inputs(vectors, source="inputs")
        return vectors
    items = [inputs] if _is_single(inputs) else list(inputs)
    expected = (str,) if kind == "texts" else (str, PathLike, pillow().Image)
    for row, item in enumerate(items, 1):
        if not isinstance(item, expected):
            wanted = "a text" if kind == "texts" else "a path or a Pillow image"
            raise DataError(f"inputs: row {row}: expected {wanted}, got {type(item).__name__}")
    found: Inputs = Texts(items) if kind == "texts" else PythonImages(items)
    check_inputs(found, source="inputs")
    return found


def _column(table: Any, kind: Kind) -> Any:
    """Column of texts or of paths in a DataFrame."""
    name = TEXT_COLUMN if kind == "texts" else PATH_COLUMN
    if name not in list(table.columns):
        raise DataError(f"inputs: expected a column {name!r}, got {', '.join(map(str, table.columns))}")
    return table[name]


def _is_single(inputs: Any) -> bool:
    return isinstance(inputs, str | PathLike) or not hasattr(inputs, "__iter__")


class PythonImages(Images):
    """Images as Python objects: paths of files, or Pillow images."""

    def __init__(self, images: "Sequence[str | PathLike[str] | Image]") -> None:
        self._images = tuple(images)

    def __len__(self) -> int:
        return len(self._images)

    def name(self, row: int) -> str:
        """Path of the file, or the number of a Pillow image, from 1."""
        image = self._images[row]
        return fspath(image) if isinstance(image, str | PathLike) else f"image {row + 1}"

    def content(self, row: int) -> bytes:
        """The bytes of the file, or the pixels."""
        image = self._images[row]
        return file_content(fspath(image)) if isinstance(image, str | PathLike) else image.tobytes()

    def open(self, row: int) -> "Image":
        """The image, upright and RGB."""
        image = self._images[row]
        return super().open(row) if isinstance(image, str | PathLike) else upright_rgb(image, self.name(row))

    def take(self, rows: Rows) -> Self:
        """The images at these rows."""
        return type(self)([self._images[row] for row in rows]).with_digests_of(self, rows)
