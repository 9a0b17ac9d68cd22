"""Decoding of images: complete, upright, three channels of eight bits; docs/data.md states the rules.

Images that cannot be decoded are found in a pass of their own.
"""

import io
import logging
import os
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from hiercos.checks import PIXELS, check_choice, limited
from hiercos.data.inputs import Inputs, digest
from hiercos.errors import DataError, RowName
from hiercos.taxonomy import AnyArray, IntArray

if TYPE_CHECKING:
    from PIL.Image import Image


# Formats of photographs and drawings. Formats without pixels or that run other programs (EPS) are never opened.
FORMATS = {
    "JPEG": (".jpg", ".jpeg", ".jpe", ".jfif"),
    "PNG": (".png",),
    "GIF": (".gif",),
    "BMP": (".bmp",),
    "TIFF": (".tif", ".tiff"),
    "WEBP": (".webp",),
    "AVIF": (".avif",),
    "JPEG2000": (".jp2",),
    "PPM": (".ppm", ".pgm", ".pbm", ".pnm"),
}
SUFFIXES = tuple(suffix for suffixes in FORMATS.values() for suffix in suffixes)
DEEPEST = 65535  # largest value of 16 bits
DEEP_GREY = "I"  # prefix of Pillow's modes for more than eight bits of grey
WHITE = (255, 255, 255, 255)


class ImageError(DataError):
    """An unusable image; the message names it."""


def decoded(content: bytes, name: str, *, reduced: bool = False) -> "Image":
    """Decode an image completely, upright and in RGB.

    Args:
        content: bytes of a file in one of the `FORMATS`.
        reduced: whether a JPEG may be decoded at an eighth of its size, which finds the same faults in half the time.
    """
    image_module = pillow()
    with _named_faults(name):
        image = image_module.open(io.BytesIO(content), formats=_formats())
        _check_size(image, image_module.MAX_IMAGE_PIXELS)
        if reduced:
            image.draft(None, (1, 1))
        image.load()
        return _upright(_rgb(image), image)


def upright_rgb(image: "Image", name: str) -> "Image":
    """A Pillow image converted as `decoded` does."""
    with _named_faults(name):
        image.load()
        return _upright(_rgb(image), image)


@contextmanager
def _named_faults(name: str) -> Iterator[None]:
    """Silence Pillow's warnings and turn its errors into an `ImageError` that names the image."""
    image_module = pillow()
    with _quiet_pillow:
        try:
            yield
        except image_module.DecompressionBombError as error:
            raise ImageError(f"{name}: expected at most {image_module.MAX_IMAGE_PIXELS:,} pixels ({error})") from error
        except image_module.UnidentifiedImageError as error:
            raise ImageError(f"{name}: not an image; expected one of {', '.join(_formats())}") from error
        except Exception as error:  # a damaged file can make a decoder raise anything
            raise ImageError(f"{name}: the image cannot be decoded ({error})") from error


def pillow() -> Any:
    """The module PIL.Image; a DataError without Pillow."""
    try:
        from PIL import Image
    except ImportError as error:
        raise DataError("reading images needs Pillow: pip install 'hiercos[images]'") from error
    Image.MAX_IMAGE_PIXELS = limited(PIXELS)
    return Image


@cache
def _formats() -> tuple[str, ...]:
    """The `FORMATS` that this Pillow was built with."""
    from PIL import Image

    Image.init()
    return tuple(name for name in FORMATS if name in Image.OPEN)


def _check_size(image: "Image", limit: int | None) -> None:
    """Refuse an image above the pixel limit, about which Pillow only warns."""
    if limit is not None and image.width * image.height > limit:
        raise ValueError(f"expected at most {limit:,} pixels, got {image.width:,} x {image.height:,}")


def _rgb(image: "Image") -> "Image":
    """Convert to three channels of eight bits: deep grey is scaled, transparency is laid over white."""
    from PIL import Image

    if image.mode.startswith(DEEP_GREY):
        return _grey(np.asarray(image), DEEPEST)
    if image.mode == "F":
        return _grey(np.asarray(image), 1)
    if image.has_transparency_data:
        clear = image.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", clear.size, WHITE), clear).convert("RGB")
    return image.convert("RGB")


def _grey(values: AnyArray, largest: int) -> "Image":
    """Values from 0 to `largest` as grey from 0 to 255, rounded to the nearest."""
    from PIL import Image

    if not ((values >= 0) & (values <= largest)).all():
        raise ValueError(f"expected grey from 0 to {largest}, got {values.min()} to {values.max()}")
    return Image.fromarray(np.rint(values * (255.0 / largest)).astype(np.uint8)).convert("RGB")


