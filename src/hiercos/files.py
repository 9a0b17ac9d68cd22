"""Writing files whole or not at all. Plain Python, open to every package."""

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


def write_atomically(path: str | os.PathLike[str], data: str | bytes) -> None:
    """Write a file under a temporary name in its own folder, then rename it into place.

    A reader sees the old file or the new one, never a half of it, and nothing is left behind on failure.

    Args:
        path: the file to write or to replace; its folder must exist.
        data: the whole content; text is written as UTF-8 and its line ends stay as they are.

    Raises:
        OSError: if the folder is missing or cannot be written.
    """
    content = data.encode("utf-8") if isinstance(data, str) else data
    with written_atomically(path) as stream:
        stream.write(content)


@contextmanager
def written_atomically(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A stream to write a file piece by piece, as `write_atomically` does: it is in place when the block is left.

    Raises:
        OSError: if the folder is missing or cannot be written.
    """
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "No such folder", str(target.parent))
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        with temporary.open("xb") as stream:
            yield stream
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
