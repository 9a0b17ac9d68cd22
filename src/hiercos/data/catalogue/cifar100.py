"""CIFAR-100: 60,000 images of 32 x 32 pixels in 100 classes, from the official files, without unpickling any object."""

import io
import pickle
import pickletools
import re
import tarfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np

from hiercos.data.catalogue.download import Download, has_checksum
from hiercos.data.dataset import Dataset
from hiercos.data.images.collections import PixelImages
from hiercos.data.splits import TextArray
from hiercos.errors import DataError
from hiercos.pixels import ByteArray
from hiercos.taxonomy import IntArray, Taxonomy, load_taxonomy

SIDE = 32
PIXELS = 3 * SIDE * SIDE  # bytes of an image: red, green and blue planes, each row by row
RECORD = 2 + PIXELS  # bytes of a record: a coarse and a fine label, then the image
PARTS = ("train", "test")
VAL_PART = 10  # one training image in 10 is for validation: with 500 per class, the last 50


class Records(NamedTuple):
    """Images and labels of one file.

    Attributes:
        fine: class of each image, shape (M,).
        coarse: superclass of each image, shape (M,).
        planes: pixels of each image in three planes, shape (M, 3072).
    """

    fine: IntArray
    coarse: IntArray
    planes: ByteArray


Read = Callable[..., Records]


def binary_records(content: bytes, *, source: str) -> Records:
    """Images of a file `train.bin` or `test.bin`.

    Args:
        content: bytes of the file.
        source: name of the file in messages.

    Raises:
        DataError: for a file that ends within a record.
    """
    count, rest = divmod(len(content), RECORD)
    if rest:
        raise DataError(
            f"{source}: expected records of {RECORD:,} bytes, got {len(content):,} bytes: after {count:,} whole images "
            f"{rest:,} bytes remain, so the file is truncated or of another kind"
        )
    table = np.frombuffer(content, np.uint8).reshape(count, RECORD)
    return Records(table[:, 1].astype(np.int64), table[:, 0].astype(np.int64), table[:, 2:])


def upright(planes: ByteArray) -> ByteArray:
    """Planes (M, 3072) as images (M, 32, 32, 3)."""
    return planes.reshape(-1, 3, SIDE, SIDE).transpose(0, 2, 3, 1)


class _StandIn:
    """Stand-in for an object of the file, with the arguments and the state it would be built from."""

    __slots__ = ("arguments", "state")

    def __init__(self, *arguments: Any) -> None:
        self.arguments: tuple[Any, ...] = arguments
        self.state: Any = ()

    def __setstate__(self, state: Any) -> None:
        self.state = state


class _Array(_StandIn):
    """Stand-in for an array; its state is (version, shape, type, Fortran order, bytes)."""

    __slots__ = ()


class _ArrayType(_StandIn):
    """Stand-in for the type of an array; its first argument is a code such as u1."""

    __slots__ = ()


STAND_INS = {
    ("numpy.core.multiarray", "_reconstruct"): _Array,
    ("numpy", "ndarray"): _Array,
    ("numpy", "dtype"): _ArrayType,
}


OPERATIONS = re.compile(  # of pickles that Python 2 and 3 write for dicts of lists, numbers, texts and arrays
    r"MARK|STOP|POP|NONE|NEWTRUE|NEWFALSE|PROTO|FRAME|(STACK_)?GLOBAL|REDUCE|BUILD|(EMPTY_)?(DICT|LIST|TUPLE)|TUPLE[123]"
    r"|SETITEMS?|APPENDS?|INT|BININT[12]?|STRING|(SHORT_)?BINSTRING|UNICODE|(SHORT_)?BINUNICODE|(SHORT_)?BINBYTES"
    r"|(LONG_)?BIN(PUT|GET)|PUT|GET|MEMOIZE|INST|(BIN)?PERSID|EXT[124]"  # the last ones are refused by the unpickler
)


def check_operations(content: bytes) -> None:
    """Raise for a pickle with other operations than those of an array, or a memo larger than the file.

    The unpickler allocates a memo for the largest number that it reads: a few bytes could ask for gigabytes.
    """
    for operation, argument, _ in pickletools.genops(content):
        if not OPERATIONS.fullmatch(operation.name):
            raise pickle.UnpicklingError(f"it has the operation {operation.name}, which no CIFAR-100 file needs")
        if operation.name.endswith("PUT") and not 0 <= int(argument or 0) <= len(content):
            raise pickle.UnpicklingError(f"it asks for a memo of {argument} entries")


