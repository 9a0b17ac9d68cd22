"""CIFAR-100: 60,000 images of 32 x 32 pixels in 100 classes, from the official files of the binary version."""

import tarfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from hiercos.data import BuiltIn, ByteArray, Dataset, Download, PixelImages, TextArray
from hiercos.errors import DataError
from hiercos.paper.download import fetch, has_checksum
from hiercos.taxonomy import IntArray, Taxonomy, load_taxonomy

SIDE = 32
PIXELS = 3 * SIDE * SIDE  # bytes of an image: red, green and blue planes, each row by row
RECORD = 2 + PIXELS  # bytes of a record: a coarse and a fine label, then the image
VAL_PART = 10  # one training image in 10 is for validation: with 500 per class, the last 50
FOLDER = "cifar-100-binary"
FILES = {"train": "train.bin", "test": "test.bin"}
ARCHIVE_CHECKSUM = "md5:03b5dce01913d631647c71ecec9e9cb8"
CHECKSUMS = {
    "train": "sha1:e207cd2e05b73b1393c74c7f5e7bea451d63e08e",
    "test": "sha1:8fb6623e830365ff53cf14adec797474f5478006",
}
DOWNLOADS = (
    Download(
        url=f"https://www.cs.toronto.edu/~kriz/{FOLDER}.tar.gz",
        size=168_513_733,
        checksum=ARCHIVE_CHECKSUM,
        folder="",
        members=(FOLDER,),
    ),
)
LAYOUT = (
    f"{FOLDER}/train.bin and test.bin, or the archive of the binary version as published, {FOLDER}.tar.gz "
    "(https://www.cs.toronto.edu/~kriz/cifar.html)"
)


class Records(NamedTuple):
    """Images and labels of one file."""

    fine: IntArray  # class of each image, shape (M,)
    coarse: IntArray  # superclass of each image, shape (M,)
    planes: ByteArray  # pixels of each image in three planes, shape (M, 3072)


def read_records(content: bytes, *, source: str) -> Records:
    """Images of a file `train.bin` or `test.bin`."""
    count, rest = divmod(len(content), RECORD)
    if rest:
        raise DataError(
            f"{source}: expected records of {RECORD:,} bytes, got {len(content):,} bytes: after {count:,} whole images "
            f"{rest:,} bytes remain, so the file is truncated or of another kind"
        )
    table = np.frombuffer(content, np.uint8).reshape(count, RECORD)
    return Records(table[:, 1].astype(np.int64), table[:, 0].astype(np.int64), table[:, 2:])


def cifar100(root: Path) -> Dataset:
    """CIFAR-100 with the paper's tree and split: 45,000 train, 5,000 val and 10,000 test images.

    The validation images are the last tenth of each class's training images, in the order of the file. Files that are
    not the official ones are read with a note.
    """
    place = _found(root)
    if place is None:
        raise DataError(f"cifar100 is not in {root}: expected {LAYOUT}")
    contents = _archived(place) if place.is_file() else _extracted(place)
    taxonomy = load_taxonomy("cifar100")
    records = {part: read_records(content, source=_source(place, part)) for part, content in contents.items()}
    for part, read in records.items():
        _check_labels(read, taxonomy, source=_source(place, part))
    official = _is_official(place, contents)
    train, test = records["train"], records["test"]
    return Dataset(
        name="cifar100",
        taxonomy=taxonomy,
        inputs=_images(train, test),
        nodes=taxonomy.leaves[np.concatenate([train.fine, test.fine])],
        split=np.concatenate([_train_or_val(train.fine), np.full(len(test.fine), "test")]),
        notes=() if official else (_note(place, train, test),),
        source=str(place),
    )


def _found(root: Path) -> Path | None:
    """The first location with the files: the folder, the archive, or the root itself."""
    for place in (root / FOLDER, root / f"{FOLDER}.tar.gz", root):
        if place.is_file() or all((place / name).is_file() for name in FILES.values()):
            return place
    return None


def _source(place: Path, part: str) -> str:
    """Name of one of the two files in messages."""
    return f"{place}: {FILES[part]}" if place.is_file() else str(place / FILES[part])


