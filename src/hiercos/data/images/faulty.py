"""Check for images that cannot be decoded, with a cache of those that can."""

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
RULES = 1  # version of the decoding rules; raise it when other images become decodable
DIGEST = 32  # bytes of a digest


def decodable_file() -> Path:
    """Cache file of this version of Pillow: in the folder HIERCOS_CACHE, else in `~/.cache/hiercos`."""
    from PIL import __version__

    named = os.environ.get(CACHE_VARIABLE)
    folder = Path(named) if named else Path.home() / ".cache" / "hiercos"
    return folder / f"decodable-{RULES}-pillow-{__version__}"


def read_decodable(file: Path) -> set[bytes]:
    """Digests of decodable images in the cache file; empty if it is missing or damaged."""
    content = file.read_bytes() if file.is_file() else b""
    if len(content) % DIGEST:
        return set()
    return {content[start : start + DIGEST] for start in range(0, len(content), DIGEST)}


def add_decodable(file: Path, digests: Iterable[bytes]) -> None:
    """Add digests to the cache file, if it can be written."""
    with suppress(OSError):  # without the cache, only time is lost
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, b"".join(sorted({*read_decodable(file), *digests})))


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
    """Rows of the images that can be decoded completely; images in the cache are not decoded again.

    Every content is read once: the images keep its digest for the split and the fingerprint.

    Args:
        images: M images; inputs that need no decoding are all usable.
        source: name of the collection in messages.
        on_error: "fail" to raise for faulty images, "skip" to leave them out.
        row_name: function from a row index to its name in messages, for images that a table lists.
        callback: progress callback, called with the number of images checked and the total.
        workers: number of decoding threads; one per processor by default.

    Returns:
        Row indices, and notes about the images that were left out, each by name and fault.

    Raises:
        DataError: with every fault, or if no image is left.
    """
    check_on_error(on_error)
    if not images.needs_decoding:
        return np.arange(len(images)), ()
    pillow()  # a missing Pillow must not count as a fault of every image
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
    """Digest and fault (or None) of each image, in batches; decoders run in threads."""
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
    """A data set without the images that cannot be decoded, with a note; other kinds of data are unchanged.

    Args:
        dataset: data set of any kind.
        on_error: "fail" to raise for faulty images, "skip" to leave them out.
        callback: progress callback, called with the number of images checked and the total.

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
