"""Inputs from Python objects: texts, paths of images, Pillow images, and arrays."""

from collections.abc import Sequence
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, Self

from hiercos.data.images.collections import Images, file_content
from hiercos.data.images.decoding import pillow, upright_rgb
from hiercos.data.inputs import Inputs, Kind, Rows, Texts, Vectors, check_inputs
from hiercos.errors import DataError

if TYPE_CHECKING:
    from PIL.Image import Image


def as_inputs(inputs: Any, kind: Kind) -> Inputs:
    """Inputs of a kind from Python objects; a single text or image counts as a list of one.

    Raises:
        DataError: for the first input that is of another kind, or faulty.
    """
    if kind == "vectors":
        try:
            vectors = Vectors(inputs)
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


def _is_single(inputs: Any) -> bool:
    return isinstance(inputs, str | PathLike) or not hasattr(inputs, "__iter__")


class PythonImages(Images):
    """Images as Python objects: paths of files, or Pillow images.

    Args:
        images: M paths or Pillow images.
    """

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
