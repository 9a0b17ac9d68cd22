"""Small image files for tests, sound and faulty."""

import io
from pathlib import Path

import numpy as np
from PIL import Image

from hiercos import Taxonomy

TREE = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])


def encoded(image: Image.Image, format: str = "PNG", **options: object) -> bytes:
    """The bytes of a file."""
    stream = io.BytesIO()
    image.save(stream, format, **options)
    return stream.getvalue()


def picture(number: int) -> bytes:
    """A small PNG of noise, another one for each number."""
    noise = np.random.default_rng(number).integers(0, 256, (4, 5, 3), dtype=np.uint8)
    return encoded(Image.fromarray(noise))


def write(path: Path, content: bytes) -> Path:
    """A file with this content, and the folders it is in."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def photos(folder: Path, *, top: tuple[str, ...] = ("",), each: int = 2) -> Path:
    """A folder of images in three classes of two levels, below each of the folders at the top."""
    number = 0
    for place in top:
        for name in ("pet/cat", "pet/dog", "vehicle/car"):
            for image in range(each):
                write(folder / place / name / f"{image}.png", picture(number))
                number += 1
    return folder