def _extracted(folder: Path) -> dict[str, bytes]:
    return {part: (folder / name).read_bytes() for part, name in FILES.items()}


def _archived(archive: Path) -> dict[str, bytes]:
    """Contents of the two files, from one pass over the archive."""
    wanted = {f"{FOLDER}/{name}": part for part, name in FILES.items()}
    contents = {}
    try:
        with tarfile.open(archive, "r:gz") as tar:
            for member in tar:
                if member.isfile() and member.name in wanted:
                    file = tar.extractfile(member)
                    assert file is not None  # None only for members that are not files
                    contents[wanted[member.name]] = file.read()
    except (tarfile.TarError, EOFError, OSError, zlib.error) as error:
        raise DataError(f"{archive}: expected a complete .tar.gz archive, but {error}") from error
    if missing := [name for name, part in wanted.items() if part not in contents]:
        raise DataError(f"{archive}: expected a file {name} in the archive" for name in missing)
    return contents


def _check_labels(records: Records, taxonomy: Taxonomy, *, source: str) -> None:
    """Raise a DataError for every record whose class or superclass is not one of CIFAR-100."""
    names = [taxonomy.names[taxonomy.parents[leaf]] for leaf in taxonomy.leaves]
    superclass = np.array([sorted(set(names)).index(name) for name in names])  # (C,) numbered as in the files
    known = records.fine < len(names)
    expected = superclass[np.where(known, records.fine, 0)]
    faults = []
    for row in np.flatnonzero(~known | (expected != records.coarse)).tolist():
        fine, coarse = records.fine[row], records.coarse[row]
        wanted = f"the coarse label {expected[row]} beside the fine label {fine}" if known[row] else "a label below 100"
        faults.append(f"{source}, image {row + 1}: expected {wanted}, got {coarse if known[row] else fine}")
    if faults:
        raise DataError(faults)
    if not len(records.fine):
        raise DataError(f"{source}: expected images, got none")


def _is_official(place: Path, contents: Mapping[str, bytes]) -> bool:
    """Whether the archive, or else each of the files, has the published checksum."""
    if place.is_file():
        return has_checksum(place, ARCHIVE_CHECKSUM)
    return all(has_checksum(contents[part], published) for part, published in CHECKSUMS.items())


def _note(place: Path, train: Records, test: Records) -> str:
    return (
        f"{place}: not the official CIFAR-100 by its checksums, with {len(train.fine):,} of 50,000 training images and "
        f"{len(test.fine):,} of 10,000 test images; val is the last tenth of each class here, not the paper's images."
    )


def _train_or_val(labels: IntArray) -> TextArray:
    """Split of the training images, shape (M,): the last tenth of each class, at least one image, is val."""
    split = np.full(len(labels), "train")
    for label in np.unique(labels):
        rows = np.flatnonzero(labels == label)
        count = max(len(rows) // VAL_PART, min(1, len(rows) - 1))
        split[rows[len(rows) - count :]] = "val"
    return split


def _images(train: Records, test: Records) -> PixelImages:
    """The training images, then the test images."""
    pixels = np.empty((len(train.fine) + len(test.fine), SIDE, SIDE, 3), np.uint8)
    upright = [read.planes.reshape(-1, 3, SIDE, SIDE).transpose(0, 2, 3, 1) for read in (train, test)]
    np.concatenate(upright, out=pixels)
    names = [
        f"{FILES[part]}, image {number}"
        for part, read in (("train", train), ("test", test))
        for number in range(1, len(read.fine) + 1)
    ]
    return PixelImages(pixels, names)


CIFAR100 = BuiltIn(
    description="60,000 images of 32 x 32 pixels in the paper's 2 > 4 > 8 > 20 > 100 classes",
    origin="Krizhevsky, Learning Multiple Layers of Features from Tiny Images, 2009",
    where=LAYOUT,
    found=_found,
    read=cifar100,
    classes=100,
    levels=5,
    downloads=DOWNLOADS,
    fetch=fetch,
)