def _upright(pixels: "Image", image: "Image") -> "Image":
    """Rotate and flip the pixels by the EXIF orientation of the image."""
    from PIL.ExifTags import Base
    from PIL.Image import Transpose

    turns = {
        2: Transpose.FLIP_LEFT_RIGHT,
        3: Transpose.ROTATE_180,
        4: Transpose.FLIP_TOP_BOTTOM,
        5: Transpose.TRANSPOSE,
        6: Transpose.ROTATE_270,
        7: Transpose.TRANSVERSE,
        8: Transpose.ROTATE_90,
    }
    turn = turns.get(image.getexif().get(Base.Orientation, 1))
    return pixels if turn is None else pixels.transpose(turn)


class _QuietPillow:
    """Context manager that silences Pillow's warnings while any thread decodes.

    `warnings.catch_warnings` alone, entered and left by several threads in turn, would leave the filters changed.
    Pillow's log gets a handler that does nothing, or Python would print it where the user has set up no logging.
    """

    def __init__(self) -> None:
        logging.getLogger("PIL").addHandler(logging.NullHandler())
        self._lock = threading.Lock()
        self._inside = 0
        self._caught = warnings.catch_warnings()

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._caught = warnings.catch_warnings()
                self._caught.__enter__()
                warnings.filterwarnings("ignore", module=r"PIL\.")
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._caught.__exit__(None, None, None)


_quiet_pillow = _QuietPillow()


ON_ERROR = ("fail", "skip")
AT_ONCE = 1024  # images checked at a time, so that memory does not grow with their number
NO_DIGEST = bytes(32)  # stands for a file that cannot be read

CheckCallback = Callable[[int, int], None]


def check_on_error(on_error: str) -> None:
    """Raise a DataError for another value than "fail" or "skip"."""
    try:
        check_choice("on_error", on_error, ON_ERROR)
    except ValueError as error:
        raise DataError(str(error)) from error


def usable_rows(
    images: Inputs,
    *,
    source: str,
    on_error: str = "fail",
    row_name: RowName | None = None,
    callback: CheckCallback | None = None,
    workers: int | None = None,
) -> tuple[IntArray, tuple[str, ...]]:
    """Rows of the images that can be decoded completely.

    Every content is read once: the images keep its digest for the split and the fingerprint.

    Args:
        images: M images; inputs that need no decoding are all usable.
        on_error: "fail" to raise for faulty images, "skip" to leave them out.
        workers: number of decoding threads; one per processor by default.

    Returns:
        Row indices, and notes about the images that were left out, each by name and fault.
    """
    check_on_error(on_error)
    if not images.needs_decoding:
        return np.arange(len(images)), ()
    pillow()  # a missing Pillow must not count as a fault of every image
    examined: list[tuple[bytes, str | None]] = []
    for part in _examined(images, workers or os.cpu_count() or 1):
        examined += part
        if callback:
            callback(len(examined), len(images))
    images.keep_digests([found for found, _ in examined])
    faults = {
        row: f"{source}: {row_name(row)}: {fault}" if row_name else fault
        for row, (_, fault) in enumerate(examined)
        if fault
    }
    if faults and (on_error == "fail" or len(faults) == len(images)):
        raise DataError(faults.values())
    if not faults:
        return np.arange(len(images)), ()
    head = f"{source}: {len(faults):,} of {len(images):,} images cannot be decoded; left out:"
    rows = np.array([row for row in range(len(images)) if row not in faults])
    return rows, (head, *(f"    {fault}" for fault in faults.values()))


def _examined(images: Inputs, workers: int) -> Iterator[list[tuple[bytes, str | None]]]:
    """Digest and fault (or None) of each image, in batches; decoders run in threads."""
    with ThreadPoolExecutor(workers) as pool:
        for start in range(0, len(images), AT_ONCE):
            rows = range(start, min(start + AT_ONCE, len(images)))
            yield list(pool.map(lambda row: _examination(images, row), rows))


def _examination(images: Inputs, row: int) -> tuple[bytes, str | None]:
    found = NO_DIGEST
    try:
        content = images.content(row)
        found = digest(content)
        decoded(content, images.name(row), reduced=True)
    except ImageError as error:
        return found, str(error)
    return found, None
