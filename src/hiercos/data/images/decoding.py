"""One image from its bytes: whole, upright, three channels of eight bits. docs/data/images.md states the rules."""

import io
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from hiercos.errors import DataError
from hiercos.taxonomy import AnyArray

if TYPE_CHECKING:
    from PIL.Image import Image

# What photographs and drawings come in. Formats that hold no raster or run other programs (EPS) are never opened.
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
DEEPEST = 65535  # the largest value of 16 bits
DEEP_GREY = "I"  # Pillow's modes for more than eight bits of grey begin so
WHITE = (255, 255, 255, 255)


class ImageError(DataError):
    """An image that cannot be used, in one sentence that names it."""


def decoded(content: bytes, name: str) -> "Image":
    """The image in these bytes, decoded to its last pixel, upright and RGB.

    Args:
        content: a file of one of the `FORMATS`.
        name: what messages call it.

    Raises:
        ImageError: for anything else, a file that ends early, or more pixels than Pillow's limit.
        DataError: without Pillow.
    """
    image_module = pillow()
    with _named_faults(name):
        image = image_module.open(io.BytesIO(content), formats=_formats())
        _check_size(image, image_module.MAX_IMAGE_PIXELS)
        image.load()
        return _upright(_rgb(image), image)


def upright_rgb(image: "Image", name: str) -> "Image":
    """An image that somebody opened, as `decoded` would give it.

    Raises:
        ImageError: for one whose file ends early, or whose grey is beyond what is expected.
    """
    with _named_faults(name):
        image.load()
        return _upright(_rgb(image), image)


@contextmanager
def _named_faults(name: str) -> Iterator[None]:
    """Let Pillow decode an image of this name, quietly; an `ImageError` says what is wrong with it."""
    image_module = pillow()
    with _pillow_is_quiet:
        try:
            yield
        except image_module.DecompressionBombError as error:
            raise ImageError(f"{name}: expected at most {image_module.MAX_IMAGE_PIXELS:,} pixels ({error})") from error
        except image_module.UnidentifiedImageError as error:
            raise ImageError(f"{name}: not an image; expected one of {', '.join(_formats())}") from error
        except MemoryError:
            raise
        except Exception as error:  # a damaged file can make a decoder raise anything
            raise ImageError(f"{name}: the image cannot be decoded ({error})") from error


def pillow() -> Any:
    """The module PIL.Image; a DataError without Pillow, which is no fault of the image."""
    try:
        from PIL import Image
    except ImportError as error:
        raise DataError("reading images needs Pillow: pip install 'hiercos[images]'") from error
    return Image


@cache
def _formats() -> tuple[str, ...]:
    """The `FORMATS` that this Pillow was built with."""
    from PIL import Image

    Image.init()
    return tuple(name for name in FORMATS if name in Image.OPEN)


def _check_size(image: "Image", limit: int | None) -> None:
    """Refuse before decoding what Pillow itself only warns of."""
    if limit is not None and image.width * image.height > limit:
        raise ValueError(f"expected at most {limit:,} pixels, got {image.width:,} x {image.height:,}")


def _rgb(image: "Image") -> "Image":
    """Three channels of eight bits: deep grey scaled, transparency laid over white, the rest as Pillow converts it."""
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
    """The pixels turned and flipped as the EXIF data of the image say."""
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


class _PillowIsQuiet:
    """Silences Pillow's warnings while any thread decodes: what they are about is decided here.

    `warnings.catch_warnings` alone, entered and left by several threads in turn, would leave the filters changed.
    """

    def __init__(self) -> None:
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


_pillow_is_quiet = _PillowIsQuiet()
