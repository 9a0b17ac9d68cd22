"""The binary version of CIFAR-100: records of two labels and the planes of an image, one after another."""

from typing import NamedTuple

import numpy as np

from hiercos.data.inputs import ByteArray
from hiercos.errors import DataError
from hiercos.taxonomy import IntArray

SIDE = 32
PIXELS = 3 * SIDE * SIDE  # bytes of an image: red, green and blue planes, each row by row
RECORD = 2 + PIXELS  # a coarse and a fine label before it


class Records(NamedTuple):
    """The images of one file, as they stand in it.

    Attributes:
        fine: the class of each, shape (M,).
        coarse: the superclass of each, shape (M,).
        planes: the pixels, shape (M, 3072).
    """

    fine: IntArray
    coarse: IntArray
    planes: ByteArray


def binary_records(content: bytes, *, source: str) -> Records:
    """The images of a file `train.bin` or `test.bin`.

    Args:
        content: the bytes of the file.
        source: what messages call it.

    Raises:
        DataError: for a file that ends within a record.
    """
    count, rest = divmod(len(content), RECORD)
    if rest:
        raise DataError(
            f"{source}: expected records of {RECORD:,} bytes, got {len(content):,} bytes: after {count:,} whole images "
            f"{rest:,} bytes remain, so the file is cut short or of another kind"
        )
    table = np.frombuffer(content, np.uint8).reshape(count, RECORD)
    return Records(table[:, 1].astype(np.int64), table[:, 0].astype(np.int64), table[:, 2:])


def upright(planes: ByteArray) -> ByteArray:
    """Planes (M, 3072) as images (M, 32, 32, 3)."""
    return planes.reshape(-1, 3, SIDE, SIDE).transpose(0, 2, 3, 1)
