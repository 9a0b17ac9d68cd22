"""Ordered collections of images, decoded on demand so that memory does not grow with their number."""

import os
from collections.abc import Iterator, Sequence
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import numpy as np

from hiercos.checks import ARRAY_BYTES, limit_fault
from hiercos.data.images.decoding import ImageError, decoded, pillow, upright_rgb
from hiercos.data.images.pixels import ByteArray
from hiercos.data.inputs import Inputs, Rows
from hiercos.errors import RowName, row_name
from hiercos.storage import check_regular

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["EncodedImages", "ImageError", "ImageFiles", "Images", "PixelImages", "Rows"]


class Images(Inputs):
    """M images in order, each decoded on demand.

    A subclass gives the name and the content of each image, for rows from 0 to M - 1.
    """

    kind = "images"
    needs_decoding: ClassVar[bool] = True

    def open(self, row: int) -> "Image":
        """One image, decoded fully, upright and RGB.

        Raises:
            ImageError: for an image that cannot be decoded.
        """
        return decoded(self.content(row), self.name(row))

    def values(self, rows: Rows) -> "list[Image]":
        """Decoded images at these rows."""
        return [self.open(row) for row in rows]

    def faults(self, row_name: RowName = row_name) -> list[str]:  # noqa: ARG002  # faulty images are found by decoding
        """Empty: `usable_rows` decodes images to find the faulty ones."""
        return []

    def split_keys(self) -> list[bytes]:
        """Digest of each content."""
        return [digest.tobytes() for digest in self.digests]

    def fingerprint_parts(self) -> Iterator[bytes]:
        """Digests of all contents."""
        yield self.digests.tobytes()

    def shown(self, row: int) -> dict[str, str]:
        """Column `image`."""
        return {"image": self.name(row)}


def file_content(path: str) -> bytes:
    """The bytes of an image's file; an `ImageError` if it cannot be read, is too large, or is a pipe or a device."""
    try:
        check_regular(path, ImageError)
        if fault := limit_fault("file bytes", os.stat(path).st_size, ARRAY_BYTES):
            raise ImageError(f"{path}: {fault}")
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise ImageError(f"{path}: the file cannot be read ({error.strerror})") from error


class ImageFiles(Images):
    """Images in files, by their paths; among them may be images that Pillow has opened."""

    def __init__(self, images: "Sequence[str | PathLike[str] | Image]") -> None:
        self._images = [fspath(image) if isinstance(image, PathLike) else image for image in images]

    def __len__(self) -> int:
        return len(self._images)

    def name(self, row: int) -> str:
        """Path of the file, or the number of an opened image, from 1."""
        image = self._images[row]
        return image if isinstance(image, str) else f"image {row + 1}"

    def content(self, row: int) -> bytes:
        """The bytes of the file, or the pixels."""
        image = self._images[row]
        return file_content(image) if isinstance(image, str) else image.tobytes()

    def open(self, row: int) -> "Image":
        """The image, upright and RGB."""
        image = self._images[row]
        return super().open(row) if isinstance(image, str) else upright_rgb(image, self.name(row))

    def take(self, rows: Rows) -> Self:
        """The images at these rows."""
        return type(self)([self._images[row] for row in rows]).with_digests_of(self, rows)


class Contents(Protocol):
    """Contents of images by row: a list, an array, or an object that reads them on demand."""

    def __len__(self) -> int: ...
    def __getitem__(self, row: int, /) -> Any: ...


class EncodedImages(Images):
    """Images as the bytes of their files, in memory or read on demand.

    Args:
        contents: bytes of M files, shared by the parts of the collection.
        names: name of each image in messages, M texts.
        rows: indices of the images in the collection; all by default.
    """

    def __init__(self, contents: Contents, names: Sequence[str], rows: Rows | None = None) -> None:
        if len(names) != len(contents):
            raise ValueError(f"expected a name for each of {len(contents)} images, got {len(names)}")
        self._contents, self._names = contents, names
        self._rows = np.arange(len(contents)) if rows is None else np.asarray(rows, dtype=np.int64)

    def __len__(self) -> int:
        return len(self._rows)

    def name(self, row: int) -> str:
        """Name given to the constructor."""
        return self._names[int(self._rows[row])]

    def content(self, row: int) -> bytes:
        """The bytes of the file."""
        return bytes(self._contents[int(self._rows[row])])

    def take(self, rows: Rows) -> Self:
        """The images at these rows; their contents are not copied."""
        part = type(self)(self._contents, self._names, self._rows[np.asarray(rows, dtype=np.int64)])
        return part.with_digests_of(self, rows)


class PixelImages(EncodedImages):
    """Images whose pixels are in one array: red, green and blue from 0 to 255, shape (M, H, W, 3), uint8.

    The array may be memory-mapped; see `EncodedImages` for the other arguments.
    """

    needs_decoding = False
    _contents: ByteArray

    def __init__(self, pixels: ByteArray, names: Sequence[str], rows: Rows | None = None) -> None:
        if pixels.dtype != np.uint8 or pixels.ndim != 4 or pixels.shape[3] != 3:
            raise ValueError(f"expected pixels of shape (M, H, W, 3) and type uint8, got {pixels.shape} {pixels.dtype}")
        super().__init__(pixels, names, rows)

    def content(self, row: int) -> bytes:
        """The pixels, row by row."""
        return bytes(self._contents[self._rows[row]].tobytes())

    def open(self, row: int) -> "Image":
        """The pixels as an image."""
        image: Image = pillow().fromarray(self._contents[self._rows[row]])
        return image
