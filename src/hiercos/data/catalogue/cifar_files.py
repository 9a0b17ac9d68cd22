"""Files of CIFAR-100 in the binary and the python version, read without unpickling any object."""

import io
import pickle
import pickletools
import re
from typing import Any, NamedTuple, NoReturn

import numpy as np

from hiercos.errors import DataError
from hiercos.pixels import ByteArray
from hiercos.taxonomy import IntArray

SIDE = 32
PIXELS = 3 * SIDE * SIDE  # bytes of an image: red, green and blue planes, each row by row
RECORD = 2 + PIXELS  # bytes of a record: a coarse and a fine label, then the image


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