class _SafeUnpickler(pickle.Unpickler):
    """Unpickler of lists, numbers, texts and stand-ins for arrays; everything else is refused."""

    def find_class(self, module_name: str, global_name: str, /) -> Any:
        """Stand-in for a name that an array needs."""
        if (module_name, global_name) not in STAND_INS:
            raise pickle.UnpicklingError(f"it names {module_name}.{global_name}, which no CIFAR-100 file needs")
        return STAND_INS[module_name, global_name]

    def persistent_load(self, pid: Any) -> NoReturn:
        """Refuse a reference to an object outside the file."""
        raise pickle.UnpicklingError(f"it names an object outside itself, {pid!r}")


def python_records(content: bytes, *, source: str) -> Records:
    """Images of a file `train` or `test` of the python version.

    Args:
        content: bytes of the file.
        source: name of the file in messages.

    Raises:
        DataError: for a file that is truncated, has another content, or refers to other classes.
    """
    try:
        check_operations(content)
        value = _SafeUnpickler(io.BytesIO(content), encoding="bytes").load()
    except Exception as error:  # damaged bytes can make the unpickler raise anything
        raise DataError(f"{source}: expected a file of the python version of CIFAR-100, but {error}") from error
    if not isinstance(value, dict) or not {b"data", b"fine_labels", b"coarse_labels"} <= value.keys():
        raise DataError(f"{source}: expected data, fine_labels and coarse_labels, as CIFAR-100 has them")
    pixels = _pixels(value[b"data"], source)
    fine, coarse = (
        _labels(value[key], key.decode(), len(pixels), source) for key in (b"fine_labels", b"coarse_labels")
    )
    return Records(fine, coarse, pixels)


def _pixels(array: Any, source: str) -> ByteArray:
    """Pixels of the file, shape (M, 3072)."""
    state = array.state if isinstance(array, _Array) else ()
    if not isinstance(state, tuple) or len(state) != 5:
        raise DataError(f"{source}: expected an array as data")
    _, shape, kind, columns_first, content = state
    code = kind.arguments[:1] if isinstance(kind, _ArrayType) else ()
    if code not in ((b"u1",), ("u1",)) or not isinstance(content, bytes) or shape != (len(content) / PIXELS, PIXELS):
        raise DataError(f"{source}: expected data of bytes and of shape (images, {PIXELS})")
    return np.frombuffer(content, np.uint8).reshape(-1, PIXELS, order="F" if columns_first else "C")


def _labels(values: Any, name: str, count: int, source: str) -> IntArray:
    """A list of M labels as an array, shape (M,); their range in CIFAR-100 is not checked."""
    if not isinstance(values, list) or len(values) != count:
        raise DataError(f"{source}: expected {name} to be a list of {count:,} labels, one for each image")
    if wrong := [value for value in values if type(value) is not int or not 0 <= value < 256]:
        raise DataError(f"{source}: expected {name} to be numbers of one byte, got {wrong[0]!r}")
    return np.array(values, dtype=np.int64)


@dataclass(frozen=True)
class Version:
    """One of the two forms in which CIFAR-100 is published.

    Attributes:
        folder: name of the extracted folder; the archive's name adds `.tar.gz`.
        files: file names of the training and the test images.
        read: function from the bytes of such a file to its records.
        archive_checksum: checksum of the official archive.
        checksums: checksums of the official files in the folder.
    """

    folder: str
    files: Mapping[str, str]
    read: Read
    archive_checksum: str
    checksums: Mapping[str, str]


