"""Images that cannot be decoded: found before any work is done with the others, every one by name."""

import os
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from hiercos.data.decodable import add_decodable, decodable_file, read_decodable
from hiercos.data.decoding import decoded, pillow
from hiercos.data.errors import DataError
from hiercos.data.images import ImageError, Images, PixelImages, digest
from hiercos.data.rows import RowName
from hiercos.errors import check_choice
from hiercos.taxonomy.tree import IntArray

ON_ERROR = ("fail", "skip")
AT_ONCE = 1024  # images handed to the threads together, so that memory does not grow with their number
NO_DIGEST = bytes(32)  # of a file that cannot be read

Watch = Callable[[int, int], None]


def check_on_error(on_error: str) -> None:
    """Raise a DataError unless this says what to do with faulty images."""
    try:
        check_choice("on_error", on_error, ON_ERROR)
    except ValueError as error:
        raise DataError(str(error)) from error


def usable_rows(
    images: Images,
    *,
    source: str,
    on_error: str = "fail",
    row_name: RowName | None = None,
    watch: Watch | None = None,
    workers: int | None = None,
) -> tuple[IntArray, tuple[str, ...]]:
    """The images that can be decoded to their last pixel, found by decoding all but those that once were.

    Every content is read once: its digest is kept by the images for the split and the fingerprint.

    Args:
        images: M images; pixels in an array have nothing to decode and are all usable.
        source: what messages call them together.
        on_error: "fail" to raise for faulty images, "skip" to leave them out.
        row_name: what messages call the row of an image beside its name, for images that a table lists.
        watch: called now and then with how many of the images are examined, and how many there are.
        workers: how many threads decode; one for each processor by default.

    Returns:
        Their rows, and what to tell the user: nothing, or how many were left out, then each by name and fault.

    Raises:
        DataError: with every fault, or if no image is left.
    """
    check_on_error(on_error)
    if isinstance(images, PixelImages):
        return np.arange(len(images)), ()
    pillow()  # without it nothing can be decoded, which is no fault of the images
    file = decodable_file()
    before = read_decodable(file)
    examined: list[tuple[bytes, str | None]] = []
    for part in _examined(images, before, workers or os.cpu_count() or 1):
        examined += part
        if watch:
            watch(len(examined), len(images))
    images.keep_digests([found for found, _ in examined])
    if new := {found for found, fault in examined if fault is None} - before:
        add_decodable(file, new)
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


def _examined(images: Images, before: AbstractSet[bytes], workers: int) -> Iterator[list[tuple[bytes, str | None]]]:
    """The digest of each image and what is wrong with it, if anything, in parts; decoders run in threads."""
    with ThreadPoolExecutor(workers) as pool:
        for start in range(0, len(images), AT_ONCE):
            rows = range(start, min(start + AT_ONCE, len(images)))
            yield list(pool.map(lambda row: _examination(images, row, before), rows))


def _examination(images: Images, row: int, before: AbstractSet[bytes]) -> tuple[bytes, str | None]:
    found = NO_DIGEST
    try:
        content = images.content(row)
        found = digest(content)
        if found not in before:
            decoded(content, images.name(row))
    except ImageError as error:
        return found, str(error)
    return found, None
