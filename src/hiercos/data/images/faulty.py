"""Images that cannot be decoded: found before any work is done with the others, every one by name."""

import os
from collections.abc import Callable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np

from hiercos.data.dataset import Dataset
from hiercos.data.images.decoding import ImageError, decoded, pillow
from hiercos.data.inputs import Inputs, digest
from hiercos.errors import DataError, RowName
from hiercos.files import write_atomically
from hiercos.options import check_choice
from hiercos.taxonomy import IntArray

CACHE_VARIABLE = "HIERCOS_CACHE"
RULES = 1  # of decoding; another number when what counts as decodable changes
DIGEST = 32  # bytes


def decodable_file() -> Path:
    """The file for this version of Pillow: in the folder HIERCOS_CACHE, else in `~/.cache/hiercos`."""
    from PIL import __version__

    named = os.environ.get(CACHE_VARIABLE)
    folder = Path(named) if named else Path.home() / ".cache" / "hiercos"
    return folder / f"decodable-{RULES}-pillow-{__version__}"


def read_decodable(file: Path) -> set[bytes]:
    """The digests in the file; none where there is no such file, or one that something else has written."""
    content = file.read_bytes() if file.is_file() else b""
    if len(content) % DIGEST:
        return set()
    return {content[start : start + DIGEST] for start in range(0, len(content), DIGEST)}


def add_decodable(file: Path, digests: Iterable[bytes]) -> None:
    """Add digests to the file, if it can be written."""
    with suppress(OSError):  # a home that is read-only or full costs time, not the result
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, b"".join(sorted({*read_decodable(file), *digests})))


ON_ERROR = ("fail", "skip")
AT_ONCE = 1024  # images handed to the threads together, so that memory does not grow with their number
NO_DIGEST = bytes(32)  # of a file that cannot be read

CheckCallback = Callable[[int, int], None]


def check_on_error(on_error: str) -> None:
    """Raise a DataError unless this says what to do with faulty images."""
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
    """The images that can be decoded to their last pixel, found by decoding all but those that once were.

    Every content is read once: its digest is kept by the images for the split and the fingerprint.

    Args:
        images: M images; inputs that need no decoding are all usable.
        source: what messages call them together.
        on_error: "fail" to raise for faulty images, "skip" to leave them out.
        row_name: what messages call the row of an image beside its name, for images that a table lists.
        callback: called now and then with how many of the images are examined, and how many there are.
        workers: how many threads decode; one for each processor by default.

    Returns:
        Their rows, and what to tell the user: nothing, or how many were left out, then each by name and fault.

    Raises:
        DataError: with every fault, or if no image is left.
    """
    check_on_error(on_error)
    if not images.needs_decoding:
        return np.arange(len(images)), ()
    pillow()  # without it nothing can be decoded, which is no fault of the images
    file = decodable_file()
    before = read_decodable(file)
    examined: list[tuple[bytes, str | None]] = []
    for part in _examined(images, before, workers or os.cpu_count() or 1):
        examined += part
        if callback:
            callback(len(examined), len(images))
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


def _examined(images: Inputs, before: AbstractSet[bytes], workers: int) -> Iterator[list[tuple[bytes, str | None]]]:
    """The digest of each image and what is wrong with it, if anything, in parts; decoders run in threads."""
    with ThreadPoolExecutor(workers) as pool:
        for start in range(0, len(images), AT_ONCE):
            rows = range(start, min(start + AT_ONCE, len(images)))
            yield list(pool.map(lambda row: _examination(images, row, before), rows))


def _examination(images: Inputs, row: int, before: AbstractSet[bytes]) -> tuple[bytes, str | None]:
    found = NO_DIGEST
    try:
        content = images.content(row)
        found = digest(content)
        if found not in before:
            decoded(content, images.name(row))
    except ImageError as error:
        return found, str(error)
    return found, None


def dataset_of_usable_images(dataset: Dataset, on_error: str, callback: CheckCallback | None = None) -> Dataset:
    """The part of a data set whose images can be decoded, with a note; other kinds of data stay as they are.

    Args:
        dataset: samples of any kind.
        on_error: "fail" to raise for faulty images, "skip" to leave them out.
        callback: as in `usable_rows`.

    Raises:
        DataError: with every faulty image.
    """
    rows, notes = usable_rows(dataset.inputs, source=dataset.source, on_error=on_error, callback=callback)
    if len(rows) == len(dataset):
        return dataset
    return replace(
        dataset,
        inputs=dataset.inputs.take(rows),
        labels=dataset.labels[rows],
        split=dataset.split[rows],
        notes=(*dataset.notes, *notes),
    )
