"""Ordered collections of images that are decoded on demand, so that they never fill the memory."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from hiercos.data.images.decoding import ImageError, decoded, pillow
from hiercos.taxonomy import IntArray

if TYPE_CHECKING:
    from PIL.Image import Image

ByteArray = NDArray[np.uint8]
Rows = Sequence[int] | IntArray

__all__ = ["EncodedImages", "ImageError", "ImageFiles", "Images", "PixelImages", "Rows"]


class Images(ABC):
    """M images in order. All kinds can be pickled, so that other processes can decode them.

    A kind says what its images are called and what they are made of, for rows from 0 to M - 1.
    """

    _digests: ByteArray | None = None

    @abstractmethod
    def __len__(self) -> int:
        """M, how many there are."""

    @abstractmethod
    def name(self, row: int) -> str:
        """What messages call it: a path, or "train.bin, image 12"."""

    @abstractmethod
    def content(self, row: int) -> bytes:
        """The bytes of the file, or the raw pixels; a faulty file that cannot even be read is an `ImageError`."""

    @abstractmethod
    def take(self, rows: Rows) -> "Images":
        """The images at these rows, in their order."""

    def open(self, row: int) -> "Image":
        """The image, decoded fully, upright and RGB.

        Raises:
            ImageError: in one sentence that names it.
        """
        return decoded(self.content(row), self.name(row))

    @property
    def digests(self) -> ByteArray:
        """The SHA-256 of each content, shape (M, 32): read one at a time, once, and kept."""
        if self._digests is None:
            self.keep_digests([digest(self.content(row)) for row in range(len(self))])
        assert self._digests is not None
        return self._digests

    def keep_digests(self, digests: Sequence[bytes]) -> None:
        """Remember the digests of all M contents, by whoever has read them."""
        self._digests = np.frombuffer(b"".join(digests), dtype=np.uint8).reshape(len(self), -1)

    def _taken(self, part: "Images", rows: Rows) -> "Images":
        """Hand known digests on to a part of this collection."""
        if self._digests is not None:
            part._digests = self._digests[np.asarray(rows, dtype=np.int64)]
        return part


def digest(content: bytes) -> bytes:
    """The SHA-256 of an image's content, 32 bytes."""
    return hashlib.sha256(content).digest()


def file_content(path: str) -> bytes:
    """The bytes of an image's file; an `ImageError` if it cannot be read."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise ImageError(f"{path}: the file cannot be read ({error.strerror})") from error


class ImageFiles(Images):
    """Images in files.

    Args:
        paths: of the files, M of them.
    """

    def __init__(self, paths: Sequence[str | PathLike[str]]) -> None:
        self.paths = tuple(fspath(path) for path in paths)

    def __len__(self) -> int:
        return len(self.paths)

    def name(self, row: int) -> str:
        """The path of the file."""
        return self.paths[row]

    def content(self, row: int) -> bytes:
        """The bytes of the file."""
        return file_content(self.paths[row])

    def take(self, rows: Rows) -> Images:
        """The files at these rows."""
        return self._taken(ImageFiles([self.paths[row] for row in rows]), rows)


class PixelImages(Images):
    """Images whose pixels are in one array, which parts of the collection share.

    Args:
        pixels: red, green and blue from 0 to 255, shape (M, H, W, 3), uint8; it may be mapped from a file.
        names: what messages call them, M texts.
        rows: which of these images the collection holds; all by default.
    """

    def __init__(self, pixels: ByteArray, names: Sequence[str], rows: Rows | None = None) -> None:
        if pixels.dtype != np.uint8 or pixels.ndim != 4 or pixels.shape[3] != 3:
            raise ValueError(f"expected pixels of shape (M, H, W, 3) and type uint8, got {pixels.shape} {pixels.dtype}")
        if len(names) != len(pixels):
            raise ValueError(f"expected a name for each of {len(pixels)} images, got {len(names)}")
        self._pixels = pixels
        self._names = names
        self._rows = np.arange(len(pixels)) if rows is None else np.asarray(rows, dtype=np.int64)

    def __len__(self) -> int:
        return len(self._rows)

    def name(self, row: int) -> str:
        """As named when made."""
        return self._names[int(self._rows[row])]

    def content(self, row: int) -> bytes:
        """The pixels, row by row."""
        return bytes(self._pixels[self._rows[row]].tobytes())

    def open(self, row: int) -> "Image":
        """The pixels as an image, with nothing to decode."""
        image: Image = pillow().fromarray(self._pixels[self._rows[row]])
        return image

    def take(self, rows: Rows) -> Images:
        """The images at these rows; the array is not copied."""
        part = PixelImages(self._pixels, self._names, self._rows[np.asarray(rows, dtype=np.int64)])
        return self._taken(part, rows)


class Contents(Protocol):
    """The bytes of files by row: a list, or whatever reads them on demand."""

    def __len__(self) -> int: ...
    def __getitem__(self, row: int, /) -> bytes: ...


class EncodedImages(Images):
    """Images as the bytes of their files, in memory or read on demand.

    Args:
        contents: the bytes of each file, M of them.
        names: what messages call them, M texts.
        rows: which of these images the collection holds; all by default.
    """

    def __init__(self, contents: Contents, names: Sequence[str], rows: Rows | None = None) -> None:
        if len(names) != len(contents):
            raise ValueError(f"expected a name for each of {len(contents)} images, got {len(names)}")
        self._contents = contents
        self._names = names
        self._rows = np.arange(len(contents)) if rows is None else np.asarray(rows, dtype=np.int64)

    def __len__(self) -> int:
        return len(self._rows)

    def name(self, row: int) -> str:
        """As named when made."""
        return self._names[int(self._rows[row])]

    def content(self, row: int) -> bytes:
        """The bytes of the file."""
        return self._contents[int(self._rows[row])]

    def take(self, rows: Rows) -> Images:
        """The images at these rows; their bytes are not copied."""
        part = EncodedImages(self._contents, self._names, self._rows[np.asarray(rows, dtype=np.int64)])
        return self._taken(part, rows)
