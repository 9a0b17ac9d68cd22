"""A check that a file can be read twice and has an end: it is neither a pipe nor a device."""

import os
import stat
from pathlib import Path

from hiercos.errors import DataError


def check_regular(path: str | Path, error: type[DataError] = DataError) -> None:
    """Raise an error for a pipe, a device or a socket, which could block or never end.

    Args:
        path: file to check; links are followed.
        error: type of the error.

    Raises:
        OSError: if there is no such file.
    """
    try:
        mode = os.stat(path).st_mode
    except ValueError as fault:  # a name with a null character
        raise error(f"{str(path)!r}: expected the name of a file ({fault})") from fault
    if not stat.S_ISREG(mode):
        kind = "a folder" if stat.S_ISDIR(mode) else "a pipe or a device"
        raise error(f"{path}: expected a file, this is {kind}")