VERSIONS = (
    Version(
        folder="cifar-100-binary",
        files={"train": "train.bin", "test": "test.bin"},
        read=binary_records,
        archive_checksum="md5:03b5dce01913d631647c71ecec9e9cb8",
        checksums={
            "train": "sha1:e207cd2e05b73b1393c74c7f5e7bea451d63e08e",
            "test": "sha1:8fb6623e830365ff53cf14adec797474f5478006",
        },
    ),
    Version(
        folder="cifar-100-python",
        files={"train": "train", "test": "test"},
        read=python_records,
        archive_checksum="md5:eb9058c3a382ffc7106e4002c42a8d85",
        checksums={"train": "md5:16019d7e3df5f24257cddd939b257f8d", "test": "md5:f0ef6b0ae62326f3e7ffdfab6717acfc"},
    ),
)
DOWNLOADS = (
    Download(
        url="https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz",
        size=168_513_733,
        checksum="md5:03b5dce01913d631647c71ecec9e9cb8",
        folder="",
        members=("cifar-100-binary",),
    ),
)
LAYOUT = (
    "cifar-100-binary/train.bin and test.bin, or cifar-100-python/train and test, or one of the archives as published: "
    "cifar-100-binary.tar.gz or cifar-100-python.tar.gz (https://www.cs.toronto.edu/~kriz/cifar.html)"
)


def cifar100(root: Path) -> Dataset:
    """CIFAR-100 with the paper's tree and split: 45,000 train, 5,000 val and 10,000 test images.

    The validation images are the last tenth of each class's training images, in the order of the file. Files that are
    not the official ones are read with a note.

    Args:
        root: folder that contains the archive or the extracted folder, or the extracted folder itself.

    Raises:
        DataError: if files are missing or truncated, or a record's labels contradict each other.
    """
    found = _found(root)
    if found is None:
        raise DataError(f"cifar100 is not in {root}: expected {LAYOUT}")
    place, version = found
    contents = _archived(place, version) if place.is_file() else _extracted(place, version)
    taxonomy = load_taxonomy("cifar100")
    records = {part: version.read(contents[part], source=_source(place, version, part)) for part in PARTS}
    for part, read in records.items():
        _check_labels(read, taxonomy, source=_source(place, version, part))
    official = _is_official(place, version, contents)
    train, test = records["train"], records["test"]
    return Dataset(
        name="cifar100",
        taxonomy=taxonomy,
        inputs=_images(records, version),
        labels=np.concatenate([train.fine, test.fine]),
        split=np.concatenate([_train_or_val(train.fine), np.full(len(test.fine), "test")]),
        notes=() if official else (_note(place, train, test),),
        source=str(place),
    )


def is_present(root: Path) -> bool:
    """Whether an archive or a folder of either version is below the root."""
    return _found(root) is not None


def _found(root: Path) -> tuple[Path, Version] | None:
    """The first location with the files: the folders, then the archives, then the root itself."""
    places = [(root / version.folder, version) for version in VERSIONS]
    places += [(root / f"{version.folder}.tar.gz", version) for version in VERSIONS]
    places += [(root, version) for version in VERSIONS]
    for place, version in places:
        if place.is_file() or all((place / name).is_file() for name in version.files.values()):
            return place, version
    return None


def _source(place: Path, version: Version, part: str) -> str:
    """Name of one of the two files in messages."""
    return f"{place}: {version.files[part]}" if place.is_file() else str(place / version.files[part])


def _extracted(folder: Path, version: Version) -> dict[str, bytes]:
    return {part: (folder / name).read_bytes() for part, name in version.files.items()}


def _archived(archive: Path, version: Version) -> dict[str, bytes]:
    """Contents of the two files, from one pass over the archive."""
    wanted = {f"{version.folder}/{name}": part for part, name in version.files.items()}
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


def _is_official(place: Path, version: Version, contents: Mapping[str, bytes]) -> bool:
    """Whether the archive, or else each of the files, has the published checksum."""
    if place.is_file():
        return has_checksum(place, version.archive_checksum)
    return all(has_checksum(contents[part], published) for part, published in version.checksums.items())


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


def _images(records: Mapping[str, Records], version: Version) -> PixelImages:
    """The training images, then the test images."""
    pixels = np.empty((sum(len(read.fine) for read in records.values()), SIDE, SIDE, 3), np.uint8)
    names: list[str] = []
    for part, read in records.items():
        pixels[len(names) : len(names) + len(read.fine)] = upright(read.planes)
        names += [f"{version.files[part]}, image {number}" for number in range(1, len(read.fine) + 1)]
    return PixelImages(pixels, names)
