"""CIFAR-100: 60,000 images of 32 x 32 pixels in 100 classes, from the official files of the binary version."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from hiercos.data import BuiltIn, ByteArray, Dataset, Download, PixelImages, TextArray
from hiercos.errors import DataError
from hiercos.paper.download import fetch, has_checksum
from hiercos.taxonomy import IntArray, load_taxonomy

SIDE = 32
PIXELS = 3 * SIDE * SIDE  # bytes of an image: red, green and blue planes, each row by row
CLASSES = 100
RECORD = 2 + PIXELS  # bytes of a record: a coarse and a fine label, then the image
VAL_PART = 10  # one training image in 10 is for validation: with 500 per class, the last 50
FOLDER = "cifar-100-binary"
FILES = {"train": "train.bin", "test": "test.bin"}
CHECKSUMS = {
    "train": "sha1:e207cd2e05b73b1393c74c7f5e7bea451d63e08e",
    "test": "sha1:8fb6623e830365ff53cf14adec797474f5478006",
}
DOWNLOADS = (
    Download(
        url=f"https://www.cs.toronto.edu/~kriz/{FOLDER}.tar.gz",
        size=168_513_733,
        checksum="md5:03b5dce01913d631647c71ecec9e9cb8",
        folder="",
        members=(FOLDER,),
    ),
)
LAYOUT = f"{FOLDER}/train.bin and test.bin, the binary version (https://www.cs.toronto.edu/~kriz/cifar.html)"


class Records(NamedTuple):
    """Images and classes of one file."""

    fine: IntArray  # class of each image, shape (M,)
    planes: ByteArray  # pixels of each image in three planes, shape (M, 3072)


def read_records(content: bytes, *, source: str) -> Records:
    """Images of a file `train.bin` or `test.bin`."""
    if not content or len(content) % RECORD:
        raise DataError(f"{source}: expected whole records of {RECORD:,} bytes, got {len(content):,} bytes")
    table = np.frombuffer(content, np.uint8).reshape(-1, RECORD)
    if table[:, 1].max() >= CLASSES:
        raise DataError(f"{source}: expected labels below {CLASSES}, got {table[:, 1].max()}")
    return Records(table[:, 1].astype(np.int64), table[:, 2:])


def cifar100(root: Path) -> Dataset:
    """CIFAR-100 with the paper's tree and split: 45,000 train, 5,000 val and 10,000 test images.

    The validation images are the last tenth of each class's training images, in the order of the file. Files that are
    not the official ones are read with a note.
    """
    place = _found(root)
    if place is None:
        raise DataError(f"cifar100 is not in {root}: expected {LAYOUT}")
    contents, taxonomy = {part: (place / name).read_bytes() for part, name in FILES.items()}, load_taxonomy("cifar100")
    train, test = (read_records(contents[part], source=str(place / name)) for part, name in FILES.items())
    official = all(has_checksum(contents[part], published) for part, published in CHECKSUMS.items())
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
    """The first folder with the files: that of the archive, or the root itself."""
    places = (root / FOLDER, root)
    return next((place for place in places if all((place / name).is_file() for name in FILES.values())), None)


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
    classes=CLASSES,
    levels=5,
    downloads=DOWNLOADS,
    fetch=fetch,
)
