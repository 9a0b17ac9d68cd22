"""Atomic writing of files. Plain Python, open to every package."""

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


def write_atomically(path: str | os.PathLike[str], data: str | bytes) -> None:
    """Write a file under a temporary name in its own folder, then rename it into place.

    A reader sees the old file or the new one, never a partial one, and nothing is left behind on failure.

    Args:
        path: file to write or replace; its folder must exist.
        data: content of the file; text is encoded as UTF-8, with unchanged line ends.

    Raises:
        OSError: if the folder is missing or cannot be written.
    """
    content = data.encode("utf-8") if isinstance(data, str) else data
    with written_atomically(path) as stream:
        stream.write(content)


@contextmanager
def written_atomically(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Stream that writes a file piece by piece and renames it into place at the end of the block.

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
